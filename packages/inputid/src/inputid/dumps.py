"""Readers for what bug reports carry: text in, devices out.

Known are ``/proc/bus/input/devices``, ``evemu-describe`` (also the head of ``evemu-record``) and
``libinput record``. The formats differ in their first letters, so nobody has to name one.
"""

from __future__ import annotations

from . import bitmap
from .capabilities import Capabilities
from .device import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Axis = tuple[int, int, int]

_IDS = ("bustype", "vendor", "product", "version")

# Event types by number, as evemu and libinput write them.
_BITMAP_OF = {
    0x01: "key",
    0x02: "rel",
    0x03: "abs",
    0x04: "msc",
    0x05: "sw",
    0x11: "led",
    0x12: "snd",
    0x15: "ff",
}


class DumpError(ValueError):
    """The text is in none of the known formats, or a line of it cannot be read."""


def read(text: str, word_bits: int | None = None) -> list[Device]:
    """Read every device of a dump, in its order.

    ``word_bits`` is the word of the machine the dump of /proc comes from (32 or 64); without it the
    dump's own words decide. Raises DumpError.
    """
    lines = text.removeprefix("\ufeff").splitlines()
    reader = _recognise(lines)
    try:
        return reader(lines, word_bits)
    except DumpError:
        raise
    except ValueError as error:
        raise DumpError(str(error)) from None


def _recognise(lines: list[str]) -> Callable[[list[str], int | None], list[Device]]:
    """Tell the formats apart by the first line that is one's own."""
    for line in lines:
        if line.startswith("I: Bus="):
            return _read_proc
        if line.strip() in ("devices:", "libinput:", "evdev:"):
            return _read_libinput
        if line.startswith(("# EVEMU", "N: ", "B: ")) and "Name=" not in line:
            return _read_evemu
    raise DumpError(
        "neither /proc/bus/input/devices, evemu-describe nor libinput record: "
        f"{(lines[0][:60] if lines else '')!r}"
    )


def _number(text: str, base: int, line: str) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise DumpError(f"not a number in {line.strip()[:80]!r}") from None


# --- /proc/bus/input/devices ------------------------------------------------------------------


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Split at the lines that start a device: a report may have lost the empty lines between."""
    block: list[str] = []
    for line in lines:
        if line.startswith("I: ") and block:
            yield block
            block = []
        if line[1:3] == ": ":
            block.append(line)
    if block:
        yield block


def _proc_bitmaps(block: list[str]) -> dict[str, str]:
    """The ``B:`` lines by our names of them."""
    pairs = (line[3:].strip().split("=", 1) for line in block if line.startswith("B: "))
    named = {pair[0].lower(): pair[1] for pair in pairs if len(pair) == 2}
    return {("props" if name == "prop" else name): text for name, text in named.items()}


def _proc_value(block: list[str], start: str) -> str:
    found = [line for line in block if line.startswith(start)]
    return found[0][len(start) :].strip() if found else ""


def _proc_device(block: list[str], word_bits: int) -> Device:
    texts = _proc_bitmaps(block)
    pairs = (word.partition("=") for word in _proc_value(block, "I: ").split())
    ids = {name: value for name, _, value in pairs}
    texts.update(
        bustype=ids.get("Bus", ""),
        vendor=ids.get("Vendor", ""),
        product=ids.get("Product", ""),
        version=ids.get("Version", ""),
    )
    handlers = _proc_value(block, "H: Handlers=").split()
    events = [handler for handler in handlers if handler.startswith("event")]
    return Device(
        Capabilities.from_attributes(texts, word_bits=word_bits),
        name=_proc_value(block, "N: Name=").strip('"'),
        devpath=_proc_value(block, "S: Sysfs="),
        node=f"/dev/input/{events[0]}" if events else "",
    )


def _read_proc(lines: list[str], word_bits: int | None) -> list[Device]:
    """One kernel printed the whole text, so all devices together tell its word."""
    blocks = list(_blocks(lines))
    if word_bits is None:
        word_bits = bitmap.guess_word_bits([_proc_bitmaps(block) for block in blocks])
    return [_proc_device(block, word_bits) for block in blocks]


# --- evemu-describe ---------------------------------------------------------------------------


def _bytes(words: list[str], line: str) -> int:
    """Bitmap bytes in hex, lowest first."""
    return sum(_number(word, 16, line) << 8 * place for place, word in enumerate(words))


class _Evemu:
    """One device being read; evemu writes each bitmap eight bytes a line."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bits: dict[str, int] = {}
        self.filled: dict[str, int] = {}
        self.ids = [0, 0, 0, 0]
        self.axes: dict[int, Axis] = {}

    def add_bytes(self, name: str, words: list[str], line: str) -> None:
        start = self.filled.get(name, 0)
        self.bits[name] = self.bits.get(name, 0) | _bytes(words, line) << 8 * start
        self.filled[name] = start + len(words)

    def add(self, line: str) -> None:
        words = line[3:].split("#")[0].split()
        if line.startswith("I: ") and len(words) == 4:
            self.ids = [_number(word, 16, line) for word in words]
        elif line.startswith("P: "):
            self.add_bytes("props", words, line)
        elif line.startswith("B: ") and words:
            kind = _number(words[0], 16, line)
            name = "ev" if kind == 0 else _BITMAP_OF.get(kind)
            if name is not None:
                self.add_bytes(name, words[1:], line)
        elif line.startswith("A: ") and len(words) >= 5:
            low, high = _number(words[1], 10, line), _number(words[2], 10, line)
            # The resolution came with version 1.1 of the format.
            resolution = _number(words[5], 10, line) if len(words) > 5 else 0
            self.axes[_number(words[0], 16, line)] = (low, high, resolution)

    def finish(self) -> Device:
        fields: dict[str, Any] = {**self.bits, **dict(zip(_IDS, self.ids, strict=True))}
        x, y = _sized(self.axes)
        return Device(Capabilities(**fields, x=x, y=y), name=self.name)


def _sized(axes: dict[int, Axis]) -> tuple[Axis | None, Axis | None]:
    """The two axes the size needs; udev's ioctl reads an axis that is not there as zeros."""
    if not axes:
        return None, None
    return axes.get(0, (0, 0, 0)), axes.get(1, (0, 0, 0))


def _read_evemu(lines: list[str], _word_bits: int | None) -> list[Device]:
    devices: list[_Evemu] = []
    for line in lines:
        if line.startswith("N: "):
            devices.append(_Evemu(line[3:].strip()))
        elif devices:
            devices[-1].add(line)
    if not devices:
        raise DumpError("an evemu description without a name (N:)")
    return [device.finish() for device in devices]


# --- libinput record --------------------------------------------------------------------------


class _Libinput:
    """One device being read; only the part below ``evdev:`` says anything about the device."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.name = ""
        self.ids = [0, 0, 0, 0]
        self.codes: dict[int, list[int]] = {}
        self.axes: dict[int, Axis] = {}
        self.props: list[int] = []

    def add(self, section: str, key: str, value: str, line: str) -> None:
        if key == "name":
            self.name = value[1:-1] if value[:1] == '"' and value[-1:] == '"' else value
        elif key == "id":
            self.ids = _list(value, line, 4)
        elif key == "properties":
            self.props = _list(value, line)
        elif section == "codes":
            self.codes[_number(key, 10, line)] = _list(value, line)
        elif section == "absinfo":
            low, high, _fuzz, _flat, resolution = _list(value, line, 5)
            self.axes[_number(key, 10, line)] = (low, high, resolution)

    def finish(self) -> Device:
        fields: dict[str, Any] = {"ev": _bits(self.codes, 64), "props": _bits(self.props, 64)}
        for kind, codes in self.codes.items():
            if kind in _BITMAP_OF:
                name = _BITMAP_OF[kind]
                fields[name] = _bits(codes, bitmap.WIDTHS[name])
        x, y = _sized(self.axes)
        capabilities = Capabilities(**fields, **dict(zip(_IDS, self.ids, strict=True)), x=x, y=y)
        return Device(capabilities, name=self.name, node=self.node)


def _bits(codes: list[int] | dict[int, list[int]], width: int) -> int:
    return bitmap.from_codes([code for code in codes if 0 <= code < width])


def _list(text: str, line: str, length: int | None = None) -> list[int]:
    """A flow list of numbers: ``[3, 1133, 50475, 273]``, perhaps with a comment behind it."""
    inner, closed, _rest = text.removeprefix("[").partition("]")
    if not text.startswith("[") or not closed:
        raise DumpError(f"not a list of numbers in {line.strip()[:80]!r}")
    numbers = [_number(word, 10, line) for word in inner.replace(",", " ").split()]
    if length is not None and len(numbers) != length:
        raise DumpError(f"{length} numbers expected in {line.strip()[:80]!r}")
    return numbers


def _joined(lines: list[str]) -> Iterator[str]:
    """Whole entries: a YAML writer may have broken a long list over several lines."""
    pending = ""
    for line in lines:
        if line.lstrip().startswith("#") or not line.strip():
            continue
        pending = f"{pending} {line.strip()}" if pending else line
        if pending.count("[") > pending.count("]"):
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _read_libinput(lines: list[str], _word_bits: int | None) -> list[Device]:
    """Read the YAML subset that libinput writes: nesting by indentation, lists on one line."""
    devices: list[_Libinput] = []
    evdev = -1  # indentation of the open evdev: mapping
    section = ""
    for line in _joined(lines):
        indent = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        if indent <= evdev:
            evdev = -1
        if key in ("- node", "-node"):
            devices.append(_Libinput(value.strip()))
        elif key == "evdev" and not value.strip() and devices:
            evdev, section = indent, ""
        elif evdev >= 0 and not value.strip():
            section = key
        elif evdev >= 0:
            devices[-1].add(section, key, value.strip(), line)
    if not devices:
        raise DumpError("a libinput recording without a device (- node:)")
    return [device.finish() for device in devices]
