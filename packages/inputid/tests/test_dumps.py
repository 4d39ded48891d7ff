"""What bug reports carry is read as the device it describes, whichever tool wrote it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inputid import Capabilities, classes, dumps, properties

from .devices import bits

# A Fire TV remote on a Raspberry Pi, from a bug report of a Home Assistant integration.
PROC_64 = """\
I: Bus=0005 Vendor=0171 Product=0421 Version=0037
N: Name="AR Keyboard"
P: Phys=e4:5f:01:f1:3a:ca
S: Sysfs=/devices/virtual/misc/uhid/0005:0171:0421.0003/input/input4
U: Uniq=18:bf:1c:29:2c:b4
H: Handlers=sysrq kbd event4 \n\
B: PROP=0
B: EV=10001f
B: KEY=306ff 0 0 483ffff17aff32d bfd4444600000000 1 130ff38b17c007 ffff7bfad9415fff \
febeffdfffefffff fffffffffffffffe
B: REL=1040
B: ABS=100000000
B: MSC=10

I: Bus=0005 Vendor=0171 Product=0421 Version=0037
N: Name="AR"
P: Phys=e4:5f:01:f1:3a:ca
S: Sysfs=/devices/virtual/misc/uhid/0005:0171:0421.0003/input/input5
U: Uniq=18:bf:1c:29:2c:b4
H: Handlers=event5 \n\
B: PROP=0
B: EV=100001
"""

# The same kinds of nodes as a 32-bit kernel prints them.
PROC_32 = """\
I: Bus=0019 Vendor=0000 Product=0001 Version=0000
N: Name="Power Button"
H: Handlers=kbd event0
B: PROP=0
B: EV=3
B: KEY=100000 0 0 0

I: Bus=0003 Vendor=045e Product=028e Version=0114
N: Name="Microsoft X-Box 360 pad"
H: Handlers=event1 js0
B: PROP=0
B: EV=20000b
B: KEY=7cdb0000 0 0 0 0 0 0 0 0 0
B: ABS=3003f
B: FF=1 7030000 0 0

I: Bus=0011 Vendor=0001 Product=0001 Version=ab41
N: Name="AT Translated Set 2 keyboard"
H: Handlers=sysrq kbd event2
B: PROP=0
B: EV=120013
B: KEY=4 2000000 3803078 f800d001 feffffdf ffefffff ffffffff fffffffe
B: MSC=10
B: LED=7
"""

EVEMU = """\
# EVEMU 1.2
# Kernel: 3.16.2
# Input device name: "SynPS/2 Synaptics TouchPad"
N: SynPS/2 Synaptics TouchPad
I: 0011 0002 0007 01b1
P: 09 00 00 00 00 00 00 00
B: 00 0b 00 00 00 00 00 00 00
B: 01 00 00 00 00 00 00 00 00
B: 01 00 00 00 00 00 00 00 00
B: 01 00 00 00 00 00 00 00 00
B: 01 00 00 00 00 00 00 00 00
B: 01 03 00 03 00 00 00 00 00
B: 01 20 64 00 00 00 00 00 00
B: 01 00 00 00 00 00 00 00 00
B: 02 00 00 00 00 00 00 00 00
B: 03 03 00 00 11 00 80 60 02
B: 14 00 00 00 00 00 00 00 00
A: 00 1472 5498 0 0 69
A: 01 1408 4560 0 0 100
A: 18 0 255 0 0 0
################################
#      Waiting for events      #
################################
E: 0.000001 0003 0039 0123	# EV_ABS / ABS_MT_TRACKING_ID   123
"""

LIBINPUT = """\
# libinput record
version: 1
ndevices: 2
libinput:
  version: "1.28.1"
  git: "unknown"
system:
  os: "debian:13"
devices:
- node: /dev/input/event9
  evdev:
    # Name: ETPS/2 Elantech Touchpad
    # ID: bus 0x11 vendor 0x2 product 0xe version 0
    # Size in mm: 99x66
    # Supported Events:
    # Event type 0 (EV_SYN)
    # Event type 1 (EV_KEY)
    #   Event code 272 (BTN_LEFT)
    name: "ETPS/2 Elantech: Touchpad"
    id: [17, 2, 14, 0]
    codes:
      0: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] # EV_SYN
      1: [272, 325, 330,
          333, 334, 335] # EV_KEY
      3: [0, 1, 24, 28, 47, 48, 53, 54, 57, 58] # EV_ABS
      20: [0, 1] # EV_REP
    absinfo:
      0: [0, 3097, 0, 0, 31]
      1: [0, 2119, 0, 0, 32]
      24: [0, 255, 0, 0, 0]
    properties: [0, 2]
  hid: [
    12, 3 ]
  udev:
    properties:
    - ID_INPUT=1
    - ID_INPUT_MOUSE=1
  quirks:
  events:
  - evdev:
    - [  0, 471994,   2,   1,       1] # EV_REL / REL_Y                     1
    - [  0, 472003,   0,   0,       0] # ------------ SYN_REPORT (0) ---------- +4ms
- node: /dev/input/event3
  evdev:
    name: "Power Button"
    id: [25, 0, 1, 0]
    codes:
      0: [0, 1] # EV_SYN
      1: [116] # EV_KEY
    properties: []
  events:
"""


def verdicts(text: str, word_bits: int | None = None) -> list[tuple[str, str]]:
    return [(d.name, " ".join(classes(d.capabilities))) for d in dumps.read(text, word_bits)]


def test_proc_of_a_64_bit_machine() -> None:
    assert verdicts(PROC_64) == [("AR Keyboard", "key keyboard"), ("AR", "")]


def test_proc_says_where_a_device_is() -> None:
    remote = dumps.read(PROC_64)[0]
    assert remote.node == "/dev/input/event4"
    assert remote.devpath.endswith("/0005:0171:0421.0003/input/input4")
    assert remote.capabilities.bustype == 5
    assert remote.capabilities.product == 0x421
    assert remote.capabilities.rel == bits("6 c")


def test_proc_of_a_32_bit_machine_is_recognised_by_its_keyboard() -> None:
    assert verdicts(PROC_32) == [
        ("Power Button", "key"),
        ("Microsoft X-Box 360 pad", "joystick"),
        ("AT Translated Set 2 keyboard", "key keyboard"),
    ]
    assert dumps.read(PROC_32)[0].capabilities.key == 1 << 116


def test_a_part_of_a_32_bit_dump_needs_to_be_told() -> None:
    pad = PROC_32.split("\n\n")[1].replace("\nB: FF=1 7030000 0 0", "")
    assert verdicts(pad, 32) == [("Microsoft X-Box 360 pad", "joystick")]
    assert verdicts(pad) == [("Microsoft X-Box 360 pad", "joystick key")]


def test_proc_without_the_empty_lines_between() -> None:
    assert verdicts(PROC_64.replace("\n\n", "\n")) == verdicts(PROC_64)


def test_proc_pasted_with_windows_line_ends_and_a_byte_order_mark() -> None:
    assert verdicts("\ufeff" + PROC_64.replace("\n", "\r\n")) == verdicts(PROC_64)


def test_evemu_describes_one_device_with_its_size() -> None:
    (touchpad,) = dumps.read(EVEMU)
    assert touchpad.name == "SynPS/2 Synaptics TouchPad"
    assert touchpad.capabilities == Capabilities(
        ev=0xB,
        key=bits("100-101 110-111 145 14a 14d-14e"),
        abs=bits("0-1 18 1c 2f 35-36 39"),
        props=bits("0 3"),
        bustype=0x11,
        vendor=2,
        product=7,
        version=0x1B1,
        x=(1472, 5498, 69),
        y=(1408, 4560, 100),
    )
    assert properties(touchpad.capabilities)["ID_INPUT_WIDTH_MM"] == "58"


def test_evemu_before_1_1_has_no_resolution() -> None:
    old = EVEMU.replace(" 0 0 69\n", " 0 0\n").replace(" 0 0 100\n", " 0 0\n")
    (touchpad,) = dumps.read(old)
    assert touchpad.capabilities.x == (1472, 5498, 0)
    assert properties(touchpad.capabilities) == {"ID_INPUT": "1", "ID_INPUT_TOUCHPAD": "1"}


def test_several_evemu_descriptions_in_one_file() -> None:
    second = "N: wheel\nI: 0003 0001 0001 0001\nB: 00 05\nB: 02 00 01\n"
    assert verdicts(EVEMU + second) == [
        ("SynPS/2 Synaptics TouchPad", "touchpad"),
        ("wheel", "key"),
    ]


def test_libinput_records_are_read_without_their_events() -> None:
    touchpad, button = dumps.read(LIBINPUT)
    assert (touchpad.name, touchpad.node) == ("ETPS/2 Elantech: Touchpad", "/dev/input/event9")
    assert touchpad.capabilities == Capabilities(
        ev=bits("0-1 3 14"),
        key=bits("110 145 14a 14d-14f"),
        abs=bits("0-1 18 1c 2f-30 35-36 39-3a"),
        props=bits("0 2"),
        bustype=17,
        vendor=2,
        product=14,
        x=(0, 3097, 31),
        y=(0, 2119, 32),
    )
    assert list(properties(touchpad.capabilities).values()) == ["1", "1", "99", "66"]
    assert (button.name, classes(button.capabilities)) == ("Power Button", ("key",))
    assert button.capabilities.x is None


def test_axes_that_are_not_there_read_as_zeros_like_the_kernels() -> None:
    (device,) = dumps.read(EVEMU.replace("A: 01 1408 4560 0 0 100\n", ""))
    assert device.capabilities.y == (0, 0, 0)


UNREADABLE = [
    ("nothing", "", "neither"),
    ("something else", "hello\nworld\n", "neither .* 'hello'"),
    ("evemu without a name", "# EVEMU 1.2\nB: 00 0b\n", "without a name"),
    ("evemu with a word for a byte", "N: x\nB: 01 zz\n", "not a number in 'B: 01 zz'"),
    ("evemu with an axis too wide", "N: x\nA: 00 0 4294967296 0 0 1\n", "32 bits"),
    ("libinput without a device", "devices:\nevdev:\n", "without a device"),
    (
        "libinput with a text for a list",
        "devices:\n- node: /dev/x\n  evdev:\n    codes:\n      1: all\n",
        "not a list of numbers in '1: all'",
    ),
    (
        "libinput with half an axis",
        "devices:\n- node: /dev/x\n  evdev:\n    absinfo:\n      0: [0, 1]\n",
        "5 numbers expected",
    ),
    (
        "libinput cut off in a list",
        "devices:\n- node: /dev/x\n  evdev:\n    codes:\n      1: [1, 2\n",
        "not a list of numbers",
    ),
]


@pytest.mark.parametrize(
    ("text", "complaint"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE]
)
def test_what_cannot_be_read_is_said_in_one_line(text: str, complaint: str) -> None:
    with pytest.raises(dumps.DumpError, match=complaint) as caught:
        dumps.read(text)
    assert "\n" not in str(caught.value)


fragments = st.sampled_from(
    [line + "\n" for line in (PROC_64 + EVEMU + LIBINPUT).splitlines()]
    + ["[", "]", "\n", "B: ", "A: 00", "- node:\n", "  evdev:\n", "zz", "\0", "é", "-1", ":"]
)


@given(st.lists(fragments, max_size=30).map("".join))
def test_any_mixture_of_dumps_is_read_or_refused(text: str) -> None:
    try:
        found = dumps.read(text)
    except dumps.DumpError:
        return
    for device in found:
        assert Capabilities.from_json(device.capabilities.to_json()) == device.capabilities
