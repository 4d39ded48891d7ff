"""inputid says what the real udevadm says, on real kernel devices, of both systemd generations."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from inputid import Capabilities, explain, properties

from ..devices import DEVICES
from .older import PLACE as OLDER_ROOT
from .oracle import Udevadm, build_preload
from .standin import Sysfs
from .uinput import Device, representable
from .vectors import random_capabilities, shrink

pytestmark = pytest.mark.lab

RANDOM_COUNT = 300

Say = Callable[[str], None]


@pytest.fixture(scope="module", autouse=True)
def _quiet_udevd() -> Iterator[None]:
    """Keep udevd from handling hundreds of devices that are gone before it is done."""
    subprocess.run(["udevadm", "control", "--stop-exec-queue"], check=True)
    yield
    subprocess.run(["udevadm", "control", "--start-exec-queue"], check=True)


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_preload(tmp_path_factory.mktemp("preload"))


@pytest.fixture(scope="module")
def say(request: pytest.FixtureRequest) -> Say:
    """Print although the test may pass: a seed nobody saw cannot be repeated."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    return say


def release_of(command: Sequence[str]) -> int:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0].split("~")[0])


@pytest.fixture(scope="module")
def oracles(preload: Path, say: Say) -> list[Udevadm]:
    """The guest's own udevadm and bookworm's."""
    newest = release_of(["udevadm", "--version"])
    oldest = release_of(["chroot", str(OLDER_ROOT), "/bin/udevadm", "--version"])
    assert newest > 253
    assert oldest == 252
    say(f"asking udevadm of systemd {newest} and {oldest}")
    return [Udevadm(newest, preload), Udevadm(oldest, preload, OLDER_ROOT)]


@pytest.fixture(scope="module")
def seed() -> int:
    """What conftest.py has chosen and printed on the host; INPUTID_SEED repeats a run."""
    return int(os.environ["INPUTID_SEED"])


@contextmanager
def registered(wanted: Sequence[Capabilities]) -> Iterator[list[Device]]:
    """Register a device for each; they leave together, since each waits for the kernel's readers."""
    devices: list[Device] = []
    try:
        devices.extend(Device(one) for one in wanted)
        yield devices
    finally:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(Device.close, devices))


def ours(capabilities: Capabilities, systemd: int) -> list[str]:
    return [f"{name}={value}" for name, value in properties(capabilities, systemd).items()]


def differs(udevadm: Udevadm, capabilities: Capabilities) -> bool:
    wanted = representable(capabilities)
    with registered([wanted]) as (device,):
        return udevadm.ask([device.sysfs])[device.sysfs] != ours(wanted, udevadm.release)


def report(udevadm: Udevadm, name: str, capabilities: Capabilities) -> str:
    """The minimal bitmap of a difference, and both verdicts on it."""
    minimal = representable(shrink(capabilities, lambda smaller: differs(udevadm, smaller)))
    with registered([minimal]) as (device,):
        theirs = udevadm.ask([device.sysfs])[device.sysfs]
    lines = [
        f"{name}: systemd {udevadm.release} says {theirs}",
        f"  inputid says {ours(minimal, udevadm.release)}",
        f"  minimal: {minimal.to_json()}",
    ]
    lines += [f"    {step}" for step in explain(minimal, udevadm.release) if step.added]
    return "\n".join(lines)


def compare(oracles: Sequence[Udevadm], named: dict[str, Capabilities]) -> str:
    """Register all, read each back by three ways, ask every udevadm; fail with the differences."""
    wanted = [representable(one) for one in named.values()]
    unequal: list[tuple[Udevadm, str, Capabilities]] = []
    with registered(wanted) as devices:
        for one, device in zip(wanted, devices, strict=True):
            assert Capabilities.from_sysfs(device.sysfs) == one
            assert Capabilities.from_node(device.node) == one
        for udevadm in oracles:
            answers = udevadm.ask([device.sysfs for device in devices]).values()
            unequal += [
                (udevadm, name, one)
                for name, one, lines in zip(named, wanted, answers, strict=True)
                if lines != ours(one, udevadm.release)
            ]
    assert not unequal, "\n".join(report(*one) for one in unequal[:5])
    return f"{len(named)} devices, {len(oracles)} udevadm, every property equal"


@pytest.mark.timeout(600)
def test_real_devices_get_the_properties_of_udevadm(oracles: list[Udevadm], say: Say) -> None:
    say(compare(oracles, {real.name: real.capabilities() for real in DEVICES}))


@pytest.mark.timeout(900)
def test_random_devices_get_the_properties_of_udevadm(
    oracles: list[Udevadm], seed: int, say: Say
) -> None:
    rng = Random(seed)
    say(compare(oracles, {f"random {n}": random_capabilities(rng) for n in range(RANDOM_COUNT)}))


# A base device and, per attribute, texts that change its verdict when they are read otherwise.
BASE = {
    "ev": b"b\n",
    "key": b"7fdb000000000000 0 0 0 0\n",
    "abs": b"3003f\n",
    "rel": b"0\n",
    "properties": b"0\n",
    "bustype": b"0003\n",
}
MOUSE = {"ev": b"7\n", "key": b"ff0000 0 0 0 0\n", "abs": b"0\n", "rel": b"3\n"}
TOUCH = {"key": b"400 0 0 0 0 0\n", "abs": b"3\n"}
TEXTS = (
    *(b"%s", b"%s\n", b"%s\n\n", b"%s\r\n", b"0x%s", b"0X%s", b"+%s", b"-%s"),
    *(
        b" %s",
        b"\n%s",
        b"%s ",
        b"%s  ",
        b"%s\t",
        b"%szz",
        b"zz%s",
        b"%s\n%s",
        b"%s_0",
        b"0b%s",
        b"0o%s",
    ),
    *(b"%s\0", b"%s\0zz", b"%s\n\0", b"\0%s", b"%s %s\0 %s", b"0000000000000000000%s"),
    *(b"1fffffffffffffff%s", b"%s zz", b"%s zz 0 %s", b"zz %s", b"%s %s %s", b"\xff%s"),
    *(b"", b"\n", b"\0", b"-0", b"0x", b"zz", b" ", b"\xff\xfe"),
)
# Other blanks than the separating one: read by 252 and 257, refused in bitmaps by 262.
BLANKS = (b"\t%s", b"\v%s", b"\f%s", b"\r%s", b"\n\t%s", b"\n\r%s")
TARGETS: tuple[tuple[str, bytes, dict[str, bytes]], ...] = (
    ("abs", b"3", TOUCH),
    ("key", b"3", {}),
    ("properties", b"2", {}),
    ("properties", b"22", {}),
    ("ev", b"3", {}),
    ("rel", b"100", {"ev": b"5\n", "key": b"0\n", "abs": b"0\n"}),
    ("bustype", b"18", MOUSE),
)


def garbled(texts: Sequence[bytes]) -> list[dict[str, bytes]]:
    """Every text in every attribute."""
    return [
        BASE | extra | {name: text.replace(b"%s", good)}
        for name, good, extra in TARGETS
        for text in texts
    ]


def lacking() -> list[dict[str, bytes]]:
    """Each attribute missing."""
    return [
        {name: text for name, text in (BASE | extra).items() if name != missing}
        for missing, _, extra in TARGETS
        if missing != "ev"
    ]


def texts_of(capabilities: Capabilities) -> dict[str, bytes]:
    """What sysfs would print if a kernel registered this."""
    form = capabilities.to_mapping()
    texts = {name: str(form.get(name, "0")).encode() + b"\n" for name in BASE if name in form}
    texts["ev"] = str(form.get("ev", "0")).encode()
    texts["properties"] = str(form.get("props", "0")).encode()
    texts["bustype"] = b"%04x\n" % capabilities.bustype
    return texts


def compare_texts(udevadm: Udevadm, folder: Path, cases: Sequence[dict[str, bytes]]) -> str:
    """Ask about a stand-in for /sys; the same tree is read here as a copy."""
    sysfs = Sysfs(folder / "sys")
    paths = [sysfs.add(case) for case in cases]
    answers = udevadm.ask(paths, sysfs.root)
    unequal = []
    for path, case in zip(paths, cases, strict=True):
        copy = sysfs.root / path.relative_to("/sys")
        lines = ours(Capabilities.from_sysfs(copy, word_bits=64), udevadm.release)
        if answers[path] != lines:
            unequal.append(f"{case}\n  udevadm {answers[path]}\n  inputid {lines}")
    assert not unequal, "\n".join(unequal[:5])
    return f"{len(cases)} devices of text, systemd {udevadm.release}, every property equal"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("which", [0, 1], ids=["newest", "252"])
def test_garbled_attributes_are_read_as_udevadm_reads_them(
    oracles: list[Udevadm], which: int, tmp_path: Path, say: Say
) -> None:
    texts = (*TEXTS, *BLANKS) if which == 0 else TEXTS
    say(compare_texts(oracles[which], tmp_path, garbled(texts) + lacking()))


def test_252_reads_a_word_behind_a_blank_which_is_not_followed(
    oracles: list[Udevadm], tmp_path: Path
) -> None:
    sysfs = Sysfs(tmp_path / "sys")
    plain = [sysfs.add(case) for case in garbled([b"%s"] * len(BLANKS))]
    blank = [sysfs.add(case) for case in garbled(BLANKS)]
    answers = oracles[1].ask([*plain, *blank], sysfs.root)
    assert [answers[path] for path in blank] == [answers[path] for path in plain]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("which", [0, 1], ids=["newest", "252"])
def test_bitmaps_no_kernel_would_register_get_the_properties_of_udevadm(
    oracles: list[Udevadm], which: int, tmp_path: Path, seed: int, say: Say
) -> None:
    # Codes without their event type, KEY_RESERVED: a driver may not, a copy or another kernel may.
    rng = Random(seed + 1)
    cases = [texts_of(random_capabilities(rng)) for _ in range(RANDOM_COUNT)]
    say(compare_texts(oracles[which], tmp_path, cases))
