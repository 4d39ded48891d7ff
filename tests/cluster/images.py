"""Container images for the pods of the tests, made from the lab's root without any registry.

An image is an OCI archive (OCI image layout 1.0 in a tar file) with one layer, written here
byte for byte the same from the same input, for ``ctr images import``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cluster import cache

PAUSE = "localhost/pause:1"
BUSYBOX = "localhost/busybox:1"
PAD_READER = "localhost/pad-reader:1"

_PROGRAMS = Path(__file__).parent / "programs"
_READER = _PROGRAMS / "pad_reader.py"
_COLLECT = _PROGRAMS / "collect.py"
_SITE_PACKAGES = "opt/venv/lib/python3.14/site-packages"
_PYTHON = "usr/bin/python3.14"
_LOADER = "lib64/ld-linux-x86-64.so.2"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """What goes into one image: its file system, and what runs when the pod says nothing."""

    name: str
    files: Mapping[str, bytes | Path]
    command: Sequence[str]
    links: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


def build(tree: Path) -> Path:
    """The folder with an archive of all images, made from an unpacked root of the lab.

    ``tree`` holds busybox-static and Python with evdev. Cached by what they are: the root's
    package list, its evdev, and the sources here.
    """
    evdev = sorted((tree / _SITE_PACKAGES / "evdev").glob("*.so"))
    inputs = [tree / "var/lib/dpkg/status", *evdev, Path(__file__), _READER, _COLLECT]
    return cache.entry(f"images-{cache.key(*inputs)}", lambda folder: _make(tree, folder))


def _make(tree: Path, folder: Path) -> None:
    busybox = Image(BUSYBOX, _busybox_files(tree), ["/bin/sh"], _applets(tree))
    pause = replace(busybox, name=PAUSE, command=["/bin/busybox", "sleep", "infinity"])
    with tempfile.TemporaryDirectory() as collected:
        reader = _reader(tree, Path(collected))
        # One archive: each start of ctr takes seconds in an emulated machine.
        write([pause, busybox, reader], folder / "images.tar")


def _busybox_files(tree: Path) -> dict[str, bytes | Path]:
    return {
        "bin/busybox": (tree / "usr/bin/busybox").resolve(),
        "etc/passwd": b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
        "tmp/.keep": b"",
    }


def _applets(tree: Path) -> dict[str, str]:
    """A link per applet; being static, the root's busybox lists them anywhere."""
    listed = subprocess.run(
        [tree / "usr/bin/busybox", "--list"], capture_output=True, text=True, check=True
    )
    return {f"bin/{name}": "busybox" for name in listed.stdout.split() if name != "busybox"}


def _reader(tree: Path, folder: Path) -> Image:
    _collect(tree, folder)
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    files = {name: path for name, path in found.items() if path.is_file() and not path.is_symlink()}
    links = {name: str(path.readlink()) for name, path in found.items() if path.is_symlink()}
    return Image(
        PAD_READER,
        {
            **files,
            "pad_reader.py": _READER,
            _PYTHON: (tree / _PYTHON).resolve(),
            f"usr/{_LOADER}": (tree / _LOADER).resolve(),
        },
        ["/usr/bin/python3", "-S", "-u", "/pad_reader.py"],
        {**links, "usr/bin/python3": "python3.14", "lib64": "usr/lib64", "lib": "usr/lib"},
        {"PYTHONPATH": f"/{_SITE_PACKAGES}"},
    )


def _collect(tree: Path, folder: Path) -> None:
    """The Python, libraries and modules that the reader uses, found by importing them.

    The root's own interpreter runs, through the root's loader, and copies what it has loaded:
    that is a few megabytes, where the root's Python has dozens.
    """
    command: list[str | Path] = [
        tree / _LOADER,
        *("--library-path", f"{tree}/usr/lib/{platform.machine()}-linux-gnu"),
        *(tree / _PYTHON, "-S", "-B", _COLLECT, tree, folder),
    ]
    environment = {"PYTHONHOME": f"{tree}/usr", "PYTHONPATH": f"{tree}/{_SITE_PACKAGES}"}
    subprocess.run(command, env=environment, check=True)


def write(images: Sequence[Image], archive: Path) -> None:
    """Write images as one OCI archive that containerd imports under the images' names.

    Images of the same files share their layer.
    """
    blobs: dict[str, bytes] = {}
    entries = [_add(image, blobs) for image in images]
    index = _json({"schemaVersion": 2, "manifests": entries})
    layout = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    archive.write_bytes(_tar(layout | blobs, {}))


def _add(image: Image, blobs: dict[str, bytes]) -> dict[str, object]:
    """Put an image's blobs among the others; its entry in the index."""
    layer = _layer(image)
    config = _json(_config(image, _digest(layer)))
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
        }
    )
    blobs |= {f"blobs/sha256/{_digest(blob)[7:]}": blob for blob in (layer, config, manifest)}
    entry = _descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
    return entry | {"annotations": {"io.containerd.image.name": image.name}}


def _config(image: Image, layer_digest: str) -> dict[str, object]:
    environment = {"PATH": "/bin:/usr/bin", **image.environment}
    return {
        "architecture": _ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "Cmd": list(image.command),
            "Env": [f"{name}={value}" for name, value in environment.items()],
        },
        "rootfs": {"type": "layers", "diff_ids": [layer_digest]},
        "history": [],
    }


def _layer(image: Image) -> bytes:
    return _tar(image.files, image.links)


def _tar(files: Mapping[str, bytes | Path], links: Mapping[str, str]) -> bytes:
    """A tar whose bytes depend on names and contents alone, folders before what is in them."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for folder in sorted({str(up) for name in (*files, *links) for up in Path(name).parents}):
            if folder != ".":
                tar.addfile(_member(folder, tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755))
        for name, content in sorted(files.items()):
            data = content.read_bytes() if isinstance(content, Path) else content
            runs = isinstance(content, Path) and os.access(content, os.X_OK)
            member = _member(name, tarfile.REGTYPE, 0o755 if runs else 0o644)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for name, target in sorted(links.items()):
            member = _member(name, tarfile.SYMTYPE, 0o777)
            member.linkname = target
            tar.addfile(member)
    return output.getvalue()


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode = kind, mode
    return member


def _descriptor(media_type: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
