"""One type for a Bluetooth device address, whatever its spelling.

BlueZ prints `A0:AB:51:33:B7:12`, Kubernetes names want `a0-ab-51-33-b7-12`, object paths hold
`dev_A0_AB_51_33_B7_12`. An address is never read back out of an object path: after an LE device
reveals its identity the path keeps the old private address and only the `Address` property is right
(BlueZ `src/device.c`, `device_update_addr`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Self

_SPELLINGS = re.compile(
    r"[0-9a-f]{12}|[0-9a-f]{2}(:[0-9a-f]{2}){5}|[0-9a-f]{2}(-[0-9a-f]{2}){5}"
    r"|[0-9a-f]{2}(_[0-9a-f]{2}){5}",
    re.IGNORECASE | re.ASCII,
)


class AddressError(ValueError):
    """The text is no Bluetooth address; the message quotes it."""


@dataclass(frozen=True, slots=True, order=True, init=False, repr=False)
class Address:
    """A 48-bit device address; hashable, ordered, equal whatever the spelling it came in.

    `Address("a0-ab-51-33-b7-12")`, `Address("A0:AB:51:33:B7:12")`, `Address("A0_AB_51_33_B7_12")`
    and `Address("a0ab5133b712")` are one value. Anything else, an object path included, raises
    `AddressError`.
    """

    value: int
    ZERO: ClassVar[Address]

    def __init__(self, spelling: str | Address) -> None:
        if isinstance(spelling, Address):
            number = spelling.value
        elif _SPELLINGS.fullmatch(spelling):
            number = int(re.sub(r"[:_-]", "", spelling), 16)
        else:
            raise AddressError(f"{spelling!r} is not a Bluetooth address like A0:AB:51:33:B7:12")
        object.__setattr__(self, "value", number)

    @classmethod
    def from_little_endian(cls, octets: bytes) -> Self:
        """The address from six octets as HCI and the management socket send them, lowest first."""
        if len(octets) != 6:
            raise AddressError(f"an address has 6 octets, not {len(octets)}")
        return cls(octets[::-1].hex())

    def _joined(self, separator: str) -> str:
        return self.value.to_bytes(6, "big").hex(separator)

    @property
    def colons(self) -> str:
        """`A0:AB:51:33:B7:12`: BlueZ properties, storage directories, status fields."""
        return self._joined(":").upper()

    @property
    def dashes(self) -> str:
        """`a0-ab-51-33-b7-12`: valid as a DNS label, so as a Kubernetes name."""
        return self._joined("-")

    @property
    def bluez(self) -> str:
        """`dev_A0_AB_51_33_B7_12`: the last segment of a *new* device's object path."""
        return "dev_" + self._joined("_").upper()

    @property
    def little_endian(self) -> bytes:
        """Six octets, lowest first, as HCI and the management socket send them."""
        return self.value.to_bytes(6, "little")

    @property
    def is_static_random(self) -> bool:
        """Whether a random address is a static one: top two bits 11 (Core 6.B.1.3.2.1)."""
        return self.value >> 46 == 0b11

    def __bool__(self) -> bool:
        """False for the all-zero address, which means "not known yet" everywhere in Bluetooth."""
        return self.value != 0

    def __str__(self) -> str:
        return self.colons

    def __repr__(self) -> str:
        return f"Address({self.colons!r})"


Address.ZERO = Address("00:00:00:00:00:00")
