"""Bonds on disk: read whole and only when complete, watched, put back before bluetoothd starts.

Bytes in, bytes out: files are parsed to judge them, never to rewrite them. Nothing here needs
D-Bus.
"""

from bluezclient.storage.bond import (
    AdapterFiles,
    Bond,
    read_adapter_files,
    read_bond,
    read_bonds,
)
from bluezclient.storage.kernel import KernelAdapter, kernel_adapters
from bluezclient.storage.restore import RestoreReport, restore
from bluezclient.storage.watch import BondSnapshot, watch_bonds

__all__ = [
    "AdapterFiles",
    "Bond",
    "BondSnapshot",
    "KernelAdapter",
    "RestoreReport",
    "kernel_adapters",
    "read_adapter_files",
    "read_bond",
    "read_bonds",
    "restore",
    "watch_bonds",
]
