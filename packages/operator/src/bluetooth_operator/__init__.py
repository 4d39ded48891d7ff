"""Pair Bluetooth controllers with kubectl and hand each to exactly one pod."""

__version__ = "0.1.0"
