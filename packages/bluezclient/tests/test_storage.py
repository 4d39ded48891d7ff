"""Bonds on disk: when one is whole, what is never written, and bytes in, bytes out."""

from __future__ import annotations

import asyncio
import struct
import tempfile
from pathlib import Path

import pytest
from bluezclient import Address
from bluezclient.storage import (
    AdapterFiles,
    Bond,
    read_adapter_files,
    read_bond,
    read_bonds,
    restore,
)
from bluezclient.storage.kernel import KernelAdapter, parse_device_info, parse_device_list
from bluezclient.storage.watch import BondSnapshot, Sealer, watch_bonds
from hypothesis import given
from hypothesis import strategies as st

from .conftest import ADAPTER, PAD

KEY = "0123456789ABCDEF0123456789ABCDEF"
HIDP, HOG = "00001124-0000-1000-8000-00805f9b34fb", "00001812-0000-1000-8000-00805f9b34fb"
REMOTE = Address("C4:11:22:33:44:55")

PAD_INFO = f"""[General]
Name=DualSense Wireless Controller
Class=0x002508
SupportedTechnologies=BR/EDR;
Trusted=true
Services={HIDP};

[LinkKey]
Key={KEY}
Type=4
PINLength=0
"""
PAD_CACHE = "[General]\nName=DualSense\n\n[ServiceRecords]\n0x00010001=35120A\n"
REMOTE_INFO = f"""[General]
Name=Remote
Appearance=0x0180
AddressType=static
SupportedTechnologies=LE;
Services={HOG};

[PeripheralLongTermKey]
Key={KEY}
Authenticated=0
EncSize=16
EDiv=0
Rand=0
"""


def bond(
    info: str, cache: str = "", device: Address = PAD, more: dict[str, str] | None = None
) -> Bond:
    contents = {"info": info, "cache": cache, **(more or {})}
    return Bond(ADAPTER, device, {n: text.encode() for n, text in contents.items() if text})


def place(root: Path, held: Bond, folder: str = ADAPTER.colons) -> Path:
    """The bond's files as bluetoothd would have left them."""
    home = root / folder / held.device.colons
    home.mkdir(parents=True)
    (root / folder / "cache").mkdir(exist_ok=True)
    for name, data in held.files.items():
        path = root / folder / "cache" / held.device.colons if name == "cache" else home / name
        path.write_bytes(data)
    return home


# -- when a bond is whole ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "missing"),
    [
        pytest.param(bond(PAD_INFO, PAD_CACHE), (), id="a pad with its records"),
        pytest.param(bond(PAD_INFO), ("ServiceRecords",), id="a pad without (bluez PR#1195)"),
        pytest.param(
            bond(PAD_INFO.replace(f"Services={HIDP};\n", ""), PAD_CACHE),
            ("Services",),
            id="a pad whose services are not known yet",
        ),
        pytest.param(
            bond(PAD_INFO.replace("SupportedTechnologies=BR/EDR;\n", ""), PAD_CACHE),
            ("SupportedTechnologies",),
            id="keys before the general part",
        ),
        pytest.param(
            bond(PAD_INFO.partition("[LinkKey]")[0], PAD_CACHE), ("key",), id="a pad without a key"
        ),
        pytest.param(
            bond(PAD_INFO.replace(KEY, KEY[:31]), PAD_CACHE), ("key",), id="a key cut short"
        ),
        pytest.param(bond(REMOTE_INFO, device=REMOTE), (), id="an LE remote"),
        pytest.param(
            bond(REMOTE_INFO.replace("AddressType=static\n", ""), device=REMOTE),
            ("AddressType",),
            id="an LE remote of unknown address type",
        ),
        pytest.param(
            bond(REMOTE_INFO.replace("Rand=0\n", ""), device=REMOTE),
            ("key",),
            id="an LE key without its Rand",
        ),
        pytest.param(
            bond(PAD_INFO.replace("[LinkKey]", "[LongTermKey]") + "Rand=0\n", PAD_CACHE),
            ("key",),
            id="HID on the bearer that has no key (bluez #2034)",
        ),
        pytest.param(
            bond(f"[General]\nSupportedTechnologies=BR/EDR;\n[LinkKey]\nKey={KEY}\n"),
            (),
            id="a device that is no input device",
        ),
        pytest.param(bond("\x00\xff[", PAD_CACHE), ("info",), id="rubbish"),
        pytest.param(bond("", PAD_CACHE), ("info",), id="nothing"),
    ],
)
def test_what_is_missing_of(held: Bond, missing: tuple[str, ...]) -> None:
    assert held.missing == missing
    assert held.sealed == (not missing)


@pytest.mark.parametrize(
    ("held", "groups"),
    [
        (bond(PAD_INFO), {"LinkKey"}),
        (bond(REMOTE_INFO), {"PeripheralLongTermKey"}),
        (bond(PAD_INFO.replace("Key=", "NoKey=")), set()),
    ],
)
def test_the_key_groups(held: Bond, groups: set[str]) -> None:
    assert held.key_groups == groups


def test_no_key_is_ever_shown() -> None:
    assert KEY not in repr(bond(PAD_INFO, PAD_CACHE))
    assert KEY not in str(bond(PAD_INFO, PAD_CACHE))


@given(st.binary(max_size=400))
def test_any_bytes_can_be_judged(content: bytes) -> None:
    held = Bond(ADAPTER, PAD, {"info": content, "cache": content})
    assert held.sealed == (not held.missing)


@given(st.lists(st.tuples(st.sampled_from(PAD_INFO.splitlines()), st.booleans())))
def test_a_shuffled_or_cut_info_is_never_sealed_without_a_key(
    lines: list[tuple[str, bool]],
) -> None:
    text = "\n".join(line for line, kept in lines if kept)
    held = bond(text, PAD_CACHE)
    assert not held.sealed or held.key_groups


# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [ADAPTER.colons, f"static-{ADAPTER.colons}"])
def test_a_bond_is_read_byte_for_byte(tmp_path: Path, folder: str) -> None:
    held = bond(PAD_INFO, PAD_CACHE, more={"attributes": "[0001]\n"})
    place(tmp_path, held, folder)
    assert read_bond(tmp_path, ADAPTER, PAD) == held
    assert read_bonds(tmp_path, ADAPTER) == (held,)


def test_temporary_empty_and_linked_files_are_not_part_of_a_bond(tmp_path: Path) -> None:
    home = place(tmp_path, bond(PAD_INFO))
    (home / "info.AB12CD").write_text("half")
    (home / "attributes").touch()
    (home / "ccc").symlink_to("/etc/passwd")
    (home / "folder").mkdir()
    held = read_bond(tmp_path, ADAPTER, PAD)
    assert held is not None
    assert list(held.files) == ["info"]


@pytest.mark.parametrize("content", [None, ""])
def test_no_info_or_an_empty_one_is_no_bond(tmp_path: Path, content: str | None) -> None:
    home = place(tmp_path, bond("", PAD_CACHE))
    if content is not None:
        (home / "info").write_text(content)
    assert read_bond(tmp_path, ADAPTER, PAD) is None


def test_neighbours_devices_in_the_cache_are_not_bonds(tmp_path: Path) -> None:
    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    (tmp_path / ADAPTER.colons / "cache" / "11:22:33:44:55:66").write_text("[General]\nName=TV\n")
    (tmp_path / ADAPTER.colons / "11:22:33:44:55:67").mkdir()
    assert [held.device for held in read_bonds(tmp_path, ADAPTER)] == [PAD]


# -- restoring ---------------------------------------------------------------------------------


def modes(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): f"{path.stat().st_mode & 0o777:o}"
        for path in sorted(root.rglob("*"))
    }


def test_what_was_read_is_restored_byte_for_byte_and_private(tmp_path: Path) -> None:
    saved = [
        bond(PAD_INFO, PAD_CACHE, more={"attributes": "[0001]\n"}),
        bond(REMOTE_INFO, device=REMOTE),
    ]
    report = restore(tmp_path, ADAPTER, saved)
    assert report.written == {PAD, REMOTE}
    assert not report.refused
    assert not report.incomplete
    assert sorted(read_bonds(tmp_path, ADAPTER), key=lambda b: b.device) == saved
    assert modes(tmp_path) == {
        ADAPTER.colons: "700",
        f"{ADAPTER}/cache": "700",
        f"{ADAPTER}/cache/{PAD}": "600",
        f"{ADAPTER}/{PAD}": "700",
        f"{ADAPTER}/{PAD}/attributes": "600",
        f"{ADAPTER}/{PAD}/info": "600",
        f"{ADAPTER}/{REMOTE}": "700",
        f"{ADAPTER}/{REMOTE}/info": "600",
    }


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        pytest.param(bond(PAD_INFO.replace(KEY, "xyz")), "not 32 hexadecimal", id="no hex"),
        pytest.param(bond(PAD_INFO.replace(KEY, KEY * 2)), "not 32 hexadecimal", id="too long"),
        pytest.param(bond(REMOTE_INFO.replace("Rand=0\n", "")), "has no Rand", id="no Rand"),
        pytest.param(bond(PAD_INFO.partition("[LinkKey]")[0]), "no key", id="no key group"),
        pytest.param(bond(""), "no key", id="no info"),
        pytest.param(bond("no section"), "not a key file", id="rubbish"),
        pytest.param(
            bond(REMOTE_INFO, device=Address("5A:11:22:33:44:55")), "private random", id="an RPA"
        ),
        pytest.param(bond(PAD_INFO, device=Address.ZERO), "address is zero", id="zero"),
        pytest.param(bond(PAD_INFO, more={"../x": "x"}), "no file name", id="a way out"),
        pytest.param(bond(PAD_INFO, more={"a/b": "x"}), "no file name", id="a path"),
        pytest.param(bond(PAD_INFO, more={"..": "x"}), "no file name", id="the parent"),
        pytest.param(bond(PAD_INFO, more={"info.AB12CD": "x"}), "no file name", id="a temporary"),
        pytest.param(
            Bond(REMOTE, PAD, {"info": PAD_INFO.encode()}), "belongs to", id="another adapter's"
        ),
    ],
)
def test_bad_material_is_refused_by_name_and_the_rest_restored(
    tmp_path: Path, bad: Bond, why: str
) -> None:
    good = bond(REMOTE_INFO, device=Address("C4:00:00:00:00:01"))
    report = restore(tmp_path, ADAPTER, [bad, good])
    assert set(report.refused) == {bad.device}
    assert why in report.refused[bad.device]
    assert KEY not in report.refused[bad.device]
    assert report.written == {good.device}
    assert [path.name for path in (tmp_path / ADAPTER.colons).iterdir()] == [good.device.colons]
    assert [path.name for path in tmp_path.iterdir()] == [ADAPTER.colons]


@pytest.mark.parametrize(
    ("on_disk", "prefer", "winner"),
    [
        pytest.param(PAD_INFO + "#disk\n", "disk", "disk", id="disk with keys wins"),
        pytest.param(PAD_INFO + "#disk\n", "bond", "bond", id="unless the bond is preferred"),
        pytest.param("[General]\nName=x\n", "disk", "bond", id="disk without keys loses"),
        pytest.param("", "disk", "bond", id="an empty info loses"),
    ],
)
def test_who_wins(tmp_path: Path, on_disk: str, prefer: str, winner: str) -> None:
    place(tmp_path, bond("x", PAD_CACHE))
    (tmp_path / ADAPTER.colons / PAD.colons / "info").write_text(on_disk)
    report = restore(tmp_path, ADAPTER, [bond(PAD_INFO, PAD_CACHE)], prefer=prefer)  # type: ignore[arg-type]
    held = read_bond(tmp_path, ADAPTER, PAD)
    assert held is not None
    assert held.files["info"].decode() == (on_disk if winner == "disk" else PAD_INFO)
    assert (report.kept if winner == "disk" else report.written) == {PAD}


@given(
    st.dictionaries(
        st.text(max_size=12) | st.sampled_from(["info", "cache", "../info", "/etc/x", "..", "."]),
        st.binary(max_size=20) | st.just(PAD_INFO.encode()),
    )
)
def test_whatever_the_material_nothing_is_written_outside_and_no_device_without_a_key(
    files: dict[str, bytes],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "bluetooth")
        root.mkdir()
        report = restore(root, ADAPTER, [Bond(ADAPTER, PAD, files)])
        assert [path.name for path in Path(folder).iterdir()] == ["bluetooth"]
        homes = [path for path in root.glob("*/*") if path.name != "cache"]
        assert (PAD in report.refused) == (homes == [])
        for home in homes:
            assert home == root / ADAPTER.colons / PAD.colons
            assert read_bonds(root, ADAPTER)[0].files["info"] == files["info"]


def test_an_empty_cache_is_never_written_and_the_lack_is_reported(tmp_path: Path) -> None:
    report = restore(
        tmp_path, ADAPTER, [Bond(ADAPTER, PAD, {"info": PAD_INFO.encode(), "cache": b""})]
    )
    assert report.incomplete == {PAD: ("ServiceRecords",)}
    assert not (tmp_path / ADAPTER.colons / "cache").exists()


def test_a_device_unpaired_while_its_adapter_was_away_is_taken_off_the_disk(
    tmp_path: Path,
) -> None:
    place(tmp_path, bond(PAD_INFO, PAD_CACHE))
    report = restore(tmp_path, ADAPTER, [], unpaired=[PAD, REMOTE])
    assert report.removed == {PAD}
    assert modes(tmp_path).keys() == {ADAPTER.colons, f"{ADAPTER}/cache"}


def test_a_static_adapter_its_identity_and_the_addresses_file_are_restored(tmp_path: Path) -> None:
    restore(
        tmp_path,
        ADAPTER,
        [bond(REMOTE_INFO, device=REMOTE)],
        static=True,
        identity=b"[General]\n",
        addresses=b"[Static]\n",
    )
    assert modes(tmp_path) == {
        "addresses": "600",
        f"static-{ADAPTER}": "700",
        f"static-{ADAPTER}/{REMOTE}": "700",
        f"static-{ADAPTER}/{REMOTE}/info": "600",
        f"static-{ADAPTER}/identity": "600",
    }
    files = read_adapter_files(tmp_path, ADAPTER)
    assert files == AdapterFiles(static=True, identity=b"[General]\n", addresses=b"[Static]\n")
    assert "General" not in repr(files)
    assert read_adapter_files(tmp_path, REMOTE) == AdapterFiles(addresses=b"[Static]\n")


# -- following ---------------------------------------------------------------------------------

WHOLE = bond(PAD_INFO, PAD_CACHE)
PARTIAL = bond(PAD_INFO)
CHURNED = bond(PAD_INFO, PAD_CACHE + "[NameResolving]\nFailedTime=1\n")
REKEYED = bond(PAD_INFO.replace(KEY, KEY[::-1]), PAD_CACHE)

# Steps: (time, "change"), or (time, what is read then, Bonded, is the snapshot complete or None).


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [(0.0, "change"), (1.0, "change"), (2.5, WHOLE, True, True)],
            id="a sealed bond is given out after 1.5 quiet seconds",
        ),
        pytest.param(
            [(0.0, "change"), (1.5, PARTIAL, True, None), (3.0, WHOLE, True, True)],
            id="an unsealed one is looked at again",
        ),
        pytest.param(
            [
                (0.0, "change"),
                *((1.5 * n, PARTIAL, True, None) for n in range(1, 7)),
                (10.0, PARTIAL, True, False),
            ],
            id="and given out as it is after 10 seconds",
        ),
        pytest.param(
            [
                (0.0, "change"),
                *((1.5 * n, WHOLE, False, None) for n in range(1, 7)),
                (10.0, WHOLE, False, None),
                (20.0, WHOLE, False, None),
                (30.0, WHOLE, True, True),
            ],
            id="but never before bluetoothd calls it bonded, however late that is",
        ),
        pytest.param(
            [
                (0.0, "change"),
                (1.5, WHOLE, True, True),
                (20.0, "change"),
                (21.5, WHOLE, True, None),
            ],
            id="the same bytes are not given out twice",
        ),
        pytest.param(
            [
                (0.0, "change"),
                (1.5, WHOLE, True, True),
                (5.0, "change"),
                (6.5, CHURNED, True, None),
                (31.5, CHURNED, True, True),
            ],
            id="churn waits for its 30 seconds",
        ),
        pytest.param(
            [
                (0.0, "change"),
                (1.5, WHOLE, True, True),
                (5.0, "change"),
                (6.5, REKEYED, True, True),
            ],
            id="a new key does not wait",
        ),
        pytest.param(
            [(0.0, "change"), (1.5, None, True, None), (30.0, "change"), (31.5, None, True, None)],
            id="a vanished directory says nothing",
        ),
    ],
)
def test_sealing(steps: list[tuple[object, ...]]) -> None:
    sealer = Sealer()
    for now, *step in steps:
        assert isinstance(now, float)
        if step == ["change"]:
            sealer.changed(PAD, now)
            continue
        held, bonded, complete = step
        assert sealer.next_look() == now
        assert sealer.due(now) == [PAD]
        given = sealer.judge(PAD, held, bool(bonded), now)  # type: ignore[arg-type]
        assert (given and given.complete) == complete
        assert given is None or given.bond is held


async def test_a_bond_written_the_way_bluetoothd_writes_is_given_out_once(tmp_path: Path) -> None:
    """GLib: an empty file first, then a temporary one renamed over it; the cache comes later."""
    snapshots = watch_bonds(tmp_path, ADAPTER, bonded=lambda _: True, quiet=0.2)
    given = asyncio.ensure_future(anext(snapshots))
    await asyncio.sleep(0)
    home = tmp_path / ADAPTER.colons / PAD.colons
    home.mkdir(parents=True)
    await asyncio.sleep(0)
    (home / "info").touch()
    (home / "info.AB12CD").write_text(PAD_INFO)
    (home / "info.AB12CD").rename(home / "info")
    (tmp_path / ADAPTER.colons / "cache").mkdir()
    await asyncio.sleep(0)
    cache = tmp_path / ADAPTER.colons / "cache" / PAD.colons
    cache.with_name("new").write_text(PAD_CACHE)
    cache.with_name("new").rename(cache)
    assert await given == BondSnapshot(bond(PAD_INFO, PAD_CACHE), True)
    await snapshots.aclose()  # type: ignore[attr-defined]


# -- the kernel --------------------------------------------------------------------------------


def test_the_kernels_list_of_adapters_is_read() -> None:
    reply = struct.pack("=H2x", 2) + struct.pack("=H2xI", 0, 1) + struct.pack("=H2xI", 3, 0)
    assert parse_device_list(reply + bytes(8 * 14)) == [0, 3]


@pytest.mark.parametrize(
    ("octets", "address"),
    [("2792 6669 4a04", ADAPTER), ("0000 0000 0000", None)],
)
def test_a_zero_address_is_not_yet(octets: str, address: Address | None) -> None:
    reply = struct.pack("=H8s", 1, b"hci1") + bytes.fromhex(octets) + bytes(112)
    assert parse_device_info(reply) == KernelAdapter(1, address)
