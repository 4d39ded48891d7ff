"""What is told and observed survives its JSON form, and foreign JSON is refused by name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import inputid
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uinputrelay import (
    AbsInfo,
    Axis,
    Held,
    InvalidValueError,
    NodeState,
    NodeWish,
    Observed,
    PeripheralState,
    PeripheralWish,
    Snapshot,
    Wish,
    codes,
)

ADDRESS = "A0:AB:51:33:B7:12"
REAL = "/dev/input/event3"
PAD = Snapshot(
    name="DualSense Wireless Controller",
    bus=5,
    vendor=0x054C,
    product=0x0CE6,
    version=0x8100,
    types={0: (), 1: (304, 305), 3: (0, 1, 2), 0x15: (80, 81)},
    absinfo={
        0: AbsInfo(128, 0, 255, 0, 15),
        1: AbsInfo(127, 0, 255, 0, 15),
        2: AbsInfo(0, 0, 255, 0, 15),
    },
)
REMOTE = Snapshot("Remote", 5, 1, 2, 3, types={0: (), 1: (*range(1, 32), 103), 0x14: ()})


def test_a_snapshot_survives_its_json_form() -> None:
    assert Snapshot.from_json(PAD.to_json()) == PAD
    assert Snapshot.from_json(PAD.to_json()).fingerprint == PAD.fingerprint


def test_the_json_form_of_a_snapshot_is_a_contract_with_stored_ones() -> None:
    assert json.loads(PAD.to_json()) == {
        "name": "DualSense Wireless Controller",
        "id": [5, 0x054C, 0x0CE6, 0x8100],
        "props": [],
        "types": {"0": [], "1": [304, 305], "3": [0, 1, 2], "21": [80, 81]},
        "abs": {
            "0": [128, 0, 255, 0, 15, 0],
            "1": [127, 0, 255, 0, 15, 0],
            "2": [0, 0, 255, 0, 15, 0],
        },
    }


def test_members_of_a_newer_writer_are_ignored() -> None:
    form = {**PAD.to_mapping(), "battery": 55}
    assert Snapshot.from_mapping(form) == PAD


def test_a_name_that_is_no_utf8_survives() -> None:
    odd = replace(PAD, name=b"Pad \xff\xfe".decode("utf-8", "surrogateescape"))
    assert (
        Snapshot.from_json(odd.to_json()).name.encode("utf-8", "surrogateescape") == b"Pad \xff\xfe"
    )


SAME = {
    "another value": {"absinfo": {**PAD.absinfo, 0: AbsInfo(3, 0, 255, 0, 15)}},
    "another fuzz": {"absinfo": {**PAD.absinfo, 0: AbsInfo(128, 0, 255, 4, 15)}},
    "another flat": {"absinfo": {**PAD.absinfo, 0: AbsInfo(128, 0, 255, 0, 30)}},
}
OTHER = {
    "another name": {"name": "Other"},
    "another version": {"version": 1},
    "another property": {"props": (6,)},
    "one key more": {"types": {**PAD.types, 1: (304, 305, 306)}},
    "EV_REP": {"types": {**PAD.types, 0x14: ()}},
    "another range": {"absinfo": {**PAD.absinfo, 0: AbsInfo(128, 0, 254, 0, 15)}},
    "another resolution": {"absinfo": {**PAD.absinfo, 0: AbsInfo(128, 0, 255, 0, 15, 7)}},
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_the_fingerprint_stays_with(changes: dict[str, Any]) -> None:
    assert replace(PAD, **changes).fingerprint == PAD.fingerprint


@pytest.mark.parametrize("changes", OTHER.values(), ids=OTHER)
def test_the_fingerprint_changes_with(changes: dict[str, Any]) -> None:
    assert replace(PAD, **changes).fingerprint != PAD.fingerprint


def test_a_fingerprint_does_not_change_from_release_to_release() -> None:
    """Stored numbers of prepared claims name it: a new value would move every claim's node."""
    assert PAD.fingerprint == "b44a5ea4becdc709acc56c61a923a339"


def test_the_classes_come_from_the_snapshot() -> None:
    assert set(inputid.classes(PAD.capabilities)) == {"joystick"}
    assert set(inputid.classes(REMOTE.capabilities)) == {"key", "keyboard"}


def test_keyboard_keys_are_below_btn_misc_and_not_reserved() -> None:
    assert REMOTE.has_keyboard_key
    assert not PAD.has_keyboard_key
    assert not replace(PAD, types={1: (0, 304)}).has_keyboard_key


def _form(**changes: object) -> dict[str, object]:
    return {**PAD.to_mapping(), **changes}


BAD_SNAPSHOTS: dict[str, object] = {
    "a list": [],
    "no name": {"id": [1, 2, 3, 4]},
    "three ids": _form(id=[1, 2, 3]),
    "an id of 17 bits": _form(id=[1, 2, 3, 65536]),
    "true for an id": _form(id=[1, 2, 3, True]),
    "a name with NUL": _form(name="a\0b"),
    "a name that stands for no bytes": _form(name="\ud800"),
    "an endless name": _form(name="x" * 257),
    "a type beyond EV_MAX": _form(types={"32": []}),
    "a type that is no number": _form(types={"EV_KEY": []}),
    "a key beyond KEY_MAX": _form(types={"1": [768]}),
    "a negative code": _form(types={"1": [-1]}),
    "codes of EV_PWR": _form(types={"22": [0]}),
    "five numbers of an axis": _form(abs={"0": [0, 0, 0, 0, 0]}),
    "an axis of 33 bits": _form(abs={"0": [1 << 31, 0, 0, 0, 0, 0]}),
    "a float": _form(abs={"0": [0.5, 0, 0, 0, 0, 0]}),
    "a property beyond INPUT_PROP_MAX": _form(props=[32]),
}


@pytest.mark.parametrize("form", BAD_SNAPSHOTS.values(), ids=BAD_SNAPSHOTS)
def test_a_snapshot_is_refused_with(form: object) -> None:
    with pytest.raises(InvalidValueError):
        Snapshot.from_mapping(form)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="not JSON"):
        Snapshot.from_json("{")


WISH = Wish(
    (
        PeripheralWish(
            ADDRESS,
            "04:4A:69:66:92:27",
            (
                NodeWish(PAD, frozenset({1, 3})),
                NodeWish(REMOTE, None),
                NodeWish(REMOTE, frozenset()),
            ),
            {3: Axis(4, None), 4: Axis(None, 8)},
            wake=7,
        ),
        PeripheralWish("A0:AB:51:33:B7:13"),
    ),
    (Held(13, 64, ADDRESS, PAD.fingerprint),),
)


def test_a_wish_survives_its_json_form() -> None:
    read = Wish.from_mapping(json.loads(json.dumps(WISH.to_mapping())))
    assert read == WISH
    assert read.digest == WISH.digest


def test_an_observed_state_survives_its_json_form() -> None:
    node = NodeState(
        PAD,
        "/dev/input/event7",
        13,
        71,
        True,
        10,
        5,
        1,
        "",
        ("name: cut",),
        "/dev/input/event3",
        True,
        9,
    )
    missing = NodeState(REMOTE, error="the mirror cannot be made: no /dev/uinput")
    state = Observed(
        (PeripheralState(ADDRESS, (node, missing), "EACCES"),), (65, 66), "instance", WISH.digest
    )
    assert Observed.from_mapping(json.loads(json.dumps(state.to_mapping()))) == state


def _wished(**changes: object) -> dict[str, object]:
    return {"peripherals": [{"address": ADDRESS, **changes}]}


BAD_WISHES: dict[str, tuple[object, str]] = {
    "lower-case address": (_wished(address=ADDRESS.lower()), "upper-case"),
    "a slash in the address": (_wished(address="A/B"), "upper-case"),
    "an empty address": (_wished(address=""), "upper-case"),
    "no address": ({"peripherals": [{}]}, "address is missing"),
    "one address twice": ({"peripherals": [{"address": "A"}, {"address": "A"}]}, "twice"),
    "types left out": (_wished(nodes=[{"snapshot": PAD.to_mapping()}]), "types is missing"),
    "a type beyond EV_MAX": (
        _wished(nodes=[{"snapshot": PAD.to_mapping(), "types": [99]}]),
        r"0\.\.31",
    ),
    "ABS_MT_SLOT": (_wished(axes={"47": {"fuzz": 1}}), "ABS_MT_SLOT"),
    "a negative fuzz": (_wished(axes={"0": {"fuzz": -1}}), "fuzz"),
    "a negative wake": (_wished(wake=-1), "wake"),
    "257 peripherals": ({"peripherals": [{"address": str(n)} for n in range(257)]}, "256"),
    "a held number of three": ({"held": [[13, 64, "A"]]}, "fingerprint"),
    "peripherals as an object": ({"peripherals": {}}, "not a list"),
}


@pytest.mark.parametrize(("form", "said"), BAD_WISHES.values(), ids=BAD_WISHES)
def test_a_wish_is_refused_with(form: object, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        Wish.from_mapping(form)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["peripherals", "held", "address", "nodes", "snapshot", "types", "abs", "id", "0"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_json_does_anything_but_read_or_be_refused(form: object) -> None:
    for read in (Wish.from_mapping, Observed.from_mapping, Snapshot.from_mapping):
        try:
            read(form)
        except InvalidValueError:
            continue


CODES = {kind: count for kind, count in codes.CODE_COUNTS.items() if kind != codes.EV_SYN}


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Any snapshot a kernel could report."""
    kinds = draw(st.sets(st.sampled_from(sorted(CODES)), max_size=4))
    types = {
        kind: tuple(draw(st.sets(st.integers(0, CODES[kind] - 1), max_size=6))) for kind in kinds
    }
    number = st.integers(-(1 << 31), (1 << 31) - 1)
    bus, vendor, product, version = draw(st.tuples(*[st.integers(0, 0xFFFF)] * 4))
    return Snapshot(
        draw(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=80)),
        bus,
        vendor,
        product,
        version,
        props=tuple(draw(st.sets(st.integers(0, 31), max_size=3))),
        types=types,
        absinfo={code: AbsInfo(*draw(st.tuples(*[number] * 6))) for code in types.get(3, ())},
    )


@given(snapshots())
def test_every_snapshot_survives(shot: Snapshot) -> None:
    assert Snapshot.from_json(shot.to_json()) == shot
    inputid.classes(shot.capabilities)
