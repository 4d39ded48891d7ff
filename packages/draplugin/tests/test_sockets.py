"""Socket names that fit for every driver, and taking a socket over without losing it."""

from __future__ import annotations

import os
import socket
import string
import uuid
from pathlib import Path

import pytest
from draplugin.site import PLUGINS, REGISTRY
from draplugin.sockets import (
    LIMIT,
    SocketPathTooLong,
    Sockets,
    answers,
    check_driver_name,
    hidden_name,
    place,
    socket_names,
    sweep,
)
from draplugin.wire import SocketServer
from hypothesis import given
from hypothesis import strategies as st

LETTERS = string.ascii_lowercase + string.digits
driver_names = st.integers(1, 63).flatmap(lambda n: st.text(LETTERS, min_size=n, max_size=n))
uids = st.uuids().map(str)


def names(driver: str, uid: str | None) -> Sockets:
    return socket_names(driver, PLUGINS / driver, REGISTRY, uid)


@given(driver_names, st.none() | uids)
def test_every_driver_name_fits_the_kubelets_directories(driver: str, uid: str | None) -> None:
    found = names(driver, uid)
    assert len(os.fsencode(found.registration)) <= LIMIT
    assert len(os.fsencode(found.dra)) <= LIMIT
    assert found.registration.name.endswith("-reg.sock")
    assert not found.registration.name.startswith(".")


@given(driver_names, uids, uids)
def test_names_are_the_same_for_a_pod_and_differ_between_pods(
    driver: str, one: str, other: str
) -> None:
    assert names(driver, one) == names(driver, one)
    if one != other:
        assert names(driver, one).registration != names(driver, other).registration
        assert names(driver, one).dra != names(driver, other).dra


@given(driver_names, driver_names, uids)
def test_two_drivers_never_share_a_registration_socket(a: str, b: str, uid: str) -> None:
    if a != b:
        assert names(a, uid).registration != names(b, uid).registration


def test_without_a_pod_uid_the_names_are_the_fixed_ones() -> None:
    found = names("a.example.com", None)
    assert found.registration == REGISTRY / "a.example.com-reg.sock"
    assert found.dra == PLUGINS / "a.example.com" / "dra.sock"


def test_the_whole_uid_is_in_the_name_where_it_fits() -> None:
    uid = str(uuid.UUID(int=7))
    found = names("a.example.com", uid)
    assert found.registration.name == f"a.example.com-{uid}-reg.sock"
    assert found.dra.name == f"dra-{uid}.sock"


def test_exactly_the_limit_is_bindable_and_one_more_is_not(tmp_path: Path) -> None:
    room = LIMIT - len(os.fsencode(tmp_path)) - 1
    with socket.socket(socket.AF_UNIX) as probe:
        probe.bind(str(tmp_path / ("x" * room)))
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(OSError, match="too long"):
        probe.bind(str(tmp_path / ("x" * (room + 1))))


def test_a_directory_without_room_says_by_how_much() -> None:
    deep = Path("/" + "d" * 100)
    with pytest.raises(SocketPathTooLong, match=r"is 15 bytes too long .*limit 107"):
        socket_names("driver-name", deep, deep)


@pytest.mark.parametrize("name", ["", "A", "a..b", "-a", "a-", "a_b", "a/b", "x" * 64, "a\n", "ä"])
def test_a_driver_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="DNS subdomain"):
        check_driver_name(name)


def listening(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    return server


def contents(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def dead(path: Path) -> None:
    listening(path).close()


def test_a_socket_taken_over_is_not_removed_by_its_old_owner(kubelet_root: Path) -> None:
    target = kubelet_root / "dra.sock"
    hidden = hidden_name(target)
    with listening(hidden):
        old = place(hidden, target)
        successor = hidden_name(target)
        with listening(successor):
            new = place(successor, target)
            assert not old.remove()
            assert target.is_socket()
            assert new.remove()
            assert not target.exists()


def test_hidden_names_begin_with_a_dot_and_never_repeat(kubelet_root: Path) -> None:
    made = {hidden_name(kubelet_root / "dra.sock").name for _ in range(50)}
    assert len(made) == 50
    assert all(name.startswith(".") for name in made)


def test_the_sweep_takes_dead_sockets_of_this_driver_only(kubelet_root: Path) -> None:
    registry, plugins = kubelet_root / "r", kubelet_root / "p"
    registry.mkdir()
    plugins.mkdir()
    uid = str(uuid.UUID(int=1))
    mine = [registry / "d.x-reg.sock", registry / f"d.x-{uid}-reg.sock", plugins / "dra.sock"]
    mine += [plugins / f"dra-{uid}.sock", plugins / ".dab12z9"]
    theirs = [registry / "other-reg.sock", registry / f"d.x-y-{uid}-reg.sock"]
    for path in (*mine, *theirs):
        dead(path)
    (plugins / "data.json").write_text("{}")
    assert sorted(sweep("d.x", plugins, registry)) == sorted(mine)
    assert all(path.exists() for path in theirs)
    assert (plugins / "data.json").exists()


@pytest.mark.parametrize("length", [20, 40, 50])
def test_the_sweep_takes_the_dead_sockets_of_a_pods_instance_whatever_their_names(
    kubelet_root: Path, length: int
) -> None:
    """Long driver names leave no room for a UID in them; kill -9 leaves their sockets all the same."""
    driver, uid = "d" * length, str(uuid.UUID(int=1))
    # As long as the kubelet's own.
    registry = kubelet_root / "r".ljust(33 - len(str(kubelet_root)), "r")
    plugins = kubelet_root / "p".ljust(24 - len(str(kubelet_root)), "p") / driver
    for directory in (registry, plugins):
        directory.mkdir(parents=True)
    names = socket_names(driver, plugins, registry, uid)
    for path in (names.registration, names.dra):
        dead(path)
    assert sorted(sweep(driver, plugins, registry)) == sorted([names.registration, names.dra])


async def test_a_server_serves_on_the_longest_path_there_can_be(kubelet_root: Path) -> None:
    directory = kubelet_root / ("d" * (LIMIT - len(str(kubelet_root)) - len("//dra.sock")))
    directory.mkdir()
    path = directory / "dra.sock"
    assert len(str(path)) == LIMIT
    server = SocketServer([])
    await server.start(path)
    assert answers(path)
    await server.stop(0)
    assert contents(directory) == []


async def test_a_server_that_cannot_take_its_place_leaves_nothing(kubelet_root: Path) -> None:
    (kubelet_root / "dra.sock").mkdir()
    server = SocketServer([])
    with pytest.raises(IsADirectoryError, match="is a directory; remove it"):
        await server.start(kubelet_root / "dra.sock")
    assert contents(kubelet_root) == ["dra.sock"]


def test_the_sweep_leaves_what_answers(kubelet_root: Path) -> None:
    live = kubelet_root / "d.x-reg.sock"
    with listening(live):
        assert sweep("d.x", kubelet_root, kubelet_root) == []
        assert live.exists()
