"""The kernel's input numbers this package reasons about, and how many codes each type has.

Source: include/uapi/linux/input-event-codes.h and input.h (their numbers never change meaning).
"""

from __future__ import annotations

EV_SYN = 0x00
EV_KEY = 0x01
EV_REL = 0x02
EV_ABS = 0x03
EV_MSC = 0x04
EV_SW = 0x05
EV_LED = 0x11
EV_SND = 0x12
EV_REP = 0x14
EV_FF = 0x15
EV_PWR = 0x16
EV_CNT = 0x20

SYN_REPORT = 0
SYN_MT_REPORT = 2
SYN_DROPPED = 3

# Codes per event type (KEY_CNT, REL_CNT, ...). SW_CNT has grown twice since 2020; there is room.
CODE_COUNTS = {
    EV_SYN: 0x10,
    EV_KEY: 0x300,
    EV_REL: 0x10,
    EV_ABS: 0x40,
    EV_MSC: 0x08,
    EV_SW: 0x20,
    EV_LED: 0x10,
    EV_SND: 0x08,
    EV_REP: 0x02,
    EV_FF: 0x80,
}
PROP_CNT = 0x20
INT32_MAX = (1 << 31) - 1

KEY_BLUETOOTH = 237
KEY_WLAN = 238
KEY_UWB = 239
KEY_UNKNOWN = 240
KEY_WWAN = 246
KEY_RFKILL = 247
BTN_MISC = 0x100
BTN_JOYSTICK = 0x120
BTN_GAMEPAD = 0x130

SW_RFKILL_ALL = 0x03

ABS_X = 0x00
ABS_Y = 0x01
ABS_Z = 0x02
ABS_RX = 0x03
ABS_RY = 0x04
ABS_RZ = 0x05
ABS_THROTTLE = 0x06
ABS_RUDDER = 0x07
ABS_WHEEL = 0x08
ABS_GAS = 0x09
ABS_BRAKE = 0x0A
ABS_HAT0X = 0x10
ABS_HAT3Y = 0x17
ABS_PRESSURE = 0x18
ABS_DISTANCE = 0x19
ABS_TILT_X = 0x1A
ABS_TILT_Y = 0x1B
ABS_TOOL_WIDTH = 0x1C
ABS_VOLUME = 0x20
ABS_PROFILE = 0x21
ABS_MISC = 0x28
ABS_MT_SLOT = 0x2F
ABS_MT_FIRST = 0x30
ABS_MT_POSITION_X = 0x35
ABS_MT_POSITION_Y = 0x36
ABS_MT_TRACKING_ID = 0x39
ABS_MT_LAST = 0x3D
