"""Real devices as facts: what they announce, and what udev calls them.

Codes are hexadecimal, as in linux/input-event-codes.h; ``a-b`` is a range with both ends. A type of
event is announced when one of its codes is, ``types`` names the others (14 is EV_REP). ``x`` and
``y`` are minimum, maximum and resolution. The facts come from evtest, evemu and
/proc/bus/input/devices outputs that owners published: whot/evemu-devices, the device list of SDL's
testevdev, and the bug reports named beside the row.
"""

from __future__ import annotations

from dataclasses import dataclass

from inputid import Capabilities

_TYPE_OF = {"key": 1, "rel": 2, "abs": 3, "msc": 4, "sw": 5, "led": 0x11, "snd": 0x12}


def bits(codes: str) -> int:
    """Read ``"130-131 133"``."""
    value = 0
    for word in codes.split():
        first, _, last = word.partition("-")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            value |= 1 << code
    return value


@dataclass(frozen=True)
class Real:
    """One node of one device.

    classes: udev's, of systemd 253 and newer, in its order. classes_252: where 252 differs.
    """

    name: str
    id: str
    classes: str
    key: str = ""
    rel: str = ""
    abs: str = ""
    msc: str = ""
    sw: str = ""
    led: str = ""
    snd: str = ""
    props: str = ""
    types: str = ""
    x: tuple[int, int, int] | None = None
    y: tuple[int, int, int] | None = None
    size: tuple[int, int] | None = None
    classes_252: str | None = None

    def capabilities(self) -> Capabilities:
        fields = {name: bits(getattr(self, name)) for name in _TYPE_OF}
        kinds = sum(1 << kind for name, kind in _TYPE_OF.items() if fields[name])
        bustype, vendor, product, version = (int(word, 16) for word in self.id.split(":"))
        return Capabilities(
            **fields,
            ev=1 | kinds | bits(self.types),
            props=bits(self.props),
            bustype=bustype,
            vendor=vendor,
            product=product,
            version=version,
            x=self.x,
            y=self.y,
        )

    def expected(self, systemd: int) -> tuple[str, ...]:
        """The classes that this release gives."""
        old = self.classes_252 if systemd < 253 else None
        return tuple((self.classes if old is None else old).split())


_KEYS = "1-53 56-58 60-64 66-6f 77 7d-7f"
_XBOX = "130-131 133-134 136-137 13a-13e"
_CONSUMER = (
    "161-162 166 16a 16e 172 174 176 178-17d 17f-180 182-183 185 188-189 18c-193 195 197-19a 19c"
    " 1a0-1b1 1b7 1ba 240-246 250-251"
)
_LOW_CONSUMER = (
    "8e 90 96 98 9b-9c 9e-9f a1 a3-a9 ab-ae b1-b2 b5 ce-d2 d4 d8-d9 db e0-e1 e4 ea-eb f0-f1 f4"
)

PADS = (
    Real("Xbox 360 pad, wired", "0003:045e:028e:0114", "joystick", key=_XBOX, abs="0-5 10-11"),
    Real(
        "Xbox Elite 2, by Bluetooth",
        "0005:045e:0b22:0517",
        "joystick key",
        key="a7 f0 130-13e",
        abs="0-2 5 9-a 10-11",
    ),
    Real(
        "Xbox One S by xpadneo, with paddles",
        "0005:045e:028e:1130",
        "joystick",
        key=f"{_XBOX} 2e4-2e7",
        abs="0-5 10-11 28",
        types="4",
    ),
    Real(
        "Xbox Series pad, by Bluetooth",
        "0005:045e:0b13:0515",
        "joystick key",
        key="a7 130-13e",
        abs="0-2 5 9-a 10-11",
    ),
    Real(
        "DualSense pad",
        "0003:054c:0ce6:8111",
        "joystick",
        key="130-131 133-134 136-13e",
        abs="0-5 10-11",
    ),
    Real(
        "DualShock 4 pad",
        "0003:054c:09cc:8111",
        "joystick",
        key="130-131 133-134 136-13e",
        abs="0-5 10-11",
        types="4",
    ),
    Real(
        "DualShock 3 pad",
        "0003:054c:0268:8111",
        "joystick",
        key="130-131 133-134 136-13e 220-223",
        abs="0-5",
        types="4",
    ),
    Real(
        "PlayStation 3 pad of an old kernel, which claims nearly every axis",
        "0003:054c:0268:0111",
        "joystick",
        key="120-12f 2d0-2d2",
        abs="0-2 5 28-3e",
        msc="4",
        x=(0, 255, 0),
        y=(0, 255, 0),
    ),
    Real(
        "Switch Pro Controller, by Bluetooth",
        "0005:057e:2009:0001",
        "joystick",
        key="120-12f 2c0-2c1",
        abs="0-1 3-4 10-11",
    ),
    Real(
        "NES Joy-Con",
        "0005:057e:2007:0001",
        "joystick",
        key="130-13f",
        abs="0-1 3-4 10-11",
    ),
    Real(
        "8BitDo SNES30",
        "0005:2dc8:2840:0100",
        "joystick",
        key="130-13f",
        abs="0-2 5 9-a 10-11",
        types="4",
    ),
    Real(
        "Stadia Controller: volume keys and one well-known key do no harm",
        "0003:18d1:9400:0100",
        "joystick key",
        key=f"72-73 a4 {_XBOX} 2c0-2c3",
        abs="0-2 5 9-a 10-11",
    ),
    Real(
        "Xiaomi pad, by Bluetooth (xboxdrv issue 143)",
        "0005:2717:3144:0129",
        "joystick key",
        key="67 69-6a 6c 9e ac 130-13e",
        abs="0-5",
        x=(0, 255, 0),
        y=(0, 255, 0),
    ),
    Real(
        "Steam Deck's pad",
        "0003:28de:1205:0111",
        "joystick",
        key="121-122 126 130-131 133-134 136-13e 220-223 2c0-2c3",
        abs="0-1 3-4 10-15",
    ),
    Real(
        "Steam Controller",
        "0003:28de:1142:0000",
        "joystick",
        key="121-122 130-131 133-134 136-13e 150-151 220-223",
        abs="0-1 3-4 10-11 14-15",
    ),
    Real(
        "SNES-style pad without anything but a stick",
        "0003:0079:0011:0110",
        "joystick",
        key="120-129",
        abs="0-1",
    ),
    Real(
        "Wiimote's buttons, by hid-wiimote",
        "0005:057e:0306:0600",
        "joystick key",
        key="67 69-6a 6c 101-102 130-131 13c 197 19c",
    ),
    Real(
        "Wiimote's Classic Controller",
        "0005:057e:0306:0600",
        "joystick key",
        key="67 69-6a 6c 130-131 133-134 136-139 13c 197 19c",
        abs="12-17",
    ),
    Real("Wii Balance Board", "0005:057e:0306:8600", "joystick", key="130", abs="10-13"),
)

STICKS = (
    Real(
        "Logitech Extreme 3D",
        "0003:046d:c215:0110",
        "joystick",
        key="120-12b",
        abs="0-1 5-6 10-11",
    ),
    Real(
        "Saitek X52 Pro",
        "0003:06a3:0762:0111",
        "joystick",
        key="120-12f 2c0-2d6",
        abs="0-6 10-11 28-29",
    ),
    Real(
        "Thrustmaster T.Flight Hotas X",
        "0003:044f:b108:0100",
        "joystick",
        key="120-12b",
        abs="0-2 5-6 10-11",
    ),
    Real(
        "Logitech G27 wheel",
        "0003:046d:c29b:0111",
        "joystick",
        key="120-12f 2c0-2c6",
        abs="0-2 5 10-11",
    ),
    Real(
        "Heusinkveld Sim Pedals Ultimate: no button at all",
        "0003:30b7:1003:0000",
        "joystick",
        abs="3-5",
    ),
    Real(
        "ODDOR handbrake: two buttons and a throttle",
        "0003:1021:1888:0001",
        "joystick",
        key="120-121",
        abs="6",
        types="4",
    ),
    Real(
        "VRS DirectForce Pro Pedals: three axes and no keys look like a sensor",
        "0003:0483:a3be:0111",
        "accelerometer",
        abs="0-2",
    ),
    Real("Fanatec ClubSport handbrake: one axis is nothing", "0003:0eb7:1a93:0111", "", abs="0"),
)

SENSORS = (
    Real(
        "DualShock 4 motion sensors",
        "0003:054c:09cc:8111",
        "accelerometer",
        abs="0-5",
        msc="5",
        props="6",
        x=(-32768, 32767, 8192),
        y=(-32768, 32767, 8192),
        size=(7, 7),
    ),
    Real(
        "DualShock 3 motion sensors", "0003:054c:0268:8111", "accelerometer", abs="0-2", props="6"
    ),
    Real(
        "Wiimote's accelerometer, on RX to RZ and without the property",
        "0005:057e:0306:0600",
        "joystick",
        abs="3-5",
    ),
    Real("Wiimote's infrared camera", "0005:057e:0306:0600", "joystick", abs="10-17"),
)

KEYBOARDS = (
    Real(
        "AT keyboard of a Thinkpad",
        "0011:0001:0001:ab54",
        "key keyboard",
        key="1-53 55-64 66-77 79-80 8c 8e-8f 9b-9f a3-a6 ac-ad b7-b9 d9 e2",
        msc="4",
        led="0-2",
        types="14",
    ),
    Real(
        "Razer BlackWidow 2013",
        "0003:1532:011b:0111",
        "key keyboard",
        key=f"1-53 55-64 66-6f 71-75 77 79-8c {_LOW_CONSUMER} b0-b5 b7-c2 8f 100 {_CONSUMER}",
        rel="6",
        abs="20 28-3e",
        msc="4",
        types="14",
    ),
    Real(
        "Microsoft Nano Transceiver: a keyboard that also claims a pad",
        "0003:045e:0745:0111",
        "key keyboard",
        key="1-53 55-64 66-6f 71-75 77 79-8c 8e-90 94 96 98 9b-9c 9e-9f a1 a3-a9 ab-ae b0-c2 100"
        " 13a-13b 161-162",
        rel="6",
        abs="0-8 10-12 20 28-3f",
        msc="4",
        types="14",
        x=(0, 255, 0),
        y=(0, 255, 0),
    ),
    Real(
        "Microsoft Surface Type Cover: with X and Y at 12 per millimetre, a mouse of 85 by 40",
        "0003:045e:07dc:0111",
        "mouse key keyboard",
        key=f"1-53 56-59 5c-64 66-6f 71-75 77 79-8c {_LOW_CONSUMER} b0-c2 100-104 110-114 14a"
        f" {_CONSUMER} 260-265",
        rel="0-1 6-8",
        abs="0-1 20 28-3e",
        msc="4",
        led="0-2",
        types="14",
        x=(0, 1022, 12),
        y=(0, 487, 12),
        size=(85, 40),
    ),
    Real(
        "Yubikey II types like a keyboard",
        "0003:1050:0010:0111",
        "key keyboard",
        key=_KEYS,
        msc="4",
        led="0-4",
        types="14",
    ),
    Real(
        "Logitech K400 Plus, keyboard and touchpad in one node",
        "0003:046d:404d:0111",
        "mouse key keyboard",
        key=f"1-53 55-64 66-6f 71-75 77 79-8c {_LOW_CONSUMER} b0-c2 df e7-e9 100 110-11f"
        f" {_CONSUMER}",
        rel="0-1 6-8",
        abs="20",
        msc="4",
        led="0-4",
        types="14",
    ),
    Real(
        "Hangsheng R75 QMK, system control: axes without buttons (systemd PR 43513)",
        "0003:342d:e483:0111",
        "joystick key",
        key="74 8a-8b 8e-8f 94 ae e3 f8 161 164 198 1b6 24e-24f",
        abs="10-11 28",
        msc="4",
    ),
)

REMOTES = (
    Real(
        "Fire TV remote, by Bluetooth LE (ble_monitor issue 1299)",
        "0005:0171:0421:0037",
        "key keyboard",
        key="1-3f 40-53 55-64 66-6f 71-75 77 79-89 8b-8c 8e 90 96 98 9b-9c 9e-9f a1 a3-a9 ab-ae"
        " b1-b2 161-162 166 16a 16e 172 174 176",
        rel="6 c",
        abs="20",
        msc="4",
        types="14",
    ),
    Real(
        "Fire TV remote's second node, which has nothing",
        "0005:0171:0421:0037",
        "",
        types="14",
    ),
    Real(
        "Wiimote as a remote control, by cwiid: keys and one mouse button",
        "0005:0001:0001:0003",
        "mouse key",
        key="1d 21 39 67 69-6a 6c 71-73 110",
    ),
    Real(
        "Sony Wireless Stereo Headset",
        "0003:12ba:0034:0111",
        "key",
        key="72-73 a3-a5",
        abs="28-3e",
        msc="4",
    ),
    Real(
        "Plantronics Savi headset: buttons into the joystick's range, but the 16th mouse button",
        "0003:047f:ac01:0111",
        "mouse key",
        key="72-73 100-13a",
        abs="28-3f",
        msc="4",
        led="7",
    ),
    Real(
        "Plantronics .Audio 648: numbered buttons only",
        "0003:047f:c013:0100",
        "",
        key="100-104",
        msc="4",
    ),
)

RECEIVERS = (
    Real(
        "ITE8708 infrared receiver",
        "0019:1283:0000:0000",
        "key",
        key="1c 67 69-6a 6c 6f 71-73 77 80 8e a1 a4 a7-a8 ae cf-d0 d2 d4 e0-e2 160 164 166 16d-16e"
        " 170-172 174-175 179 181-183 185 188-189 18e-193 197 19c 1a9 200-20b",
        msc="4",
        types="14",
    ),
    Real(
        "ITE8708 since Linux 4.20: rc-core offers pointer motion to every remote control",
        "0019:1283:0000:0000",
        "pointingstick key",
        key="1c 67 69-6a 6c 6f 71-73 77 80 8e a1 a4 a7-a8 ae cf-d0 d2 d4 e0-e2 160 164 166 16d-16e"
        " 170-172 174-175 179 181-183 185 188-189 18e-193 197 19c 1a9 200-20b",
        rel="0-1",
        msc="4",
        props="5",
        types="14",
    ),
    Real(
        "Logitech Unifying receiver",
        "0003:046d:c52b:0111",
        "mouse key keyboard",
        key=f"1-53 55-64 66-6f 71-75 77 79-8c {_LOW_CONSUMER} b0-c2 df e7-e9 100 110-11f 161-162",
        rel="0-1 6-8",
        abs="20",
        msc="4",
        led="0-4",
        types="14",
    ),
)

MICE = (
    Real("PS/2 mouse", "0011:0002:0001:0000", "mouse", key="110-112", rel="0-1"),
    Real(
        "Magic Mouse",
        "0005:05ac:030d:0306",
        "mouse",
        key="110-112",
        rel="0-1 6 8",
        abs="2f-31 34-36 39",
        msc="4",
    ),
    Real(
        "Logitech M570 trackball, with all sixteen buttons",
        "0003:046d:1028:0111",
        "mouse",
        key="110-11f",
        rel="0-1 6 8",
        msc="4",
    ),
    Real(
        "Saitek Cyborg R.A.T.5",
        "0003:06a3:0cc3:0111",
        "mouse",
        key="110-11c",
        rel="0-1 8",
        msc="4",
    ),
    Real(
        "QEMU USB Tablet, an absolute mouse",
        "0003:0627:0001:0001",
        "mouse",
        key="110-112",
        rel="8",
        abs="0-1",
        msc="4",
        x=(0, 32767, 0),
        y=(0, 32767, 0),
    ),
    Real(
        "CHICONY keyboard's second node",
        "0003:04f2:0112:0110",
        "mouse",
        key="110-112",
        rel="0-1 8",
        msc="4",
    ),
    Real(
        "TPPS/2 Elan TrackPoint",
        "0011:0002:000a:0000",
        "pointingstick mouse",
        key="110-112",
        rel="0-1",
        props="0 5",
    ),
    Real(
        "DELL08AF:00 06CB:76AF Mouse: on i2c it can only be a stick",
        "0018:06cb:76af:0100",
        "pointingstick mouse",
        key="110-111",
        rel="0-1",
        msc="4",
    ),
    Real(
        "August PCR500 air mouse: hid-generic sees a mouse of five buttons (1d57:ad03)",
        "0003:1d57:ad03:0101",
        "mouse",
        key="110-114",
        rel="0-1 6 8",
        msc="4",
    ),
)

TABLETS = (
    Real(
        "Genius EasyPen i405X",
        "0003:0458:5010:0111",
        "tablet",
        key="140 14a-14c",
        abs="0-1 18",
        msc="4",
        x=(0, 14080, 0),
        y=(0, 10240, 0),
    ),
    Real(
        "UC-Logic WP5540U pen",
        "0003:5543:0004:0100",
        "tablet",
        key="14a-14c",
        abs="0-1 18",
        msc="4",
        x=(0, 32767, 235),
        y=(0, 32767, 323),
        size=(139, 101),
    ),
    Real(
        "Wacom Cintiq 13HD touch, pen",
        "0003:056a:0333:0110",
        "tablet",
        key="140-144 14a-14c",
        abs="0-2 8 18-1b 28",
        msc="0",
        props="1",
        x=(400, 59152, 200),
        y=(400, 33448, 200),
        size=(293, 165),
    ),
    Real(
        "Wacom Intuos4 6x9, pad",
        "0003:056a:00b9:0100",
        "tablet tablet_pad",
        key="100-108 14b",
        abs="0-1 8 28",
        x=(0, 1, 0),
        y=(0, 1, 0),
    ),
    Real(
        "Wacom Cintiq 24HD touch, pad, with keys",
        "0003:056a:00f8:0110",
        "tablet tablet_pad key",
        key="94-95 ca 100-109 130-135 14b",
        abs="0-1 6 8 28",
    ),
    Real(
        "Wacom Cintiq 21UX2 of an old kernel, pen and pad in one",
        "0003:056a:00cc:0110",
        "tablet",
        key="100-109 126-127 130-135 140-144 14a-14c",
        abs="0-4 8 18-1b 28",
        msc="0",
        props="1",
    ),
    Real(
        "XP-PEN Artist 22R Pro, pad: mouse buttons, wheels, no stylus (systemd PR 25866)",
        "0003:28bd:091b:0100",
        "tablet tablet_pad",
        key="100-113",
        rel="6 8",
        classes_252="mouse",
    ),
    Real(
        "eGalax screen that says it is a pen",
        "0003:0eef:0001:0210",
        "tablet",
        key="110-111 140 14a",
        abs="0-3",
        msc="4",
        x=(42, 1981, 0),
        y=(42, 1981, 0),
    ),
)

TOUCH = (
    Real(
        "Elantech touchpad",
        "0011:0002:000e:0000",
        "touchpad",
        key="110 145 14a 14d-14f",
        abs="0-1 18 1c 2f-30 35-36 39-3a",
        props="0 2",
        x=(0, 3097, 31),
        y=(0, 2119, 32),
        size=(99, 66),
    ),
    Real(
        "Synaptics RMI4 touchpad of a Thinkpad",
        "001d:06cb:0000:0000",
        "touchpad",
        key="110 145 148 14a 14d-14f",
        abs="0-1 18 2f-31 34-37 39-3a",
        props="0 2",
    ),
    Real(
        "DELL08AF:00 touchpad, on i2c",
        "0018:06cb:76af:0100",
        "touchpad",
        key="110 145 148 14a 14d-14f",
        abs="0-1 2f 35-37 39",
        props="0 2",
    ),
    Real(
        "bcm5974 touchpad of a MacBook",
        "0003:05ac:0249:0001",
        "touchpad",
        key="110 145 14a 14d-14f",
        abs="0-1 18 1c 30-36",
        props="2",
        x=(0, 1280, 0),
        y=(0, 800, 0),
    ),
    Real(
        "DualShock 4 touchpad",
        "0003:054c:09cc:8111",
        "touchpad",
        key="110 145 14a 14d",
        abs="0-1 2f 35-36 39",
        props="0 2",
        x=(0, 1920, 0),
        y=(0, 942, 0),
    ),
    Real(
        "Wacom Bamboo 2FG 4x5, finger",
        "0003:056a:00d1:0106",
        "touchpad",
        key="110-111 115-116 145 14a 14d",
        abs="0-1 2f 35-36 39",
        props="0",
        x=(0, 15360, 0),
        y=(0, 10240, 0),
    ),
    Real(
        "Atmel maXTouch screen",
        "0018:0000:0000:0000",
        "touchscreen",
        key="14a",
        abs="0-1 2f 35-37 39 3b",
        props="1",
        x=(0, 799, 0),
        y=(0, 479, 0),
    ),
    Real(
        "IRTOUCH screen without a touch button: direct is enough",
        "0003:6615:0070:0111",
        "touchscreen",
        abs="0-1 2f 35-36 39",
        props="1",
        types="1",
    ),
    Real(
        "Wacom Serial Penabled 2FG: pen and finger on a screen",
        "0013:056a:00e3:0100",
        "tablet",
        key="140-141 145 14a-14c",
        abs="0-1 18 2f 35-37 39",
        props="1",
        x=(0, 26312, 100),
        y=(0, 16520, 100),
        size=(263, 165),
    ),
    Real(
        "ELAN screen",
        "0003:04f3:010c:0110",
        "touchscreen",
        key="14a",
        abs="0-1 2f-31 34-36 39 3c-3d",
        props="1",
        x=(0, 3312, 10),
        y=(0, 1872, 10),
        size=(331, 187),
    ),
)

SWITCHES = (
    Real("ACPI lid switch", "0019:0000:0005:0000", "switch", sw="0"),
    Real("Headphone jack of a sound card", "0000:0000:0000:0000", "switch", sw="2"),
    Real("ACPI power button", "0019:0000:0001:0000", "key", key="74"),
    Real("ACPI video bus", "0019:0000:0006:0000", "key", key="e0-e1 e3 f1-f5"),
    Real("Webcam of a Thinkpad, with its one key", "0003:04f2:b604:0027", "key", key="d4"),
    Real(
        "HP WMI hotkeys",
        "0019:0000:0000:0000",
        "key switch",
        key="8a 8d 94 99 e0-e2 f0 166",
        msc="4",
        sw="1 5",
    ),
    Real(
        "Thinkpad ACPI buttons",
        "0019:17aa:5054:4101",
        "key switch",
        key="71-73 78 8c 8e 90 94 98 9c 9e ab ad be-bf c2 cd d4 d9 e0-e1 e3-e4 ec-ee f0 174 176"
        " 1d2 1db-1dc 246 250",
        msc="4",
        sw="3",
    ),
    Real(
        "Sony Vaio Keys, the Fn part of sony-laptop.c: one joystick button is none (issue 16711)",
        "0019:104d:0000:0000",
        "key",
        key="d4 1d1-1e4 121",
        msc="4",
    ),
    Real("GL.iNet GL-AR150's reset button, KEY_RESTART", "0019:0001:0001:0100", "key", key="198"),
    Real("PC speaker", "0010:001f:0001:0100", "", snd="1-2"),
    Real("Rotary encoder on two pins, set up as a wheel", "0019:0000:0000:0000", "key", rel="8"),
)

DEVICES = (
    *PADS,
    *STICKS,
    *SENSORS,
    *KEYBOARDS,
    *REMOTES,
    *RECEIVERS,
    *MICE,
    *TABLETS,
    *TOUCH,
    *SWITCHES,
)
