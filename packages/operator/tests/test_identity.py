"""Who a controller is, read from the bond's own file when bluetoothd cannot be asked."""

from __future__ import annotations

import pytest
from bluetooth_operator.identity import Identity, of_info
from hypothesis import given
from hypothesis import strategies as st

ROWS = {
    "a BR/EDR pad": (
        (
            b"[General]\nName=Pad\nClass=0x002508\nServices=00001124-0000-1000-8000-00805f9b34fb;\n"
            b"[DeviceID]\nSource=2\nVendor=1356\nProduct=3302\nVersion=256\n"
        ),
        Identity(
            name="Pad",
            class_of_device=0x2508,
            address_type="public",
            modalias="usb:v054Cp0CE6d0100",
            uuids=frozenset({"00001124-0000-1000-8000-00805f9b34fb"}),
        ),
    ),
    "an LE remote with a name of the user's": (
        b"[General]\nName=Remote\nAlias=TV = left\nAppearance=0x0180\nAddressType=static\n",
        Identity(name="TV = left", appearance=0x180, address_type="random"),
    ),
    "numbers that are none": (
        b"[General]\nName=x\nClass=purple\n[DeviceID]\nSource=2\nVendor=x\n",
        Identity(name="x", address_type="public"),
    ),
    "an empty file": (b"", Identity(address_type="public")),
    "no file of this kind": (b"\x00\x01 no sections", Identity()),
}


@pytest.mark.parametrize(("info", "expected"), ROWS.values(), ids=ROWS)
def test_identity(info: bytes, expected: Identity) -> None:
    assert of_info(info) == expected


@given(st.binary(max_size=300))
def test_nothing_in_the_file_raises(info: bytes) -> None:
    of_info(info)
