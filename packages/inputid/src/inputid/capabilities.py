"""One frozen value holding everything udev looks at, with its sources and its JSON form.

JSON form: one object. ``ev key rel abs msc sw led snd ff props`` are strings, the bitmap exactly
as ``/sys/class/input/inputN/capabilities/*`` prints it on a 64-bit kernel; an empty bitmap is left
out. ``id`` is ``[bustype, vendor, product, version]``. ``x`` and ``y`` are ``[minimum, maximum,
resolution]`` of ABS_X and ABS_Y and are left out when not known. Unknown members are ignored, so
that a newer writer can be read.

The class is written out by hand because importing ``dataclasses`` costs more than all of this
package.
"""

from __future__ import annotations

from . import bitmap, sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from typing import NoReturn

    Axis = tuple[int, int, int]
    Bits = int | str | Iterable[int]

_IDS = ("bustype", "vendor", "product", "version")
_INT32 = range(-(1 << 31), 1 << 31)
_TOO_WIDE = "a number outside 32 bits"


class Capabilities:
    """What an evdev node says it can do; equal, hashable and immutable.

    Bitmaps are plain integers, bit N for code N: ``ev`` event types, ``key``, ``rel``, ``abs``,
    ``msc``, ``sw``, ``led``, ``snd``, ``ff``, and ``props`` for INPUT_PROP_*. ``bustype``,
    ``vendor``, ``product`` and ``version`` are the 16-bit identity. ``x`` and ``y`` are
    ``(minimum, maximum, resolution)`` of ABS_X and ABS_Y, None where they could not be asked for;
    only the size in millimetres depends on them.
    """

    __slots__ = (
        "abs",
        "bustype",
        "ev",
        "ff",
        "key",
        "led",
        "msc",
        "product",
        "props",
        "rel",
        "snd",
        "sw",
        "vendor",
        "version",
        "x",
        "y",
    )

    ev: int
    key: int
    rel: int
    abs: int
    msc: int
    sw: int
    led: int
    snd: int
    ff: int
    props: int
    bustype: int
    vendor: int
    product: int
    version: int
    x: Axis | None
    y: Axis | None

    def __init__(
        self,
        *,
        ev: int = 0,
        key: int = 0,
        rel: int = 0,
        abs: int = 0,  # noqa: A002 - the kernel's own name of the bitmap
        msc: int = 0,
        sw: int = 0,
        led: int = 0,
        snd: int = 0,
        ff: int = 0,
        props: int = 0,
        bustype: int = 0,
        vendor: int = 0,
        product: int = 0,
        version: int = 0,
        x: Axis | None = None,
        y: Axis | None = None,
    ) -> None:
        """Take the bitmaps as they are; bits above the arrays udev fills are dropped.

        Raises ValueError for an axis the kernel could not have said.
        """
        for axis in (x, y):
            if axis is not None and not all(number in _INT32 for number in axis):
                raise ValueError(f"an axis of {axis}: {_TOO_WIDE}")
        bits = (ev, key, rel, abs, msc, sw, led, snd, ff, props)
        for name, value in zip(bitmap.NAMES, bits, strict=True):
            object.__setattr__(self, name, value & ((1 << bitmap.WIDTHS[name]) - 1))
        for name, value in zip(_IDS, (bustype, vendor, product, version), strict=True):
            object.__setattr__(self, name, value & 0xFFFF)
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Capabilities is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Capabilities is frozen: cannot delete {name}")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return (
            self._values() == other._values() if isinstance(other, Capabilities) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        shown = (f"{n}={getattr(self, n):#x}" for n in bitmap.NAMES + _IDS if getattr(self, n))
        sized = (f"{n}={getattr(self, n)}" for n in ("x", "y") if getattr(self, n) is not None)
        return f"Capabilities({', '.join((*shown, *sized))})"

    def __reduce__(self) -> tuple[object, ...]:
        # Copying and pickling restore slots by assignment, which a frozen value refuses.
        return (_from_plain, (self.to_mapping(),))

    def replace(self, **changes: int | Axis | None) -> Capabilities:
        """Return a copy with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        unknown = changes.keys() - fields.keys()
        if unknown:
            raise TypeError(f"no such field: {', '.join(sorted(unknown))}")
        return Capabilities(**{**fields, **changes})

    @classmethod
    def from_sysfs(
        cls,
        path: str | os.PathLike[str],
        *,
        word_bits: int | None = None,
        node: str | os.PathLike[str] | None = None,
    ) -> Capabilities:
        """Read an input directory of sysfs, the real one or a copy.

        ``path`` may be an ``inputN`` or ``eventN`` directory, a class link, or anything below one,
        as udev walks up to the first parent with ``capabilities/ev``. Missing or garbled attributes
        count as empty. ``word_bits`` (32 or 64) is by default this process's own word below
        ``/sys``, and for a copy what its texts and its modalias show. ``node`` is where the size
        is asked; by default the device's own node, only for an ``eventN`` directory below
        ``/sys``, and a node that cannot be opened leaves the size unknown, as in udev.

        Raises NotAnInputDeviceError, FileNotFoundError or another OSError for the directory itself.
        """
        return cls(**sources.sysfs_fields(path, word_bits, node))

    @classmethod
    def from_attributes(cls, texts: Mapping[str, str], *, word_bits: int = 64) -> Capabilities:
        """Read the texts of sysfs attributes; never raises, whatever they hold.

        Keys are ``ev``, ``key``, ... ``props`` (``properties`` too), and ``bustype``, ``vendor``,
        ``product``, ``version``. An absent one is empty.
        """
        return cls(**sources.attribute_fields(texts, word_bits))

    @classmethod
    def from_fd(cls, fd: int) -> Capabilities:
        """Ask an open evdev node by ioctl; no event is consumed.

        Raises NotAnInputDeviceError when ``fd`` is no evdev node, OSError (ENODEV) when it has
        been unplugged.
        """
        return cls(**sources.fd_fields(fd))

    @classmethod
    def from_node(cls, path: str | os.PathLike[str]) -> Capabilities:
        """Open ``/dev/input/eventN`` read-only for a moment and ask it.

        Raises FileNotFoundError, PermissionError, another OSError, or NotAnInputDeviceError.
        """
        return cls(**sources.node_fields(path))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Capabilities:
        """Read a plain mapping: the JSON form, or bitmaps as integers or as iterables of codes.

        Raises ValueError naming the member that cannot be read. Unlike a sysfs attribute, a stored
        snapshot that is garbled is a fault, not an empty device.
        """
        fields: dict[str, int] = {n: _bits(n, mapping[n]) for n in bitmap.NAMES if n in mapping}
        fields.update(_identity(mapping))
        return cls(**fields, x=_axis("x", mapping.get("x")), y=_axis("y", mapping.get("y")))

    def to_mapping(self) -> dict[str, object]:
        """Return the JSON form as a plain mapping (see the top of this file)."""
        form: dict[str, object] = {
            name: bitmap.format_words(value)
            for name in bitmap.NAMES
            if (value := getattr(self, name))
        }
        form["id"] = [self.bustype, self.vendor, self.product, self.version]
        form.update(
            (n, list(axis)) for n, axis in (("x", self.x), ("y", self.y)) if axis is not None
        )
        return form

    def to_json(self) -> str:
        """Return the JSON form as one compact line."""
        import json

        return json.dumps(self.to_mapping(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Capabilities:
        """Read what ``to_json`` wrote. Raises ValueError when it is anything else."""
        import json

        form = json.loads(text)
        if not isinstance(form, dict):
            raise ValueError("capabilities must be a JSON object")
        return cls.from_mapping(form)


def _from_plain(form: dict[str, object]) -> Capabilities:
    return Capabilities.from_mapping(form)


def _bits(name: str, value: object) -> int:
    """Read one bitmap of a mapping strictly."""
    if isinstance(value, str):
        return _words(name, value)
    if isinstance(value, int) and not isinstance(value, bool):
        codes = [] if value < 0 else [value.bit_length() - 1]
        bits = value
    else:
        codes = _codes(name, value)
        bits = bitmap.from_codes(codes)
    if (codes and not max(codes) < bitmap.WIDTHS[name]) or (isinstance(value, int) and value < 0):
        raise ValueError(f"{name}: a code outside 0..{bitmap.WIDTHS[name] - 1}")
    return bits


def _codes(name: str, value: object) -> list[int]:
    """Read an iterable of code numbers."""
    if not isinstance(value, (list, tuple, set, frozenset, range)):
        raise ValueError(f"{name}: neither hex words, an integer nor code numbers: {value!r}")
    codes = list(value)
    if not all(type(code) is int and 0 <= code < bitmap.WIDTHS[name] for code in codes):
        raise ValueError(f"{name}: a code outside 0..{bitmap.WIDTHS[name] - 1}")
    return codes


def _words(name: str, text: str) -> int:
    """Read hex words that must all be good ones."""
    words = text.split(" ")
    limit = (1 << 64) - 1
    if len(words) * 64 > bitmap.WIDTHS[name] or None in [bitmap.parse_hex(w, limit) for w in words]:
        raise ValueError(f"{name}: not hex words of a 64-bit kernel: {text[:80]!r}")
    return bitmap.parse_words(text, bitmap.WIDTHS[name])


def _identity(mapping: Mapping[str, object]) -> dict[str, int]:
    """Read ``id``, or the four members one by one."""
    ids = mapping.get("id", [mapping.get(name, 0) for name in _IDS])
    if not isinstance(ids, (list, tuple)) or len(ids) != len(_IDS):
        raise ValueError("id: not [bustype, vendor, product, version]")
    if not all(type(number) is int and 0 <= number <= 0xFFFF for number in ids):
        raise ValueError("id: a number outside 0..65535")
    return dict(zip(_IDS, ids, strict=True))


def _axis(name: str, value: object) -> Axis | None:
    """Read ``[minimum, maximum, resolution]``."""
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise ValueError(f"{name}: not [minimum, maximum, resolution]")
    if not all(type(number) is int and number in _INT32 for number in value):
        raise ValueError(f"{name}: {_TOO_WIDE}")
    low, high, resolution = value
    return (low, high, resolution)
