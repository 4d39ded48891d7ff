"""Archives are the same from the same input, and what containerd expects."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

from cluster import images


def image(tmp_path: Path) -> images.Image:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    program.chmod(0o700)
    return images.Image(
        "localhost/thing:1",
        {"bin/program": program, "etc/passwd": b"root"},
        ["/bin/program"],
        {"bin/alias": "program"},
        {"LANG": "C"},
    )


def blobs(archive: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if (handle := tar.extractfile(member)) is not None:
                found[member.name] = handle.read()
    return found


def test_the_same_input_makes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.tar", "two.tar"):
        images.write([image(tmp_path)], tmp_path / name)
        (tmp_path / "program").touch()
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_every_blob_is_named_by_its_digest_and_described_with_its_size(tmp_path: Path) -> None:
    images.write([image(tmp_path)], tmp_path / "image.tar")
    found = blobs(tmp_path / "image.tar")
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    [entry] = json.loads(found["index.json"])["manifests"]
    assert entry["annotations"] == {"io.containerd.image.name": "localhost/thing:1"}
    manifest = json.loads(blob(found, entry))
    config = json.loads(blob(found, manifest["config"]))
    [layer] = manifest["layers"]
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    assert config["config"] == {"Cmd": ["/bin/program"], "Env": ["PATH=/bin:/usr/bin", "LANG=C"]}
    with tarfile.open(fileobj=io.BytesIO(blob(found, layer))) as tar:
        seen = {member.name: (member.mode, member.linkname) for member in tar}
    assert seen == {
        "bin": (0o755, ""),
        "bin/alias": (0o777, "program"),
        "bin/program": (0o755, ""),
        "etc": (0o755, ""),
        "etc/passwd": (0o644, ""),
    }


def blob(found: dict[str, bytes], descriptor: dict[str, object]) -> bytes:
    digest = str(descriptor["digest"])
    data = found[f"blobs/sha256/{digest.removeprefix('sha256:')}"]
    assert digest == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert descriptor["size"] == len(data)
    return data


def test_images_of_the_same_files_share_their_layer(tmp_path: Path) -> None:
    one = image(tmp_path)
    images.write(
        [one, replace(one, name="localhost/other:1", command=["/bin/alias"])], tmp_path / "two.tar"
    )
    found = blobs(tmp_path / "two.tar")
    entries = json.loads(found["index.json"])["manifests"]
    names = [entry["annotations"]["io.containerd.image.name"] for entry in entries]
    assert names == ["localhost/thing:1", "localhost/other:1"]
    layers = [json.loads(blob(found, entry))["layers"] for entry in entries]
    assert layers[0] == layers[1]
    assert len([name for name in found if name.startswith("blobs/")]) == 5
