"""The packets of a radio are cut out of a stream whole, whatever the cuts of the stream."""

from __future__ import annotations

import pytest
from lab.radio import first_packet, without_privacy

PACKETS = {
    "a command": "01 030c 00",
    "a command with parameters": "01 0520 02 0102",
    "data": "02 0120 0300 aabbcc",
    "voice": "03 0100 02 aabb",
    "an event": "04 0e 04 01030c00",
    "isochronous data, whose length has two other bits": "05 0100 0180 aa",
}


@pytest.mark.parametrize("text", PACKETS.values(), ids=PACKETS.keys())
def test_a_packet_is_cut_out_of(text: str) -> None:
    packet = bytes.fromhex(text)
    for more in (b"", b"\x04", b"\x04\x0e\x04"):
        assert first_packet(packet + more) == packet
    for end in range(len(packet)):
        assert first_packet(packet[:end]) == b""


def test_a_dongle_promises_all_its_radio_does_but_to_resolve_addresses() -> None:
    features = bytes.fromhex("040e0c01 0320 00 fd59010000000000")
    assert without_privacy(features) == bytes.fromhex("040e0c01 0320 00 bd59010000000000")
    for other in ("040e0c01 0320 01 fd59010000000000", "040e0c01 0310 00 fd59010000000000"):
        assert without_privacy(bytes.fromhex(other)) == bytes.fromhex(other)
