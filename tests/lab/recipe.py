"""What the guests are made of, as values: adding a guest is adding data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent

# Counts up when the builder itself changes what comes out of an unchanged recipe.
FORMAT = 1


@dataclass(frozen=True)
class Recipe:
    """One guest root.

    suite: Debian's name of the release.
    packages: Debian packages, without their recommendations.
    requirements: pinned PyPI packages for /opt/venv, a file beside this one; "" for none.
    steps: shell commands run inside the finished root, in order.
    initramfs: kernel modules (with what they depend on) the guest needs to find its root.
    modules: loaded at each boot, in this order.
    kernel_of: the recipe whose kernel boots this root; "" for its own.
    """

    suite: str
    packages: tuple[str, ...]
    requirements: str = ""
    steps: tuple[str, ...] = ()
    initramfs: tuple[str, ...] = ("virtio_pci", "virtio_blk", "ext4", "overlay")
    modules: tuple[str, ...] = ()
    kernel_of: str = ""

    def key(self) -> str:
        """Hash of everything that decides the content of the root."""
        recipe = asdict(self)
        # What is only used at boot makes no other root.
        del recipe["modules"]
        facts = {"format": FORMAT, "recipe": recipe}
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
        if self.requirements:
            digest.update((HERE / self.requirements).read_bytes())
        if self.kernel_of:
            digest.update(RECIPES[self.kernel_of].key().encode())
        return digest.hexdigest()[:16]


_BASE = (
    "bluez",
    "busybox-static",
    "ca-certificates",
    "dbus",
    "evtest",
    "iproute2",
    "kmod",
    "procps",
    "python3",
    "udev",
)

# What a kubelet needs beside it to run pods.
_NODE = ("containerd", "runc", "containernetworking-plugins", "iptables")

# To build the Python packages that have no wheel (evdev) and to import hid-tools.
_PYTHON = ("python3-venv", "python3-dev", "gcc", "libc6-dev", "linux-libc-dev", "libevdev2")

_DEVICES = ("uinput", "uhid", "evdev", "hci_vhci", "hidp", "hid_playstation")
_SHARES = ("virtio_console", "virtio_net", "virtio_rng", "9pnet_virtio", "9p")
_PODS = ("overlay", "bridge", "veth")

RECIPES = {
    "forky": Recipe(
        suite="forky",
        packages=(*_BASE, *_PYTHON, *_NODE, "bluez-test-tools", "libudev1", "linux-image-amd64"),
        requirements="guest-requirements.txt",
        modules=(*_SHARES, *_DEVICES, *_PODS),
    ),
    # The oldest that people run: systemd 252, BlueZ 5.66, Python 3.11.
    "bookworm": Recipe(
        suite="bookworm",
        packages=(*_BASE, *_PYTHON, "bluez-test-tools", "libudev1", "systemd"),
        requirements="guest-requirements-bookworm.txt",
        modules=(*_SHARES, *_DEVICES),
        kernel_of="forky",
    ),
}
