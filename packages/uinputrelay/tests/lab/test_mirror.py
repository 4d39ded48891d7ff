"""What the kernel makes of a mirror: the same device to every reader, and a one-way one."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import inputs
from lab.radio import Air
from uinputrelay import AbsInfo, NodeWish, PeripheralWish, Snapshot, codes, kernel
from uinputrelay.mirror import Mirror, blueprint

from .devices import (
    ADDRESS,
    KEY_A,
    OTHER,
    SYN,
    Bench,
    Plug,
    Read,
    Reader,
    Source,
    gamepad,
    keyboard_and_mouse,
    keyed,
    wish,
)

pytestmark = pytest.mark.lab
MSC_SCAN = 4
EVIOCSFF = 1 << 30 | 48 << 16 | ord("E") << 8 | 0x80


def _without(shot: Snapshot, *kinds: int) -> Snapshot:
    """The snapshot a mirror reads back as: no such types, no fuzz, no values."""
    types = {kind: listed for kind, listed in shot.types.items() if kind not in kinds}
    axes = {code: axis._replace(value=0, fuzz=0) for code, axis in shot.absinfo.items()}
    return replace(shot, types=types, absinfo=axes)


RUMBLING = replace(gamepad(), types={**gamepad().types, codes.EV_FF: (80, 81, 96)}, props=(6,))


@pytest.mark.parametrize(
    "shot", [gamepad(), RUMBLING, keyboard_and_mouse("Fernbedienung ü", repeats=True)]
)
def test_a_mirror_reads_back_as_its_snapshot(bench: Bench, read: Read, shot: Snapshot) -> None:
    bench.apply(wish(shot))
    mirrored = read(bench.nodes()[0].path or "").snapshot()
    if shot.has_keyboard_key:
        keys = tuple(code for code in mirrored.types[1] if code != codes.KEY_UNKNOWN)
        mirrored = replace(mirrored, types={**mirrored.types, 1: keys})
    assert _without(mirrored) == _without(shot, codes.EV_FF, codes.EV_REP)


def test_a_mirror_is_marked_as_ours_and_never_mirrored_itself(bench: Bench, plug: Plug) -> None:
    plug(gamepad())
    bench.apply(PeripheralWish(ADDRESS))
    (node,) = bench.connected()
    phys = Path("/sys/class/input", Path(node.path or "").name, "device/phys").read_text().strip()
    assert phys == f"lab.test/{ADDRESS}/0"
    bench.pump()
    assert len(bench.nodes()) == 1


def test_uploading_an_effect_to_a_mirror_fails_instead_of_waiting_for_nobody(
    bench: Bench, read: Read
) -> None:
    bench.apply(wish(RUMBLING))
    path = bench.nodes()[0].path or ""
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(OSError, match="EVIOCSFF") as refused:
        kernel.control(fd, EVIOCSFF, struct.pack("@Hhh", 80, -1, 0) + bytes(42), "EVIOCSFF")
    os.close(fd)
    assert refused.value.errno in (errno.ENOSYS, errno.EINVAL)


def test_what_consumers_write_goes_nowhere(bench: Bench, plug: Plug, read: Read) -> None:
    lit = replace(
        keyboard_and_mouse(), types={**keyboard_and_mouse().types, codes.EV_LED: (0, 1, 2)}
    )
    bench.apply(wish(lit))
    source = plug(lit)
    (node,) = bench.connected()
    device = read(source.path)
    consumer = os.open(node.path or "", os.O_WRONLY | os.O_NONBLOCK)
    for n in range(200):
        os.write(consumer, kernel.encode([(codes.EV_LED, 1, n % 2), SYN]))
        bench.engine.step(0)
    os.close(consumer)
    bench.pump()
    assert device.events() == []
    assert bench.nodes()[0].events == 0
    source.frame(keyed(KEY_A, 1))
    bench.pump()
    assert device.events() == [keyed(KEY_A, 1), SYN]


def test_the_echo_of_a_scan_code_wakes_nobody(bench: Bench, plug: Plug, read: Read) -> None:
    """A mirrored EV_MSC comes back on uinput's end: to be woken for it doubled a frame's cost."""
    shot = replace(gamepad(), types={**gamepad().types, codes.EV_MSC: (MSC_SCAN,)})
    bench.apply(wish(shot))
    source = plug(shot)
    (node,) = bench.connected()
    reader = read(node.path or "")
    scanned = (codes.EV_MSC, MSC_SCAN, 7)
    source.frame(scanned)
    bench.engine.step(1)
    assert reader.events() == [scanned, SYN]
    assert bench.engine._epoll.poll(0.2) == []


def test_a_pad_that_claims_every_axis_is_mirrored_but_for_its_slots(bench: Bench) -> None:
    """The old Sony PLAYSTATION(R)3 driver: 64 axes, ABS_MT_SLOT up to 255."""
    axes = {code: AbsInfo(0, 0, 255) for code in range(0x40)}
    shot = replace(gamepad(), types={0: (), 1: (304,), 3: tuple(axes)}, absinfo=axes)
    bench.apply(wish(shot))
    (node,) = bench.nodes()
    assert node.error == ""
    assert node.differences == ("axis 0x2f: 256 slots, uinput has 100 at most",)


ODD = {
    "an empty name": replace(gamepad(), name=""),
    "a name of 128 bytes": replace(gamepad(), name="x" * 128),
    "a range the wrong way round": replace(
        gamepad(), absinfo={**gamepad().absinfo, 0: AbsInfo(0, 255, 0)}
    ),
    "a flat wider than the range": replace(
        gamepad(), absinfo={**gamepad().absinfo, 0: AbsInfo(0, 0, 10, 0, 20)}
    ),
}


@pytest.mark.parametrize("shot", ODD.values(), ids=ODD)
def test_what_uinput_refuses_is_mirrored_closely_and_said(bench: Bench, shot: Snapshot) -> None:
    bench.apply(wish(shot))
    (node,) = bench.nodes()
    assert (node.error, len(node.differences)) == ("", 1)
    assert node.path


def test_what_only_a_newer_kernel_knows_is_left_out_and_said(bench: Bench) -> None:
    shot = replace(gamepad(), types={**gamepad().types, codes.EV_SW: (0, 31)})
    bench.apply(wish(shot))
    (node,) = bench.nodes()
    assert node.error == ""
    assert node.differences == ("code 0x1f of event type 0x5: unknown to this kernel",)


class Radio:
    """The kernel's switch of the first radio."""

    def __init__(self) -> None:
        (self._soft,) = Path("/sys/class/rfkill").glob("rfkill*/soft")

    def goes(self, state: str) -> None:
        """Wait until it is on or off."""
        told = {"on": "0", "off": "1"}[state]
        inputs.wait(lambda: self._soft.read_text().strip() == told, f"radio that is {state}", 10)


def _tap(source: Source, code: int) -> None:
    source.frame(keyed(code, 1))
    source.frame(keyed(code, 0))


def test_a_mirror_turns_no_radio_off_where_a_verbatim_one_would(
    air: Air, bench: Bench, plug: Plug
) -> None:
    radio = Radio()
    types = {codes.EV_KEY: (KEY_A, codes.KEY_BLUETOOTH), codes.EV_SW: (codes.SW_RFKILL_ALL,)}
    shot = replace(gamepad(), types=types, absinfo={})
    bench.apply(wish(shot))
    assert len(bench.nodes()[0].differences) == 2
    # The kernel does one thing after the other, and toggles nothing while everything is off.
    keyboard = plug(replace(shot, types={codes.EV_KEY: (codes.KEY_BLUETOOTH,)}), OTHER)
    for state in ("off", "on"):
        _tap(keyboard, codes.KEY_BLUETOOTH)
        radio.goes(state)
    verbatim = Mirror(replace(blueprint(shot), types=types), "lab.test/verbatim")
    radio.goes("off")
    os.write(verbatim.fd, kernel.encode([(codes.EV_SW, codes.SW_RFKILL_ALL, 1), SYN]))
    radio.goes("on")
    verbatim.close()


CODES = {1: 0x2FF, 2: 0xF, 3: 0x3F, 4: 7, 5: 0xF, 0x11: 0xF, 0x12: 7}  # of every kernel since 5.0
INT32, UINT16 = st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 0xFFFF)


@st.composite
def any_snapshot(draw: st.DrawFn) -> Snapshot:
    """What a driver could have told the kernel, sensible or not."""
    kinds = draw(st.sets(st.sampled_from(sorted(CODES))))
    listed = {k: tuple(draw(st.sets(st.integers(1, CODES[k]), max_size=4))) for k in kinds}
    axes = {code: AbsInfo(*draw(st.tuples(*[INT32] * 6))) for code in listed.get(3, ())}
    ids = draw(st.tuples(UINT16, UINT16, UINT16, UINT16))
    name = draw(st.binary(max_size=100)).replace(b"\0", b"0").decode("utf-8", "surrogateescape")
    return Snapshot(name, *ids, types={0: (), **listed}, absinfo=axes)


@settings(max_examples=25, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
@given(any_snapshot())
def test_whatever_a_driver_reports_is_mirrored_as_planned(shot: Snapshot) -> None:
    plan = blueprint(shot)
    mirror = Mirror(plan, "lab.test/any")
    reader = Reader(mirror.path)
    back = reader.snapshot()
    reader.close()
    mirror.close()
    assert (back.name.encode("utf-8", "surrogateescape"), back.props) == (plan.name, ())
    assert (back.bus, back.vendor, back.product, back.version) == plan.ids
    # The kernel adds ABS_MT_TRACKING_ID where there are slots.
    planned = {kind: {*listed} for kind, listed in plan.types.items() if kind}
    assert all(planned[kind] <= {*back.codes(kind)} for kind in planned)
    plain = {code: axis for code, axis in plan.absinfo.items() if code < codes.ABS_MT_SLOT}
    assert {code: back.absinfo[code] for code in plain} == plain


@contextmanager
def _as_nobody() -> Iterator[None]:
    """This thread's file accesses are nobody's: root's rights over files go with it (setfsuid(2))."""
    libc = ctypes.CDLL(None)
    libc.setfsuid(65534)
    try:
        yield
    finally:
        libc.setfsuid(0)


def test_a_node_udev_has_not_opened_to_us_yet_is_tried_until_it_is(
    bench: Bench, plug: Plug, read: Read
) -> None:
    bench.apply(wish(gamepad()))
    reader = read(bench.nodes()[0].path or "")
    source = plug(gamepad())
    subprocess.run(["udevadm", "settle"], check=True)
    Path(reader.path).chmod(0o666)
    Path(source.path).chmod(0o600)
    source.frame(keyed(304, 1))
    with _as_nobody():
        bench.until(
            lambda observed: "Permission denied" in observed.peripherals[0].error, "the refusal"
        )
        assert reader.events() == []
        with _as_root():
            Path(source.path).chmod(0o666)
        bench.connected()
        bench.pump()
    assert bench.nodes()[0].error == bench.engine.observe().peripherals[0].error == ""
    assert reader.events() == [keyed(304, 1), SYN]


@contextmanager
def _as_root() -> Iterator[None]:
    libc = ctypes.CDLL(None)
    libc.setfsuid(0)
    try:
        yield
    finally:
        libc.setfsuid(65534)


def test_without_uinput_the_mirror_is_made_when_it_comes(bench: Bench, plug: Plug) -> None:
    source = plug(gamepad())
    Path("/dev/uinput").chmod(0o600)
    with _as_nobody():
        (node,) = bench.apply(wish(gamepad())).peripherals[0].nodes
        assert node.path is None
        assert "Permission denied" in node.error
    bench.connected()
    (node,) = bench.nodes()
    assert (node.error, node.real) == ("", source.path)
    bench.apply(PeripheralWish(ADDRESS, None, (NodeWish(gamepad(), None),)))
    assert bench.nodes()[0].path == node.path
