"""The values the relay is told and the values it tells: snapshots, wishes and what is observed.

Everything is frozen and has a JSON form; reading one back checks it and raises InvalidValueError.
A *real* node is the kernel's own evdev node of a device; a *mirror* is the uinput device made from
its snapshot, whose node keeps its number while the real one comes and goes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from . import checks, codes
from .checks import InvalidValueError

if TYPE_CHECKING:
    import inputid

MOST_PERIPHERALS = 256
MOST_NODES = 32
MOST_HELD = 1024
LONGEST_NAME = 256  # EVIOCGNAME hands out what the driver set; HID cuts at 128, no driver is longer
LONGEST_ADDRESS = 64
LONGEST_TEXT = 4096


class AbsInfo(NamedTuple):
    """struct input_absinfo: what the kernel says about one absolute axis, all 32-bit signed."""

    value: int = 0
    minimum: int = 0
    maximum: int = 0
    fuzz: int = 0
    flat: int = 0
    resolution: int = 0


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything needed to make the mirror of one evdev node, as the device first reported it.

    ``types`` maps every event type the node has to its codes (EV_REP and EV_PWR have none);
    ``absinfo`` maps the codes of EV_ABS. ``bus``, ``vendor``, ``product`` and ``version`` are the
    16-bit struct input_id; ``props`` are the INPUT_PROP_* numbers. KEY_UNKNOWN is in it only when
    the device itself declares it. Two snapshots are equal when every field is.
    """

    name: str
    bus: int
    vendor: int
    product: int
    version: int
    props: tuple[int, ...] = ()
    types: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    absinfo: Mapping[int, AbsInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ordered = {kind: tuple(sorted(set(self.types[kind]))) for kind in sorted(self.types)}
        axes = {code: AbsInfo(*self.absinfo[code]) for code in sorted(self.absinfo)}
        object.__setattr__(self, "props", tuple(sorted(set(self.props))))
        object.__setattr__(self, "types", MappingProxyType(ordered))
        object.__setattr__(self, "absinfo", MappingProxyType(axes))
        _check_snapshot(self)

    def __eq__(self, other: object) -> bool:
        return (
            self.to_mapping() == other.to_mapping()
            if isinstance(other, Snapshot)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits that stay the same for the same node on every return.

        Made of the name, the ids, the properties, the bits and each axis' range and resolution.
        Values, fuzz and flat are left out: the first change by themselves, the others by EVIOCSABS,
        which the relay itself uses on the real node. Nodes of one device may share a fingerprint;
        they are then told apart by their order.
        """
        form = self.to_mapping()
        form["abs"] = {
            code: [axis.minimum, axis.maximum, axis.resolution]
            for code, axis in self.absinfo.items()
        }
        packed = json.dumps(form, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(packed).hexdigest()[:32]

    @cached_property
    def capabilities(self) -> inputid.Capabilities:
        """The same node for ``inputid.classes``; never holds the mirror's extra KEY_UNKNOWN."""
        import inputid

        return inputid.Capabilities.from_mapping(_capabilities_form(self))

    def codes(self, kind: int) -> tuple[int, ...]:
        """Return the codes of one event type; empty where the node has none."""
        return self.types.get(kind, ())

    @property
    def has_keyboard_key(self) -> bool:
        """Whether a key below BTN_MISC is declared; KEY_RESERVED (0) is no key."""
        return any(0 < code < codes.BTN_MISC for code in self.codes(codes.EV_KEY))

    def to_mapping(self) -> dict[str, object]:
        """Return the JSON form as plain values."""
        return {
            "name": self.name,
            "id": [self.bus, self.vendor, self.product, self.version],
            "props": list(self.props),
            "types": {str(kind): list(listed) for kind, listed in self.types.items()},
            "abs": {str(code): list(axis) for code, axis in self.absinfo.items()},
        }

    @classmethod
    def from_mapping(cls, value: object, where: str = "snapshot") -> Snapshot:
        """Read the JSON form; unknown members are ignored. Raises InvalidValueError."""
        form = checks.members(value, where)
        ids = checks.items(checks.member(form, "id", where), f"{where}.id", 4)
        if len(ids) != 4:
            raise InvalidValueError(f"{where}.id: not [bus, vendor, product, version]")
        bus, vendor, product, version = (
            checks.integer(n, f"{where}.id", *checks.UINT16) for n in ids
        )
        return cls(
            name=checks.text(checks.member(form, "name", where), f"{where}.name", LONGEST_NAME),
            bus=bus,
            vendor=vendor,
            product=product,
            version=version,
            props=_code_list(form.get("props", []), f"{where}.props", codes.PROP_CNT),
            types=_read_types(form, where),
            absinfo=_read_absinfo(form, where),
        )

    def to_json(self) -> str:
        """Return the JSON form as one line of ASCII."""
        return json.dumps(self.to_mapping(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Snapshot:
        """Read what ``to_json`` wrote. Raises InvalidValueError for anything else."""
        try:
            form = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidValueError(f"snapshot: not JSON: {error}") from None
        return cls.from_mapping(form)


@dataclass(frozen=True)
class NodeWish:
    """One mirror that has to exist, and which event types are wanted from its real node.

    ``types`` None is every event; an empty set means the real node is not read at all.
    """

    snapshot: Snapshot
    types: frozenset[int] | None = frozenset()


class Axis(NamedTuple):
    """What an axis' fuzz and flat have to be on the real node; None leaves the reported value."""

    fuzz: int | None = None
    flat: int | None = None


def largest(*stated: Mapping[int, Axis]) -> dict[int, Axis]:
    """Return, per axis, the largest fuzz and the largest flat of several wishes."""
    return {
        code: Axis(
            max((each[code].fuzz for each in stated if code in each), key=_or_less, default=None),
            max((each[code].flat for each in stated if code in each), key=_or_less, default=None),
        )
        for code in sorted(set().union(*stated))
    }


def _or_less(number: int | None) -> int:
    return -1 if number is None else number


@dataclass(frozen=True)
class PeripheralWish:
    """One device that has to be mirrored.

    ``address`` is the HID uniq, upper case; ``adapter`` restricts real nodes to those whose HID
    phys starts with it, None takes any. ``nodes`` holds the stored snapshots in a stable order and
    may be empty: nodes found and not listed get a mirror too, unread until listed. ``axes`` maps
    ABS_* codes. ``wake`` is a counter: each raise asks for one KEY_UNKNOWN press when the next
    session starts, which is when a real node appears. A node that outlived the sleep gets it when
    the counter falls again, or before its device's next event, whichever comes first.
    """

    address: str
    adapter: str | None = None
    nodes: tuple[NodeWish, ...] = ()
    axes: Mapping[int, Axis] = field(default_factory=dict)
    wake: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", MappingProxyType(dict(sorted(self.axes.items()))))

    def __hash__(self) -> int:
        return hash((self.address, self.adapter, self.nodes, self.wake))


class Held(NamedTuple):
    """A device number that a prepared claim was given for the mirror of one snapshot.

    The number goes to that mirror or to nobody. Where a mirror has another number than every entry
    for it, no event is moved into it until an entry with its new number appears.
    """

    major: int
    minor: int
    address: str
    fingerprint: str


@dataclass(frozen=True)
class Wish:
    """The whole wished state. What is not in it is taken away."""

    peripherals: tuple[PeripheralWish, ...] = ()
    held: tuple[Held, ...] = ()

    def to_mapping(self) -> dict[str, object]:
        """Return the JSON form as plain values."""
        return {
            "peripherals": [_peripheral_form(each) for each in self.peripherals],
            "held": [list(each) for each in self.held],
        }

    @classmethod
    def from_mapping(cls, value: object) -> Wish:
        """Read the JSON form; unknown members are ignored. Raises InvalidValueError."""
        form = checks.members(value, "wish")
        listed = checks.items(form.get("peripherals", []), "peripherals", MOST_PERIPHERALS)
        peripherals = tuple(
            _read_peripheral(each, f"peripherals[{n}]") for n, each in enumerate(listed)
        )
        checks.unique((each.address for each in peripherals), "peripherals: address")
        held = checks.items(form.get("held", []), "held", MOST_HELD)
        return cls(
            peripherals, tuple(_read_held(each, f"held[{n}]") for n, each in enumerate(held))
        )

    @property
    def digest(self) -> str:
        """A short name of this very wish, which Observed.wish repeats once it is applied."""
        packed = json.dumps(self.to_mapping(), sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(packed).hexdigest()[:16]


@dataclass(frozen=True)
class NodeState:
    """One mirror as it is.

    ``path``, ``major`` and ``minor`` are None while it could not be made; ``error`` then says why.
    ``connected`` means the real node is there; ``real`` is its path. ``events`` and ``frames`` were
    moved, ``losses`` counts SYN_DROPPED, ``wakeups`` counts reads, all since the mirror was made.
    ``held_back`` means the mirror has another number than claims were given (see Held).
    ``differences`` lists in words what the kernel did not let the mirror copy.
    """

    snapshot: Snapshot
    path: str | None = None
    major: int | None = None
    minor: int | None = None
    connected: bool = False
    events: int = 0
    frames: int = 0
    losses: int = 0
    error: str = ""
    differences: tuple[str, ...] = ()
    real: str | None = None
    held_back: bool = False
    wakeups: int = 0

    def to_json(self) -> str:
        """Return the JSON form as one line of ASCII."""
        return json.dumps(_state_form(self), separators=(",", ":"))


@dataclass(frozen=True)
class PeripheralState:
    """One wished device with its mirrors: those of the wish in its order, then found ones.

    ``error`` says why a real node that was found has no mirror yet.
    """

    address: str
    nodes: tuple[NodeState, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Observed:
    """The whole observed state.

    ``instance`` changes with each start of the relay's process. ``wish`` is the digest of the wish
    this state answers, empty before the first. ``placeholders`` are the minors held for nobody.
    """

    peripherals: tuple[PeripheralState, ...] = ()
    placeholders: tuple[int, ...] = ()
    instance: str = ""
    wish: str = ""

    def to_mapping(self) -> dict[str, object]:
        """Return the JSON form as plain values."""
        return {
            "peripherals": [
                {
                    "address": each.address,
                    "nodes": [_state_form(node) for node in each.nodes],
                    "error": each.error,
                }
                for each in self.peripherals
            ],
            "placeholders": list(self.placeholders),
            "instance": self.instance,
            "wish": self.wish,
        }

    @classmethod
    def from_mapping(cls, value: object) -> Observed:
        """Read the JSON form; unknown members are ignored. Raises InvalidValueError."""
        form = checks.members(value, "observed")
        listed = checks.items(form.get("peripherals", []), "peripherals", MOST_PERIPHERALS)
        minors = checks.items(form.get("placeholders", []), "placeholders", MOST_HELD)
        return cls(
            tuple(_read_state(each, f"peripherals[{n}]") for n, each in enumerate(listed)),
            tuple(checks.integer(each, "placeholders", 0, 1 << 20) for each in minors),
            checks.text(form.get("instance", ""), "instance", 64),
            checks.text(form.get("wish", ""), "wish", 64),
        )


def _check_snapshot(shot: Snapshot) -> None:
    """Refuse what no kernel reports, wherever the snapshot came from."""
    checks.text(shot.name, "snapshot.name", LONGEST_NAME)
    try:
        shot.name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidValueError(f"snapshot.name: no bytes are {checks.shown(shot.name)}") from None
    for number in (shot.bus, shot.vendor, shot.product, shot.version):
        checks.integer(number, "snapshot.id", *checks.UINT16)
    for prop in shot.props:
        checks.integer(prop, "snapshot.props", 0, codes.PROP_CNT - 1)
    for kind, listed in shot.types.items():
        checks.integer(kind, "snapshot.types", 0, codes.EV_CNT - 1)
        for code in listed:
            checks.integer(code, f"snapshot.types.{kind}", 0, codes.CODE_COUNTS.get(kind, 0) - 1)
    for code, axis in shot.absinfo.items():
        checks.integer(code, "snapshot.abs", 0, codes.CODE_COUNTS[codes.EV_ABS] - 1)
        for number in axis:
            checks.integer(number, f"snapshot.abs.{code}", *checks.INT32)


def _code_list(value: object, where: str, count: int) -> tuple[int, ...]:
    return tuple(checks.integer(n, where, 0, count - 1) for n in checks.items(value, where, count))


def _read_types(form: dict[str, object], where: str) -> dict[int, tuple[int, ...]]:
    types = {}
    for key, listed in checks.members(form.get("types", {}), f"{where}.types").items():
        kind = checks.number_key(key, f"{where}.types", 0, codes.EV_CNT - 1)
        types[kind] = _code_list(listed, f"{where}.types.{kind}", codes.CODE_COUNTS.get(kind, 0))
    return types


def _read_absinfo(form: dict[str, object], where: str) -> dict[int, AbsInfo]:
    axes = {}
    for key, listed in checks.members(form.get("abs", {}), f"{where}.abs").items():
        code = checks.number_key(key, f"{where}.abs", 0, codes.CODE_COUNTS[codes.EV_ABS] - 1)
        numbers = checks.items(listed, f"{where}.abs.{code}", 6)
        if len(numbers) != 6:
            raise InvalidValueError(f"{where}.abs.{code}: not [{', '.join(AbsInfo._fields)}]")
        axes[code] = AbsInfo(
            *(checks.integer(n, f"{where}.abs.{code}", *checks.INT32) for n in numbers)
        )
    return axes


def _capabilities_form(shot: Snapshot) -> dict[str, object]:
    names = {
        "key": codes.EV_KEY,
        "rel": codes.EV_REL,
        "abs": codes.EV_ABS,
        "msc": codes.EV_MSC,
        "sw": codes.EV_SW,
        "led": codes.EV_LED,
        "snd": codes.EV_SND,
        "ff": codes.EV_FF,
    }
    form: dict[str, object] = {name: list(shot.codes(kind)) for name, kind in names.items()}
    form["ev"] = list(shot.types)
    form["props"] = list(shot.props)
    form["id"] = [shot.bus, shot.vendor, shot.product, shot.version]
    for name, code in (("x", codes.ABS_X), ("y", codes.ABS_Y)):
        if (axis := shot.absinfo.get(code)) is not None:
            form[name] = [axis.minimum, axis.maximum, axis.resolution]
    return form


def _peripheral_form(wish: PeripheralWish) -> dict[str, object]:
    return {
        "address": wish.address,
        "adapter": wish.adapter,
        "nodes": [
            {
                "snapshot": node.snapshot.to_mapping(),
                "types": None if node.types is None else sorted(node.types),
            }
            for node in wish.nodes
        ],
        "axes": {
            str(code): {"fuzz": axis.fuzz, "flat": axis.flat} for code, axis in wish.axes.items()
        },
        "wake": wish.wake,
    }


def _read_peripheral(value: object, where: str) -> PeripheralWish:
    form = checks.members(value, where)
    adapter = form.get("adapter")
    listed = checks.items(form.get("nodes", []), f"{where}.nodes", MOST_NODES)
    return PeripheralWish(
        address=_address(checks.member(form, "address", where), f"{where}.address"),
        adapter=None if adapter is None else _address(adapter, f"{where}.adapter"),
        nodes=tuple(_read_node(each, f"{where}.nodes[{n}]") for n, each in enumerate(listed)),
        axes=_read_axes(form.get("axes", {}), f"{where}.axes"),
        wake=checks.integer(form.get("wake", 0), f"{where}.wake", *checks.COUNTER),
    )


def _address(value: object, where: str) -> str:
    """Read an identity: it becomes part of the mirror's phys, so no blank and no slash is in it."""
    address = checks.text(value, where, LONGEST_ADDRESS)
    graphic = address.isascii() and address.isprintable() and not set(address) & {" ", "/"}
    if not address or not graphic or address != address.upper():
        raise InvalidValueError(f"{where}: not an upper-case address: {checks.shown(value)}")
    return address


def _read_node(value: object, where: str) -> NodeWish:
    form = checks.members(value, where)
    types = checks.member(form, "types", where)
    snapshot = Snapshot.from_mapping(checks.member(form, "snapshot", where), f"{where}.snapshot")
    if types is None:
        return NodeWish(snapshot, None)
    return NodeWish(snapshot, frozenset(_code_list(types, f"{where}.types", codes.EV_CNT)))


def _read_axes(value: object, where: str) -> dict[int, Axis]:
    axes = {}
    for key, stated in checks.members(value, where).items():
        code = checks.number_key(key, where, 0, codes.CODE_COUNTS[codes.EV_ABS] - 1)
        if code == codes.ABS_MT_SLOT:
            raise InvalidValueError(f"{where}: ABS_MT_SLOT cannot be changed")
        form = checks.members(stated, f"{where}.{code}")
        axes[code] = Axis(
            *(_fuzz(form.get(name), f"{where}.{code}.{name}") for name in Axis._fields)
        )
    return axes


def _fuzz(value: object, where: str) -> int | None:
    return None if value is None else checks.integer(value, where, 0, checks.INT32[1])


def _read_held(value: object, where: str) -> Held:
    listed = checks.items(value, where, 4)
    if len(listed) != 4:
        raise InvalidValueError(f"{where}: not [major, minor, address, fingerprint]")
    major, minor, address, fingerprint = listed
    return Held(
        checks.integer(major, f"{where}: major", 0, 0xFFF),
        checks.integer(minor, f"{where}: minor", 0, (1 << 20) - 1),
        _address(address, f"{where}: address"),
        checks.text(fingerprint, f"{where}: fingerprint", 64),
    )


_COUNTERS = ("events", "frames", "losses", "wakeups")
_FLAGS = ("connected", "held_back")


def _state_form(state: NodeState) -> dict[str, object]:
    form: dict[str, object] = {name: getattr(state, name) for name in (*_COUNTERS, *_FLAGS)}
    form.update(path=state.path, major=state.major, minor=state.minor, real=state.real)
    form.update(error=state.error, differences=list(state.differences))
    form["snapshot"] = state.snapshot.to_mapping()
    return form


def _read_state(value: object, where: str) -> PeripheralState:
    form = checks.members(value, where)
    nodes = checks.items(form.get("nodes", []), f"{where}.nodes", 2 * MOST_NODES)
    return PeripheralState(
        _address(checks.member(form, "address", where), f"{where}.address"),
        tuple(_read_node_state(each, f"{where}.nodes[{n}]") for n, each in enumerate(nodes)),
        checks.text(form.get("error", ""), f"{where}.error", LONGEST_TEXT),
    )


def _read_node_state(value: object, where: str) -> NodeState:
    form = checks.members(value, where)
    said = checks.items(form.get("differences", []), f"{where}.differences", 256)
    return NodeState(
        snapshot=Snapshot.from_mapping(checks.member(form, "snapshot", where), f"{where}.snapshot"),
        path=_optional_text(form.get("path"), f"{where}.path"),
        major=_optional_number(form.get("major"), f"{where}.major"),
        minor=_optional_number(form.get("minor"), f"{where}.minor"),
        real=_optional_text(form.get("real"), f"{where}.real"),
        error=checks.text(form.get("error", ""), f"{where}.error", LONGEST_TEXT),
        differences=tuple(checks.text(each, f"{where}.differences", LONGEST_TEXT) for each in said),
        connected=checks.boolean(form.get("connected", False), f"{where}.connected"),
        held_back=checks.boolean(form.get("held_back", False), f"{where}.held_back"),
        events=_counter(form, "events", where),
        frames=_counter(form, "frames", where),
        losses=_counter(form, "losses", where),
        wakeups=_counter(form, "wakeups", where),
    )


def _counter(form: dict[str, object], name: str, where: str) -> int:
    return checks.integer(form.get(name, 0), f"{where}.{name}", *checks.COUNTER)


def _optional_text(value: object, where: str) -> str | None:
    return None if value is None else checks.text(value, where, LONGEST_TEXT)


def _optional_number(value: object, where: str) -> int | None:
    return None if value is None else checks.integer(value, where, 0, (1 << 20) - 1)
