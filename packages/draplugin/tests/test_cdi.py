"""The CDI files: what the runtime reads, what the driver gets back, and what damage does."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from draplugin import ClaimRef, DeviceNode, Mount, Prepared, PreparedClaim, cdi

from .builders import ref

KIND = "pads.example.com/controller"
NODE = DeviceNode("/dev/input/event7", type="c", major=13, minor=71, file_mode=0o666)
PAD = Prepared(
    "pad-1",
    "node-1",
    ("pad",),
    device_nodes=(NODE,),
    env={"PAD": "1"},
    mounts=(Mount("/host", "/inside"),),
    annotations={"inputs": '["key"]', "example.com/axes": "{}"},
    share_id="s",
)


@pytest.fixture
def store(tmp_path: Path) -> cdi.Store:
    return cdi.Store(tmp_path / "cdi", KIND)


def files(store: cdi.Store) -> list[str]:
    return sorted(path.name for path in store.directory.iterdir())


def test_the_file_is_what_the_specification_asks_for(store: cdi.Store) -> None:
    claim = ref()
    store.write(claim, [replace(PAD, share_id=None)])

    assert files(store) == [f"pads.example.com-{claim.uid}.json"]
    assert json.loads(store.path(claim.uid).read_text()) == {
        "cdiVersion": "0.6.0",
        "kind": KIND,
        "annotations": {
            "pads.example.com/claim-name": "claim-1",
            "pads.example.com/claim-namespace": "default",
            "pads.example.com/claim-uid": claim.uid,
        },
        "devices": [
            {
                "name": f"{claim.uid}-pad-1",
                "annotations": {
                    "pads.example.com/device": '{"device": "pad-1", "pool": "node-1", "requests": ["pad"]}',
                    "pads.example.com/state": '{"example.com/axes": "{}", "inputs": "[\\"key\\"]"}',
                },
                "containerEdits": {
                    "deviceNodes": [
                        {
                            "path": "/dev/input/event7",
                            "type": "c",
                            "major": 13,
                            "minor": 71,
                            "permissions": "rw",
                            "fileMode": 0o666,
                        }
                    ],
                    "env": ["PAD=1"],
                    "mounts": [
                        {
                            "hostPath": "/host",
                            "containerPath": "/inside",
                            "options": ["ro", "nosuid", "nodev", "bind"],
                        }
                    ],
                },
            }
        ],
    }


@pytest.mark.parametrize(
    "device",
    [
        PAD,
        Prepared("bare", "node-1"),
        Prepared("admin", "node-1", admin_access=True, env={"A": "b=c"}),
        Prepared("moved", "p/q", device_nodes=(DeviceNode("/dev/a", "/dev/b", uid=1, gid=2),)),
    ],
    ids=lambda device: device.device,
)
def test_everything_comes_back_as_it_was_written(store: cdi.Store, device: Prepared) -> None:
    store.write(ref(), [device])
    assert list(store.claims()) == [PreparedClaim(ref(), (device,))]
    assert store.read(ref().uid) == PreparedClaim(ref(), (device,))


def test_a_device_without_edits_gets_no_id_but_is_remembered(store: cdi.Store) -> None:
    bare = Prepared("bare", "node-1")
    store.write(ref(), [bare, PAD])
    assert store.ids(ref().uid, bare) == ()
    spec = json.loads(store.path(ref().uid).read_text())
    assert all(device["containerEdits"] for device in spec["devices"])


def test_two_shares_of_one_device_are_two_cdi_devices(store: cdi.Store) -> None:
    other = replace(PAD, share_id="t")
    store.write(ref(), [PAD, other])
    assert store.ids(ref().uid, PAD) != store.ids(ref().uid, other)


def test_written_again_it_is_the_same_file_to_the_byte(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    first = store.path(ref().uid).read_bytes()
    store.write(ref(), [PAD])
    assert store.path(ref().uid).read_bytes() == first
    assert files(store) == [store.path(ref().uid).name]


def test_a_rewrite_changes_only_what_differs(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    moved = replace(NODE, minor=80)

    def renumber(device: Prepared) -> Prepared:
        return replace(device, device_nodes=(moved,))

    assert store.rewrite(ref().uid, renumber)
    before = store.path(ref().uid).stat().st_ino
    assert not store.rewrite(ref().uid, renumber)
    assert store.path(ref().uid).stat().st_ino == before
    assert [d.device_nodes for c in store.claims() for d in c.devices] == [(moved,)]


def test_rewriting_state_alone_counts_as_a_change(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    assert store.rewrite(ref().uid, lambda d: replace(d, annotations={"inputs": "[]"}))


def test_an_unknown_claim_is_not_rewritten(store: cdi.Store) -> None:
    assert not store.rewrite(ref().uid, lambda device: device)
    assert store.read(ref().uid) is None
    assert list(store.claims()) == []


def test_a_claim_being_released_is_hidden_from_the_runtime_but_still_held(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    store.begin_release(ref().uid)
    assert [name for name in files(store) if name.endswith((".json", ".yaml"))] == []
    assert list(store.claims()) == []
    assert [claim.ref for claim in store.held()] == [ref()]
    store.finish_release(ref().uid)
    assert files(store) == []


def test_releasing_what_is_unknown_is_fine(store: cdi.Store) -> None:
    store.directory.mkdir()
    store.begin_release(ref().uid)
    store.finish_release(ref().uid)
    assert files(store) == []


def test_a_claim_prepared_again_while_its_release_was_cut_short_is_held_once(
    store: cdi.Store,
) -> None:
    store.write(ref(), [PAD])
    store.begin_release(ref().uid)
    store.write(ref(), [PAD])
    assert [claim.ref for claim in store.held()] == [ref()]
    assert files(store) == [store.path(ref().uid).name]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"devices": []}', b"\xff\xfe"])
def test_an_unreadable_file_is_set_aside_and_reported(store: cdi.Store, damage: bytes) -> None:
    store.write(ref(1), [PAD])
    store.write(ref(2), [PAD])
    store.path(ref(1).uid).write_bytes(damage)

    assert [claim.ref for claim in store.claims()] == [ref(2)]
    (problem,) = store.problems
    assert problem.path.name == store.path(ref(1).uid).name + ".unreadable"
    assert problem.path.read_bytes() == damage


def test_reading_a_damaged_record_says_so(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    store.path(ref().uid).write_text("{")
    with pytest.raises(cdi.CorruptRecord, match=r"claim|json"):
        store.read(ref().uid)


def test_files_of_others_are_left_alone(store: cdi.Store) -> None:
    store.directory.mkdir()
    for name in ("nvidia.yaml", "pads.example.com-not a uid!.json", "pads.example.com.json"):
        (store.directory / name).write_text("{")
    assert list(store.held()) == []
    assert len(files(store)) == 3


@pytest.mark.parametrize(
    "uid", ["", "..", "../../etc/passwd", "a/b", "a\0b", "-a", "a" * 64, "ä", ".hidden"]
)
def test_a_uid_that_is_no_file_name_never_becomes_one(store: cdi.Store, uid: str) -> None:
    with pytest.raises(ValueError, match="file name"):
        store.write(ClaimRef("ns", "c", uid), [PAD])
    assert not store.directory.exists()


@pytest.mark.parametrize("name", ["", "pad 1", "pad/1", "pad=1", "pad-"])
def test_a_device_name_the_runtime_would_refuse_is_refused_here(
    store: cdi.Store, name: str
) -> None:
    with pytest.raises(cdi.CdiError, match="device name"):
        store.write(ref(), [replace(PAD, device=name, share_id=None)])
    assert list(store.claims()) == []


@pytest.mark.parametrize("kind", ["pads", "/x", "x/", "-x/y", "x/y/z", "1x/y", "x/ y"])
def test_a_kind_that_is_none_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ValueError, match="vendor"):
        cdi.Store(tmp_path, kind)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    store: cdi.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(ref(), [PAD])
    before = store.path(ref().uid).read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write(ref(), [replace(PAD, env={"PAD": "2"})])
    assert store.path(ref().uid).read_bytes() == before
    assert files(store) == [store.path(ref().uid).name]


def test_files_are_readable_by_root_alone(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    assert store.path(ref().uid).stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_change_is_read_anew(store: cdi.Store) -> None:
    store.write(ref(), [PAD])
    assert [d.device for c in store.claims() for d in c.devices] == ["pad-1"]
    other = cdi.Store(store.directory, KIND)
    other.write(ref(), [replace(PAD, device="pad-2")])
    assert [d.device for c in store.claims() for d in c.devices] == ["pad-2"]
    other.finish_release(ref().uid)
    assert list(store.claims()) == []
