"""Virtual evdev nodes that outlive the controller they mirror."""

__version__ = "0.1.0"
