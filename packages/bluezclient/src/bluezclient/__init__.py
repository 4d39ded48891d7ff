"""An asyncio client for bluetoothd: live typed model, pairing that ends honestly, bonds on disk."""

__version__ = "0.1.0"
