"""Names for what a device says it is: class of device, appearance and profile UUIDs.

Source: Bluetooth SIG Assigned Numbers, sections 2.6 (appearance), 2.8 (class of device) and 3.3,
3.4 (service and profile UUIDs). Pure tables; nothing here guesses from a name or an icon.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClassOfDevice:
    """An unpacked class word; words are None where the number is not assigned.

    `services` uses lowerCamelCase words: positioning, networking, rendering, capturing,
    objectTransfer, audio, telephony, information, leAudio, limitedDiscoverable.
    """

    value: int
    major: str | None
    minor: str | None
    services: frozenset[str]


_SERVICES = {
    13: "limitedDiscoverable",
    14: "leAudio",
    16: "positioning",
    17: "networking",
    18: "rendering",
    19: "capturing",
    20: "objectTransfer",
    21: "audio",
    22: "telephony",
    23: "information",
}

_MAJORS = {
    0x00: "miscellaneous",
    0x01: "computer",
    0x02: "phone",
    0x03: "lan",
    0x04: "audioVideo",
    0x05: "peripheral",
    0x06: "imaging",
    0x07: "wearable",
    0x08: "toy",
    0x09: "health",
    0x1F: "uncategorized",
}

_MINORS: dict[int, dict[int, str]] = {
    0x01: {
        1: "desktop",
        2: "server",
        3: "laptop",
        4: "handheld",
        5: "palm",
        6: "wearable",
        7: "tablet",
    },
    0x02: {1: "cellular", 2: "cordless", 3: "smartphone", 4: "modem", 5: "isdn"},
    0x04: {
        0x01: "headset",
        0x02: "handsFree",
        0x04: "microphone",
        0x05: "loudspeaker",
        0x06: "headphones",
        0x07: "portableAudio",
        0x08: "carAudio",
        0x09: "setTopBox",
        0x0A: "hifi",
        0x0B: "vcr",
        0x0C: "videoCamera",
        0x0D: "camcorder",
        0x0E: "videoMonitor",
        0x0F: "videoDisplayLoudspeaker",
        0x10: "videoConferencing",
        0x12: "gamingToy",
    },
    0x07: {1: "watch", 2: "pager", 3: "jacket", 4: "helmet", 5: "glasses"},
    0x08: {1: "robot", 2: "vehicle", 3: "doll", 4: "controller", 5: "game"},
    0x09: {
        1: "bloodPressure",
        2: "thermometer",
        3: "scale",
        4: "glucose",
        5: "oximeter",
        6: "heartRate",
        7: "display",
    },
}

# Peripheral: bits 6-7 say how one types, bits 2-5 what it is; the latter is the better word.
_PERIPHERAL_KINDS = {
    1: "joystick",
    2: "gamepad",
    3: "remote",
    4: "sensing",
    5: "digitizer",
    6: "cardReader",
    7: "digitalPen",
    8: "scanner",
    9: "gestural",
}
_PERIPHERAL_TYPING = {0b01: "keyboard", 0b10: "pointing", 0b11: "combo"}
_IMAGING = {4: "display", 5: "camera", 6: "scanner", 7: "printer"}


def class_of_device(value: int) -> ClassOfDevice:
    """Unpack a 24-bit class word, `Device.class_of_device`; higher bits are ignored.

    A minor means something under its major only; peripherals name the kind (gamepad) before the
    typing part (keyboard, pointing, combo), which is used when the kind is unset.
    """
    value &= 0xFFFFFF
    major = value >> 8 & 0x1F
    return ClassOfDevice(
        value=value,
        major=_MAJORS.get(major),
        minor=_minor(major, value),
        services=frozenset(word for bit, word in _SERVICES.items() if value >> bit & 1),
    )


def _minor(major: int, value: int) -> str | None:
    minor = value >> 2 & 0x3F
    if major == 0x05:
        return _PERIPHERAL_KINDS.get(minor & 0xF) or _PERIPHERAL_TYPING.get(minor >> 4)
    if major == 0x06:
        return next((word for bit, word in _IMAGING.items() if value >> bit & 1), None)
    return _MINORS.get(major, {}).get(minor)


_APPEARANCES = {
    0x0040: "phone",
    0x0080: "computer",
    0x00C0: "watch",
    0x0180: "remote",
    0x0280: "mediaPlayer",
    0x03C0: "hid",
    0x03C1: "keyboard",
    0x03C2: "mouse",
    0x03C3: "joystick",
    0x03C4: "gamepad",
    0x03C5: "digitizer",
    0x03C6: "cardReader",
    0x03C7: "digitalPen",
    0x03C8: "barcodeScanner",
    0x03C9: "touchpad",
    0x03CA: "presentationRemote",
    0x0A80: "gaming",
    0x0A81: "gameConsole",
    0x0A82: "handheldConsole",
}


def appearance(value: int) -> str | None:
    """The word for an LE appearance value; its category's word if only that is known; else None."""
    return _APPEARANCES.get(value) or _APPEARANCES.get(value & ~0x3F)


_BASE = "-0000-1000-8000-00805f9b34fb"
_FLAGS = {
    "110b": "audioSink",
    "110a": "audioSource",
    "110c": "avrcpTarget",
    "110f": "avrcpController",
    "111e": "handsfree",
    "1108": "headset",
    "1124": "input",
    "1812": "input",
    "180f": "battery",
    "1101": "serialPort",
}


def profile_flags(uuids: Iterable[str]) -> frozenset[str]:
    """The profile words for service UUIDs (any case); unknown UUIDs add nothing.

    Words: audioSink, audioSource, avrcpTarget, avrcpController, handsfree, headset, input, battery,
    serialPort. 0x110E ("A/V Remote Control") is in targets' records too, so it counts as a
    controller only where no target is advertised.
    """
    shorts = {
        uuid[4:8] for uuid in map(str.lower, uuids) if uuid.startswith("0000") and uuid[8:] == _BASE
    }
    if "110e" in shorts and "110c" not in shorts:
        shorts.add("110f")
    return frozenset(_FLAGS[short] for short in shorts if short in _FLAGS)


def kind(class_word: int | None, appearance_value: int | None, uuids: Iterable[str] = ()) -> str:
    """One word a person understands: gamepad, keyboard, remote, headset, ...; "" when nothing is
    said.

    The class word is asked first (most specific for BR/EDR), then the appearance, then the
    services.
    """
    decoded = class_of_device(class_word) if class_word else None
    said = decoded and (decoded.minor or decoded.major)
    if said and said not in ("miscellaneous", "uncategorized"):
        return said
    if appearance_value and (word := appearance(appearance_value)):
        return word
    flags = profile_flags(uuids)
    return next((word for word in ("input", "audioSink", "headset") if word in flags), "")
