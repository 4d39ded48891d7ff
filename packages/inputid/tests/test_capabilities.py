"""The value: frozen, equal by content, stored and read back without loss."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inputid import Capabilities, bitmap, classes, properties

int32 = st.integers(-(1 << 31), (1 << 31) - 1)
axis = st.none() | st.tuples(int32, int32, int32)
id16 = st.integers(0, 0xFFFF)
capabilities = st.builds(
    Capabilities,
    **{name: st.integers(0, (1 << width) - 1) for name, width in bitmap.WIDTHS.items()},
    **dict.fromkeys(("bustype", "vendor", "product", "version"), id16),
    x=axis,
    y=axis,
)

PAD = Capabilities(
    ev=0xB,
    key=0x7CDB << 304,
    abs=0x3003F,
    bustype=3,
    vendor=0x45E,
    product=0x28E,
    version=0x114,
    x=(-32768, 32767, 0),
    y=(-32768, 32767, 0),
)
PAD_JSON = (
    '{"ev":"b","key":"7cdb000000000000 0 0 0 0","abs":"3003f","id":[3,1118,654,276],'
    '"x":[-32768,32767,0],"y":[-32768,32767,0]}'
)


def test_the_json_form_is_the_documented_one() -> None:
    assert PAD.to_json() == PAD_JSON
    assert Capabilities.from_json(PAD_JSON) == PAD
    assert Capabilities.from_json(PAD_JSON.encode()) == PAD
    assert Capabilities().to_json() == '{"id":[0,0,0,0]}'


@given(capabilities)
def test_everything_survives_the_json_form(value: Capabilities) -> None:
    again = Capabilities.from_json(value.to_json())
    assert again == value
    assert hash(again) == hash(value)
    assert classes(again) == classes(value)
    assert properties(again, 252) == properties(value, 252)
    assert Capabilities.from_mapping(json.loads(json.dumps(value.to_mapping()))) == value


def test_a_mapping_may_hold_integers_code_lists_or_words() -> None:
    forms: list[dict[str, object]] = [
        {"ev": 0x3, "key": 1 << 116},
        {"ev": [0, 1], "key": (116,)},
        {"ev": {0, 1}, "key": range(116, 117)},
        {"ev": "3", "key": "10000000000000 0"},
    ]
    assert {Capabilities.from_mapping(form) for form in forms} == {Capabilities(ev=3, key=1 << 116)}


def test_a_mapping_may_name_the_ids_one_by_one() -> None:
    assert Capabilities.from_mapping({"bustype": 5, "vendor": 0x54C}).vendor == 0x54C


def test_unknown_members_are_ignored() -> None:
    assert Capabilities.from_mapping({"ev": "1", "name": "pad", "v": 2}) == Capabilities(ev=1)


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ({"key": "zz"}, "key: not hex words"),
        ({"key": ""}, "key: not hex words"),
        ({"abs": "1 0"}, "abs: not hex words"),
        ({"key": -1}, "key: a code outside 0..767"),
        ({"key": 1 << 768}, "key: a code outside 0..767"),
        ({"key": [768]}, "key: a code outside 0..767"),
        ({"key": [-1]}, "key: a code outside 0..767"),
        ({"key": [True]}, "key: a code outside 0..767"),
        ({"key": ["1"]}, "key: a code outside 0..767"),
        ({"key": True}, "key: neither hex words, an integer nor code numbers"),
        ({"key": None}, "key: neither hex words, an integer nor code numbers"),
        ({"key": 1.5}, "key: neither hex words, an integer nor code numbers"),
        ({"id": [1, 2, 3]}, "id: not"),
        ({"id": "0003"}, "id: not"),
        ({"id": [1, 2, 3, 65536]}, "id: a number outside 0..65535"),
        ({"id": [1, 2, 3, -1]}, "id: a number outside 0..65535"),
        ({"bustype": "5"}, "id: a number outside 0..65535"),
        ({"x": [0, 1]}, "x: not"),
        ({"y": [0, 1, 1 << 31]}, "y: a number outside 32 bits"),
        ({"y": [0, 1, 1.0]}, "y: a number outside 32 bits"),
    ],
)
def test_a_damaged_snapshot_is_refused_by_name(form: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}"):
        Capabilities.from_mapping(form)


@pytest.mark.parametrize("text", ["[]", "3", "null", "{", "", "nonsense"])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|must be a JSON object"):
        Capabilities.from_json(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
members = st.sampled_from([*bitmap.NAMES, "id", "x", "y", "bustype", "vendor"])


@given(st.dictionaries(members, json_values, max_size=6))
def test_a_mapping_is_read_or_refused_but_nothing_else_happens(form: dict[str, object]) -> None:
    try:
        value = Capabilities.from_mapping(form)
    except ValueError:
        return
    assert Capabilities.from_json(value.to_json()) == value


@pytest.mark.parametrize("name", Capabilities.__slots__)
def test_nothing_can_be_changed(name: str) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        setattr(PAD, name, 0)
    with pytest.raises(AttributeError, match="frozen"):
        delattr(PAD, name)


def test_nothing_can_be_added() -> None:
    assert not hasattr(PAD, "__dict__")
    with pytest.raises(AttributeError, match="frozen"):
        PAD.serial = 1


def test_a_copy_with_changes_leaves_the_original() -> None:
    changed = PAD.replace(bustype=5, x=None)
    assert (changed.bustype, changed.x, changed.key) == (5, None, PAD.key)
    assert PAD.bustype == 3
    with pytest.raises(TypeError, match="no such field: serial"):
        PAD.replace(serial=1)


def test_equal_values_are_one_set_member_and_copies_are_equal() -> None:
    twin = Capabilities.from_json(PAD_JSON)
    assert len({PAD, twin, PAD.replace(bustype=5)}) == 2
    assert copy.deepcopy(PAD) == copy.copy(PAD) == pickle.loads(pickle.dumps(PAD)) == PAD
    assert PAD != PAD_JSON


def test_bits_beyond_the_arrays_of_udev_are_dropped() -> None:
    assert Capabilities(ev=1 << 64 | 1, key=1 << 768, bustype=0x1_0003) == Capabilities(
        ev=1, bustype=3
    )


def test_an_axis_the_kernel_could_not_say_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bits"):
        Capabilities(x=(0, 1 << 31, 0))


def test_a_value_shows_what_it_has() -> None:
    assert repr(Capabilities(ev=1, x=(0, 1, 2))) == "Capabilities(ev=0x1, x=(0, 1, 2))"
