"""The adapter's address from the kernel, before bluetoothd runs."""

from __future__ import annotations

from dataclasses import dataclass

from bluezclient.address import Address


@dataclass(frozen=True, slots=True)
class KernelAdapter:
    """One HCI device: `index` (0 for hci0); `address` is None while the kernel does not know it yet."""

    index: int
    address: Address | None


def kernel_adapters() -> tuple[KernelAdapter, ...]:
    """The HCI devices of this network namespace, by index, asked with HCIGETDEVLIST/HCIGETDEVINFO.

    Empty where there is no Bluetooth. Raises `PermissionDenied` when the socket is refused.
    """
    raise NotImplementedError
