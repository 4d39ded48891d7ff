"""The CDI files of prepared claims, which are also this driver's only memory.

One file per claim, `<vendor>-<claim uid>.json`, holds what the container runtime reads (the edits)
and, in annotations, what the driver needs to carry on after a restart: the claim's identity, each
device's pool, requests and own state. There is no second record that could disagree with it, and
`unprepare` needs nothing but this directory.

Writes are whole: a hidden temporary file, fsync, rename, fsync of the directory. A claim being
released keeps its record under a name the runtime does not read until the handler is done, so that
a crash in between neither loses nor frees its devices.

Rules: CDI specification 0.6.0 (SPEC.md; annotations and dots in the class since 0.6.0), parser.go
of container-device-interface for names, `min. one edit per device` of its validation.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .model import ClaimRef, DeviceNode, Mount, Prepared, PreparedClaim

CDI_VERSION = "0.6.0"
DEFAULT_DIRECTORY = Path("/var/run/cdi")
RELEASING = ".releasing"
UNREADABLE = ".unreadable"

# A device without edits would make the whole file invalid for the runtime; it gets this one and
# its id is never handed out.
PLACEHOLDER_ENV = "DRAPLUGIN_NO_EDITS=1"

_log = logging.getLogger(__name__)
_vendor = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_class = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?\Z")
_uid = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\Z")
_device = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?\Z")


class CdiError(Exception):
    """A CDI file cannot be written or is not usable; the text says which and why."""


class CorruptRecord(CdiError):  # noqa: N818 - says what is wrong
    """The record of a claim exists but cannot be read; prepare must not guess what it held."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that was set aside, and why it could not be read."""

    path: Path
    reason: str


_Stamp = tuple[int, int, int]


class Store:
    """The CDI files of one driver in one directory.

    `kind` is `<vendor>/<class>` (`pads.example.com/controller`). Device ids are
    `<vendor>/<class>=<claim uid>-<device>`, with the share id behind it for a share. All methods
    do blocking file I/O of a few hundred microseconds and may be called from one thread at a time
    for a given claim.
    """

    def __init__(self, directory: Path | str, kind: str) -> None:
        vendor, slash, cls = kind.partition("/")
        if not slash or not _vendor.match(vendor) or not _class.match(cls):
            raise ValueError(f"CDI kind {kind!r} is not <vendor>/<class>")
        self.directory = Path(directory)
        self.kind = kind
        self.vendor = vendor
        self.problems: list[Problem] = []
        self._parsed: dict[Path, tuple[_Stamp, PreparedClaim]] = {}

    def path(self, uid: str) -> Path:
        """Where the claim's file is; raises ValueError for a uid that is no file name."""
        if not _uid.match(uid):
            raise ValueError(f"claim UID {uid!r} is not usable as a file name")
        return self.directory / f"{self.vendor}-{uid}.json"

    def device_id(self, uid: str, device: Prepared) -> str:
        """The fully qualified CDI id of a device of the claim."""
        return f"{self.kind}={_cdi_name(uid, device)}"

    def ids(self, uid: str, device: Prepared) -> tuple[str, ...]:
        """The CDI ids to answer for a prepared device: one, or none where it has no edits."""
        return (self.device_id(uid, device),) if device.has_edits else ()

    def write(self, claim: ClaimRef, devices: Sequence[Prepared]) -> PreparedClaim:
        """Write the claim's file, whatever was there, and return what it now holds.

        Raises CdiError for a device the runtime would refuse, OSError for the file system.
        """
        prepared = PreparedClaim(claim, tuple(devices))
        target = self.path(claim.uid)
        body = json.dumps(self.spec(prepared), indent=1, sort_keys=True).encode() + b"\n"
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        _write_whole(target, body)
        self._parsed.pop(target, None)
        for stale in _leftovers(target):
            stale.unlink(missing_ok=True)
        return prepared

    def read(self, uid: str) -> PreparedClaim | None:
        """What is prepared for the claim; None for unknown or being released.

        Raises CorruptRecord when the file is there but is not one of ours any more.
        """
        path = self.path(uid)
        try:
            return self._parse(path)
        except FileNotFoundError:
            return None

    def claims(self) -> Iterator[PreparedClaim]:
        """Every claim that is prepared, in order of its UID; unreadable files are set aside."""
        for path in self._files(".json"):
            claim = self._parse_or_set_aside(path)
            if claim is not None:
                yield claim

    def held(self) -> Iterator[PreparedClaim]:
        """Prepared claims and those whose release has begun but is not finished."""
        yield from self.claims()
        for path in self._files(".json" + RELEASING):
            claim = self._parse_or_set_aside(path)
            if claim is not None and not self.path(claim.ref.uid).exists():
                yield claim

    def unreadable(self) -> dict[str, Path]:
        """Records that were set aside and not settled since, by claim UID.

        Preparing or unpreparing the claim itself settles it.
        """
        suffix = ".json" + UNREADABLE
        start = len(self.vendor) + 1
        return {path.name[start : -len(suffix)]: path for path in self._files(suffix)}

    def rewrite(self, uid: str, change: Callable[[Prepared], Prepared]) -> bool:
        """Pass each device of the claim through `change`; write only what differs.

        For numbers that moved: running containers keep what they have, the next container start
        reads the file. Returns whether the file changed; False for an unknown claim.
        """
        claim = self.read(uid)
        if claim is None:
            return False
        devices = tuple(change(device) for device in claim.devices)
        if devices == claim.devices:
            return False
        self.write(claim.ref, devices)
        return True

    def begin_release(self, uid: str) -> None:
        """Take the claim's file out of the runtime's sight but keep its record."""
        path = self.path(uid)
        try:
            path.replace(_releasing(path))
        except FileNotFoundError:
            return
        _sync_directory(self.directory)

    def finish_release(self, uid: str) -> None:
        """Forget the claim; unknown claims are fine."""
        path = self.path(uid)
        for stale in (path, *_leftovers(path)):
            stale.unlink(missing_ok=True)
            self._parsed.pop(stale, None)

    def spec(self, claim: PreparedClaim) -> dict[str, Any]:
        """The CDI file's content as a plain dict (pure)."""
        if not claim.devices:
            raise CdiError(f"claim {claim.ref}: no device was prepared")
        names = [_cdi_name(claim.ref.uid, device) for device in claim.devices]
        if len(set(names)) != len(names):
            raise CdiError(f"claim {claim.ref}: a device is prepared twice: {sorted(names)}")
        return {
            "cdiVersion": CDI_VERSION,
            "kind": self.kind,
            "annotations": {
                f"{self.vendor}/claim-namespace": claim.ref.namespace,
                f"{self.vendor}/claim-name": claim.ref.name,
                f"{self.vendor}/claim-uid": claim.ref.uid,
            },
            "devices": [self._device(claim.ref.uid, device) for device in claim.devices],
        }

    def _device(self, uid: str, device: Prepared) -> dict[str, Any]:
        name = _cdi_name(uid, device)
        if not _device.match(name):
            raise CdiError(f"device name {device.device!r} is not usable as a CDI device name")
        return {
            "name": name,
            "annotations": {
                f"{self.vendor}/device": json.dumps(_identity(device), sort_keys=True),
                f"{self.vendor}/state": json.dumps(dict(device.annotations), sort_keys=True),
            },
            "containerEdits": _edits(device),
        }

    def _parse(self, path: Path) -> PreparedClaim:
        # Each prepare looks at all claims of the node; what did not change is not decoded again.
        found = path.stat()
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        known = self._parsed.get(path)
        if known is None or known[0] != stamp:
            known = self._parsed[path] = (stamp, self._decode(path))
        return known[1]

    def _decode(self, path: Path) -> PreparedClaim:
        try:
            body = json.loads(path.read_bytes())
            return self._claim(body) if "annotations" in body else self._foreign(body, path)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptRecord(f"{path}: {error!r}") from error

    def _claim(self, body: Mapping[str, Any]) -> PreparedClaim:
        notes = body["annotations"]
        ref = ClaimRef(
            str(notes[f"{self.vendor}/claim-namespace"]),
            str(notes[f"{self.vendor}/claim-name"]),
            str(notes[f"{self.vendor}/claim-uid"]),
        )
        self.path(ref.uid)
        return PreparedClaim(ref, tuple(self._prepared(entry) for entry in body["devices"]))

    def _foreign(self, body: Mapping[str, Any], path: Path) -> PreparedClaim:
        """A file of this kind that another program wrote, such as the driver this one replaces.

        Its claim is known by UID alone and its devices in no pool, which stands for every pool.
        """
        uid = path.name[len(self.vendor) + 1 :].partition(".json")[0]
        if body["kind"] != self.kind:
            raise KeyError("annotations")
        devices = tuple(
            replace(_edited(entry["containerEdits"]), device=entry["name"].removeprefix(f"{uid}-"))
            for entry in body["devices"]
        )
        return PreparedClaim(ClaimRef("", "", uid), devices)

    def _prepared(self, entry: Mapping[str, Any]) -> Prepared:
        notes = entry["annotations"]
        identity = json.loads(notes[f"{self.vendor}/device"])
        state = json.loads(notes[f"{self.vendor}/state"])
        return replace(
            _edited(entry["containerEdits"]),
            device=str(identity["device"]),
            pool=str(identity["pool"]),
            requests=tuple(identity.get("requests", ())),
            share_id=identity.get("shareID"),
            admin_access=bool(identity.get("adminAccess", False)),
            annotations={str(k): str(v) for k, v in state.items()},
        )

    def _files(self, suffix: str) -> list[Path]:
        try:
            names = sorted(entry.name for entry in os.scandir(self.directory))
        except FileNotFoundError:
            return []
        prefix = f"{self.vendor}-"
        return [
            self.directory / name
            for name in names
            if name.startswith(prefix)
            and name.endswith(suffix)
            and _uid.match(name[len(prefix) : -len(suffix)])
        ]

    def _parse_or_set_aside(self, path: Path) -> PreparedClaim | None:
        try:
            return self._parse(path)
        except FileNotFoundError:
            return None
        except CorruptRecord as error:
            self._set_aside(path, str(error))
            return None

    def _set_aside(self, path: Path, reason: str) -> None:
        aside = path.with_name(path.name + UNREADABLE)
        path.replace(aside)
        self.problems.append(Problem(aside, reason))
        _log.error("unreadable CDI file set aside as %s: %s", aside, reason)


def _leftovers(path: Path) -> tuple[Path, ...]:
    names = (RELEASING, UNREADABLE, RELEASING + UNREADABLE)
    return (*(path.with_name(path.name + name) for name in names), _temporary(path))


def _temporary(path: Path) -> Path:
    # One name for each claim: what a killed process left is overwritten by the next.
    return path.with_name(f".{path.name}.tmp")


def _cdi_name(uid: str, device: Prepared) -> str:
    # A claim may hold several shares of one device; each is a CDI device of its own.
    share = f"-{device.share_id}" if device.share_id is not None else ""
    return f"{uid}-{device.device}{share}"


def _releasing(path: Path) -> Path:
    return path.with_name(path.name + RELEASING)


def _identity(device: Prepared) -> dict[str, Any]:
    identity: dict[str, Any] = {
        "device": device.device,
        "pool": device.pool,
        "requests": list(device.requests),
    }
    if device.share_id is not None:
        identity["shareID"] = device.share_id
    if device.admin_access:
        identity["adminAccess"] = True
    return identity


def _edits(device: Prepared) -> dict[str, Any]:
    edits: dict[str, Any] = {}
    if device.device_nodes:
        edits["deviceNodes"] = [_node(node) for node in device.device_nodes]
    if device.mounts:
        edits["mounts"] = [_mount(mount) for mount in device.mounts]
    if device.env:
        edits["env"] = [f"{name}={value}" for name, value in sorted(device.env.items())]
    return edits or {"env": [PLACEHOLDER_ENV]}


def _edited(edits: Mapping[str, Any]) -> Prepared:
    return Prepared(
        device="",
        pool="",
        device_nodes=tuple(_node_from(n) for n in edits.get("deviceNodes") or ()),
        env=_env_from(edits.get("env") or ()),
        mounts=tuple(_mount_from(m) for m in edits.get("mounts") or ()),
    )


def _node(node: DeviceNode) -> dict[str, Any]:
    fields = {
        "path": node.path,
        "hostPath": node.host_path,
        "type": node.type,
        "major": node.major,
        "minor": node.minor,
        "permissions": node.permissions,
        "fileMode": node.file_mode,
        "uid": node.uid,
        "gid": node.gid,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _node_from(body: Mapping[str, Any]) -> DeviceNode:
    return DeviceNode(
        path=body["path"],
        host_path=body.get("hostPath"),
        type=body.get("type"),
        major=body.get("major"),
        minor=body.get("minor"),
        permissions=body.get("permissions", "rw"),
        file_mode=body.get("fileMode"),
        uid=body.get("uid"),
        gid=body.get("gid"),
    )


def _mount(mount: Mount) -> dict[str, Any]:
    return {
        "hostPath": mount.host_path,
        "containerPath": mount.container_path,
        "options": list(mount.options),
    }


def _mount_from(body: Mapping[str, Any]) -> Mount:
    return Mount(body["hostPath"], body["containerPath"], tuple(body.get("options", ())))


def _env_from(entries: Sequence[str]) -> dict[str, str]:
    pairs = (entry.partition("=") for entry in entries if entry != PLACEHOLDER_ENV)
    return {name: value for name, _, value in pairs}


def _write_whole(target: Path, body: bytes) -> None:
    # The runtime's watcher ignores names without .json, so it never sees a half-written file.
    temporary = _temporary(target)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def with_requests(device: Prepared, requests: Sequence[str]) -> Prepared:
    """The device with its requests set, subrequest suffixes stripped and repeats removed."""
    bases = dict.fromkeys(name.partition("/")[0] for name in requests)
    return replace(device, requests=tuple(bases))
