"""What users ran into, by the words they used, where no other test here is named for it.

The numbers are threads of bluez/bluez unless a repository is named.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from bluezclient import (
    Address,
    Client,
    DeviceInitiatesConnection,
    DeviceUnreachable,
    Reason,
    host_problems,
    is_benign,
)
from bluezclient.properties import DEVICE, INPUT
from bluezclient.storage import Bond, read_bond, restore, watch_bonds
from bluezclient.testing import FakeBluez

from .conftest import ADAPTER, PAD
from .test_storage import KEY, PAD_CACHE, PAD_INFO, REMOTE, REMOTE_INFO, bond, modes, place

POOR = PAD_INFO.partition("[LinkKey]")[0]
DUALSHOCK3 = PAD_INFO.partition("[LinkKey]")[0].replace(
    "Trusted=true", "Trusted=true\nCablePairing=true"
)


# -- the second connection has no event node (#777, #771) ----------------------------------------


@pytest.mark.looptime
async def test_a_pad_connected_for_the_second_time_is_connected_and_that_says_nothing_of_input(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """Event nodes are the kernel's to tell: no property of bluetoothd stands for them."""
    pad = fake_bluez.add_device(hci0, PAD, Class=0x002508)
    told = []
    for _ in range(2):
        fake_bluez.connect_device(pad)
        state = await client.until(lambda s: pad in s.devices and s.devices[pad].connected, 1)
        told.append((state.links[(ADAPTER, PAD)].reason, dict(state.devices[pad].extra)))
        fake_bluez.disconnect_device(pad)
        await client.until(lambda s: not s.devices[pad].connected, 1)
    assert told == [(Reason.CONNECTED, {})] * 2


# -- host and device connect at once (#1765, gnome-bluetooth-quick-connect #22) --------------------


@pytest.mark.looptime
@pytest.mark.parametrize("mode", ["device", "none"])
async def test_an_automatic_connect_breaks_the_dualsense_so_there_is_none(
    client: Client, fake_bluez: FakeBluez, hci0: str, mode: str
) -> None:
    pad = fake_bluez.add_device(hci0, PAD)
    fake_bluez.announce(pad, {INPUT: {"ReconnectMode": mode}})
    await client.until(lambda s: pad in s.devices and s.devices[pad].reconnect_mode == mode, 1)
    with pytest.raises(DeviceInitiatesConnection, match="press its button"):
        await client.connect(PAD)
    for _ in range(3):
        fake_bluez.connect_device(pad)
        fake_bluez.disconnect_device(pad)
        await asyncio.sleep(5)
    assert "Connect" not in [call.member for call in fake_bluez.calls]


# -- a pad that sleeps is called with "Host is down" (#319, #1259) -----------------------------------


@pytest.mark.looptime
@pytest.mark.parametrize(
    "text", ["Host is down", "br-connection-create-socket", "br-connection-page-timeout"]
)
async def test_a_host_that_is_down_is_a_device_that_does_not_answer_and_no_alarm(
    client: Client, fake_bluez: FakeBluez, hci0: str, text: str
) -> None:
    pad = fake_bluez.add_device(hci0, PAD)
    await client.until(lambda s: pad in s.devices, 1)
    fake_bluez.fail_next("Connect", "Failed", text)
    with pytest.raises(DeviceUnreachable) as caught:
        await client.connect(PAD)
    assert (caught.value.name, caught.value.text) == ("org.bluez.Error.Failed", text)
    link = client.state.links[(ADAPTER, PAD)]
    assert (link.reason, link.flapping) == (Reason.NEVER_CONNECTED, False)
    assert is_benign(link.reason)


# -- keys lost after a restart (#875, #1827, #686) --------------------------------------------------


@pytest.mark.looptime
async def test_a_restored_device_that_is_not_bonded_after_the_start_is_named(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    late, never, absent = Address("C4:00:00:00:00:01"), REMOTE, Address("C4:00:00:00:00:02")
    fake_bluez.add_device(hci0, PAD)
    fake_bluez.add_device(hci0, late, Paired=False, Bonded=False)
    fake_bluez.add_device(hci0, never, Paired=False, Bonded=False)
    began = asyncio.get_running_loop().time()
    looking = asyncio.ensure_future(
        client.rejected_restores(ADAPTER, [PAD, late, never, absent], deadline=10)
    )
    await asyncio.sleep(5)
    fake_bluez.change(f"{hci0}/{late.bluez}", DEVICE, Bonded=True, Paired=True)
    assert await looking == {never, absent}
    assert asyncio.get_running_loop().time() - began == 10


@pytest.mark.looptime
async def test_restored_devices_that_are_all_bonded_are_told_at_once(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    fake_bluez.add_device(hci0, PAD)
    began = asyncio.get_running_loop().time()
    assert await client.rejected_restores(ADAPTER, [PAD]) == frozenset()
    assert asyncio.get_running_loop().time() - began < 1


async def test_a_bond_that_lost_its_keys_at_the_start_never_replaces_the_one_that_was_stored(
    tmp_path: Path,
) -> None:
    """bluetoothd writes the poorer `info` over the restored one; nothing of it is given out."""
    restore(tmp_path, ADAPTER, [bond(PAD_INFO, PAD_CACHE), bond(REMOTE_INFO, device=REMOTE)])
    given: list[Bond] = []

    async def follow() -> None:
        snapshots = watch_bonds(tmp_path, ADAPTER, bonded=lambda _: True, quiet=0.05, cap=0.2)
        while True:
            given.append((await anext(snapshots)).bond)

    info = tmp_path / ADAPTER.colons / PAD.colons / "info"
    info.with_name("info.AB12CD").write_text(POOR)
    info.with_name("info.AB12CD").rename(info)
    following = asyncio.ensure_future(follow())
    await asyncio.sleep(0.5)
    following.cancel()
    await asyncio.wait({following})
    assert [held.device for held in given] == [REMOTE]


# -- connected, and no event node: uhid is missing (#606) ------------------------------------------

UHID = Path("/dev/null")


@pytest.mark.parametrize(
    ("uhid", "reasons"),
    [
        pytest.param("/dev/null", [], id="a character device"),
        pytest.param("/nonexistent/uhid", ["NoUserspaceHID"], id="nothing"),
        pytest.param("/tmp", ["NoUserspaceHID"], id="a folder made by a wrong mount"),
    ],
)
def test_a_host_without_uhid_is_found_before_an_xbox_pad_connects_without_an_event_node(
    tmp_path: Path, uhid: str, reasons: list[str]
) -> None:
    found = host_problems((5, 87), uhid=Path(uhid), input_conf=tmp_path / "none")
    assert [problem.reason for problem in found] == reasons


# -- the DualShock 3 is refused by ClassicBondedOnly (#688, #696, #1165, #673) ---------------------


@pytest.mark.looptime
async def test_a_dualshock_3_paired_by_cable_is_accepted_as_bonded(
    client: Client, fake_bluez: FakeBluez, hci0: str
) -> None:
    """It knows no keys: bluetoothd never calls it paired nor bonded (5.83)."""
    pad = fake_bluez.add_device(
        hci0, PAD, Paired=False, Bonded=False, Trusted=False, CablePairing=True, Class=0x000508
    )
    state = await client.until(lambda s: pad in s.devices, 1)
    assert state.links[(ADAPTER, PAD)].reason is Reason.NEVER_CONNECTED
    await client.set_trusted(PAD, True)
    assert await client.rejected_restores(ADAPTER, [PAD]) == frozenset()
    fake_bluez.connect_device(pad)
    fake_bluez.disconnect_device(pad, "Timeout")
    await client.until(lambda s: s.links[(ADAPTER, PAD)].reason is Reason.ASLEEP, 1)
    assert client.state.devices[pad].trusted


def test_a_dualshock_3_keeps_its_place_on_disk_without_a_key(tmp_path: Path) -> None:
    held = bond(DUALSHOCK3, PAD_CACHE)
    assert (held.sealed, held.usable, held.key_groups) == (True, True, frozenset())
    assert bond(DUALSHOCK3).missing == ("ServiceRecords",)
    assert not bond(DUALSHOCK3.replace("CablePairing=true", "CablePairing=false")).usable
    report = restore(tmp_path, ADAPTER, [held])
    assert report.written == {PAD}
    assert not report.refused
    assert read_bond(tmp_path, ADAPTER, PAD) == held
    assert restore(tmp_path, ADAPTER, [bond(PAD_INFO)]).kept == {PAD}


BY_DEFAULT, NOT_YET, NOT_TOLD = (5, 71), (5, 70), None


@pytest.mark.parametrize(
    ("conf", "bluez", "reasons"),
    [
        pytest.param(None, BY_DEFAULT, [], id="on by default"),
        pytest.param("", BY_DEFAULT, [], id="an empty file"),
        pytest.param(None, NOT_YET, ["StrangersGetIn"], id="off by default"),
        pytest.param(None, NOT_TOLD, ["StrangersGetIn"], id="a release that is not told"),
        pytest.param("[General]\nClassicBondedOnly=true\n", NOT_YET, [], id="on"),
        pytest.param("[General]\nClassicBondedOnly=1\n", NOT_TOLD, [], id="on by number"),
        pytest.param("[General]\nClassicBondedOnly=false\n", BY_DEFAULT, ["StrangersGetIn"]),
        pytest.param("[General]\n#ClassicBondedOnly=false\n", BY_DEFAULT, [], id="a comment"),
        pytest.param("[Other]\nClassicBondedOnly=true\n", NOT_YET, ["StrangersGetIn"]),
        pytest.param("[General]\nClassicBondedOnly=True\n", BY_DEFAULT, ["StrangersGetIn"]),
        pytest.param("[General]\nClassicBondedOnly=yes\n", BY_DEFAULT, ["StrangersGetIn"]),
        pytest.param("ClassicBondedOnly=true\n", BY_DEFAULT, ["InputConfUnreadable"]),
    ],
)
def test_a_guard_taken_off_for_a_dualshock_3_is_named(
    tmp_path: Path, conf: str | None, bluez: tuple[int, int] | None, reasons: list[str]
) -> None:
    """CVE-2023-45866: ClassicBondedOnly=false lets any device in range type."""
    path = tmp_path / "input.conf"
    if conf is not None:
        path.write_text(conf)
    found = host_problems(bluez, uhid=UHID, input_conf=path)
    assert [problem.reason for problem in found] == reasons


# -- pads of consoles, remotes that drop (#824, #2401; Yanndroid/SiriRemote-Linux) -----------------


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("wire", "reason"),
    [("Remote", Reason.DISCONNECTED_BY_DEVICE), ("Timeout", Reason.ASLEEP)],
)
async def test_a_remote_that_drops_when_idle_and_a_pad_stolen_by_a_console_are_left_alone(
    client: Client, fake_bluez: FakeBluez, hci0: str, wire: str, reason: Reason
) -> None:
    pad = fake_bluez.add_device(hci0, PAD, Class=0x002508)
    fake_bluez.connect_device(pad)
    asked = len(fake_bluez.calls)
    fake_bluez.disconnect_device(pad, wire)
    await asyncio.sleep(300)
    assert client.state.links[(ADAPTER, PAD)].reason is reason
    assert is_benign(reason)
    assert client.state.devices[pad].bonded
    assert fake_bluez.calls[asked:] == []


# -- a stale bond in a restored tree (LibreELEC #6348, #5261; CoreELEC #102) -----------------------


def test_a_remote_keeps_its_trust_in_the_bytes_that_are_restored(tmp_path: Path) -> None:
    """Untrusted, its HID service is refused after the restart although its keys are there."""
    trusted = REMOTE_INFO.replace("Services", "Trusted=true\nServices")
    place(tmp_path / "old", bond(trusted, device=REMOTE))
    held = read_bond(tmp_path / "old", ADAPTER, REMOTE)
    assert held is not None
    restore(tmp_path / "new", ADAPTER, [held])
    again = read_bond(tmp_path / "new", ADAPTER, REMOTE)
    assert again is not None
    assert b"Trusted=true" in again.files["info"]
    assert KEY not in repr(again)
    assert modes(tmp_path / "new")[f"{ADAPTER}/{REMOTE}/info"] == "600"
