"""udev's input classes (ID_INPUT_*) for any evdev node, without udev."""

__version__ = "0.1.0"
