"""Emulated controllers: real peers on the air, each a process of its own, driven by verbs.

    async with DualSense(logs) as pad:
        await pad.advertise()              # as when its pairing buttons are held
        ...                                # the host pairs; the pad opens HID by itself
        await pad.wait_usable()
        await pad.press("BTN_SOUTH")
        await pad.sleep()                  # says goodbye: the host sees "power off"
        await pad.wake()                   # comes back by itself
        await pad.vanish()                 # says nothing: the host sees a link timeout

Buttons, keys and axes go by the names that the kernel gives them.
"""

from lab.controllers.client import (
    Controller,
    ControllerError,
    DualSense,
    Intruder,
    Keyboard,
    Remote,
    SlowPad,
)

__all__ = [
    "Controller",
    "ControllerError",
    "DualSense",
    "Intruder",
    "Keyboard",
    "Remote",
    "SlowPad",
]
