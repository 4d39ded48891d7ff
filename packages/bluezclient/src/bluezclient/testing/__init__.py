"""A bluetoothd to test against: real D-Bus or an in-process bus, a scripted air, faults on request.

`FakeBluez` serves the objects of bluetoothd from the property table the client decodes with. It
sits on a `LoopbackBroker` (in the test's own process, so fake clocks work) or on a private
dbus-daemon (`private_bus`, so the bytes are real). Installing `bluezclient` makes the pytest
fixtures of `bluezclient.testing.plugin` available: `broker`, `fake_bluez`, `private_bus_address`.
"""

from bluezclient.testing.fakebluez import Call, FakeBluez, Peer
from bluezclient.testing.loopback import LoopbackBroker
from bluezclient.testing.privatebus import private_bus

__all__ = ["Call", "FakeBluez", "LoopbackBroker", "Peer", "private_bus"]
