"""The cache of objects: whatever the order of announcements, it is what a fresh look would show."""

from __future__ import annotations

from typing import Any

import pytest
from bluezclient.cache import ObjectCache
from bluezclient.model import decode_objects
from bluezclient.properties import ADAPTER as ADAPTER1
from bluezclient.properties import BATTERY, DEVICE, INPUT
from hypothesis import given
from hypothesis import strategies as st

from .conftest import ADAPTER, PAD

HCI0, HCI1 = "/org/bluez/hci0", "/org/bluez/hci1"
PATHS = [HCI0, HCI1, f"{HCI0}/{PAD.bluez}", f"{HCI1}/{PAD.bluez}", "/org/bluez"]
ADDRESSES = st.sampled_from([ADAPTER.colons, PAD.colons, "rubbish", ""])
PROPERTIES = st.fixed_dictionaries(
    {},
    optional={
        "Address": ADDRESSES,
        "Adapter": st.sampled_from([HCI0, HCI1]),
        "Powered": st.booleans(),
        "Paired": st.booleans(),
        "Bonded": st.booleans(),
        "RSSI": st.integers(-100, 0),
        "Percentage": st.integers(0, 100),
        "ReconnectMode": st.sampled_from(["device", "any"]),
        "Novelty": st.integers(),
    },
)
INTERFACES = st.sampled_from([ADAPTER1, DEVICE, BATTERY, INPUT, "org.bluez.Unheard1"])
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("added"),
            st.sampled_from(PATHS),
            st.dictionaries(INTERFACES, PROPERTIES, max_size=3),
        ),
        st.tuples(st.just("removed"), st.sampled_from(PATHS), st.lists(INTERFACES, max_size=3)),
        st.tuples(
            st.just("changed"),
            st.sampled_from(PATHS),
            st.tuples(
                INTERFACES, PROPERTIES, st.lists(st.sampled_from(["RSSI", "Address"]), max_size=2)
            ),
        ),
    ),
    max_size=8,
)


@given(STEPS)
def test_the_cache_shows_what_a_fresh_look_at_the_same_objects_would(
    steps: list[tuple[str, str, Any]],
) -> None:
    cache = ObjectCache({})
    for kind, path, facts in steps:
        if kind == "added":
            cache.interfaces_added(path, facts)
        elif kind == "removed":
            cache.interfaces_removed(path, facts)
        else:
            cache.properties_changed(path, *facts)
        assert (cache.adapters, cache.devices) == decode_objects(cache._objects)


@pytest.mark.parametrize("adapter_first", [True, False])
def test_a_device_announced_before_its_adapter_gets_its_adapters_address_later(
    adapter_first: bool,
) -> None:
    device = {DEVICE: {"Address": PAD.colons, "Adapter": HCI0}}
    announcements = [(PATHS[2], device), (HCI0, {ADAPTER1: {"Address": ADAPTER.colons}})]
    cache = ObjectCache({})
    for path, interfaces in reversed(announcements) if adapter_first else announcements:
        cache.interfaces_added(path, interfaces)
    assert cache.devices[PATHS[2]].adapter_address == ADAPTER


def test_an_adapter_takes_its_devices_along_whatever_is_said_of_them() -> None:
    cache = ObjectCache(
        {
            HCI0: {ADAPTER1: {"Address": ADAPTER.colons}},
            PATHS[2]: {DEVICE: {"Address": PAD.colons, "Adapter": HCI0}},
        }
    )
    cache.interfaces_removed(HCI0, [ADAPTER1])
    assert (dict(cache.adapters), dict(cache.devices)) == ({}, {})
