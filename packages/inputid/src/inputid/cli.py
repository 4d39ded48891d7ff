"""The command ``inputid``: what udev would say about nodes, directories and dumps."""

from __future__ import annotations

import argparse
import os
import stat
import sys

from . import __version__, dumps, props, rules, sources
from .capabilities import Capabilities
from .device import Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLASS_DIRECTORY = "/sys/class/input"
NODE_DIRECTORY = "/dev/input"

_EPILOG = """\
Text output is udevadm info's: P: is the path below /sys, N: the node below /dev, E: a property, and
an empty line ends a device. Lines starting with # are ours. --json prints one object a line: name,
path, node, classes, properties, capabilities, and with --explain also explain.
Exit status: 0, or 1 when something could not be read (the others are still printed), or 2 for wrong
usage."""


class _FailedError(Exception):
    """One source could not be read; the text is what to tell the user."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="inputid",
        description="Print the ID_INPUT properties udev would give to input devices.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="a node (/dev/input/event3) or a sysfs directory, real or copied",
    )
    parser.add_argument("--all", action="store_true", help="every event node of this machine")
    parser.add_argument(
        "--from",
        dest="dumps",
        action="append",
        default=[],
        metavar="FILE",
        help="/proc/bus/input/devices, evemu-describe or libinput record; - is standard input",
    )
    parser.add_argument(
        "--systemd",
        type=_release,
        default=rules.NEWEST_CHANGE,
        metavar="RELEASE",
        help="whose rules: 252, or 253 for it and everything newer (the default)",
    )
    parser.add_argument(
        "--words",
        type=int,
        choices=(32, 64),
        help="bits of a word of the machine a copy or dump comes from; it usually shows by itself",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--explain", action="store_true", help="say rule by rule why")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


def _release(text: str) -> int:
    try:
        release = int(text)
        rules.check_version(release)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return release


def _reason(error: Exception) -> str:
    """One line for people."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


# --- sources ----------------------------------------------------------------------------------


def _from_node(path: str) -> Device:
    """Ask a node; one that is not evdev's own (js0, mouse1) is known by its sysfs directory."""
    fd = sources.open_node(path)
    try:
        capabilities = Capabilities.from_fd(fd)
        return Device(capabilities, name=sources.node_name(fd), node=path)
    except sources.NotAnInputDeviceError:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    number = f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    directory = f"/sys/dev/char/{number}"
    if not os.path.isdir(directory):
        raise sources.NotAnInputDeviceError("not an input device")
    found = _from_directory(directory, None)
    return Device(found.capabilities, name=found.name, devpath=found.devpath, node=path)


def _from_directory(path: str, word_bits: int | None) -> Device:
    directory = sources.input_directory(path)
    real = os.path.realpath(path)
    return Device(
        Capabilities.from_sysfs(path, word_bits=word_bits),
        name=sources.attribute(directory, "name").strip(),
        devpath=real.removeprefix("/sys") if real.startswith("/sys/") else "",
        node=sources.sysfs_node(path) or "",
    )


def _from_path(path: str, word_bits: int | None) -> Device:
    """Read one path of the command line. Raises _FailedError with one line."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISCHR(mode):
            return _from_node(path)
        if stat.S_ISDIR(mode):
            return _from_directory(path, word_bits)
    except sources.NotAnInputDeviceError:
        raise _FailedError(f"{path}: not an input device") from None
    except PermissionError as error:
        raise _FailedError(f"{path}: {_reason(error)}{_hint(path)}") from None
    except (OSError, ValueError) as error:
        raise _FailedError(f"{path}: {_reason(error)}") from None
    raise _FailedError(f"{path}: neither a device node nor a directory (a dump needs --from)")


def _hint(path: str) -> str:
    """Point at the directory that needs no permission, where there is one."""
    directory = os.path.join(CLASS_DIRECTORY, os.path.basename(path))
    return f" (its classes are readable from {directory})" if os.path.isdir(directory) else ""


def _from_dump(path: str, word_bits: int | None) -> list[Device]:
    """Read one dump. Raises _FailedError with one line."""
    shown = "standard input" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        return dumps.read(data.decode("utf-8", "replace"), word_bits)
    except (OSError, ValueError) as error:
        raise _FailedError(f"{shown}: {_reason(error)}") from None


def _every_path() -> list[str]:
    """Every event node: from sysfs, which also knows nodes nobody may open, else from /dev."""
    for directory in (CLASS_DIRECTORY, NODE_DIRECTORY):
        try:
            names = [name for name in os.listdir(directory) if name[:5] == "event"]
        except OSError:
            continue
        names = sorted(
            (name for name in names if name[5:].isdigit()), key=lambda name: int(name[5:])
        )
        return [os.path.join(directory, name) for name in names]
    raise _FailedError(f"neither {CLASS_DIRECTORY} nor {NODE_DIRECTORY} can be read")


def _sizeless(device: Device) -> str:
    """Say that the size is missing because the node is closed to us; empty when none is."""
    capabilities = device.capabilities
    if not device.node or capabilities.x is not None or capabilities.abs & 3 != 3:
        return ""
    try:
        os.close(sources.open_node(device.node))
    except OSError as error:
        return f"{device.node}: {_reason(error)}: the size is not known"
    return ""


# --- output -----------------------------------------------------------------------------------


def _text(device: Device, systemd: int, explain: bool) -> Iterator[str]:
    if device.devpath:
        yield f"P: {device.devpath}"
    if device.node:
        yield f"N: {device.node.removeprefix('/dev/')}"
    if device.name:
        yield f"# {device.name}"
    for name, value in props.properties(device.capabilities, systemd).items():
        yield f"E: {name}={value}"
    if explain:
        yield from (f"# {step}" for step in rules.explain(device.capabilities, systemd))
    yield ""


def _object(device: Device, systemd: int, explain: bool) -> dict[str, object]:
    capabilities = device.capabilities
    form: dict[str, object] = {
        "name": device.name,
        "path": device.devpath,
        "node": device.node,
        "classes": rules.classes(capabilities, systemd),
        "properties": props.properties(capabilities, systemd),
        "capabilities": capabilities.to_mapping(),
    }
    if explain:
        form["explain"] = [_step(step) for step in rules.explain(capabilities, systemd)]
    return form


def _step(step: rules.Step) -> dict[str, object]:
    return {
        "rule": step.rule.name,
        "says": step.rule.says,
        "device": step.rule.device,
        "reached": step.reached,
        "added": step.added,
        "removed": step.removed,
        "facts": dict(step.facts),
    }


def _printable(line: str) -> str:
    """A device chooses its own name; it does not get to steer a terminal with it."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _print(device: Device, arguments: argparse.Namespace) -> None:
    if arguments.json:
        import json

        print(json.dumps(_object(device, arguments.systemd, arguments.explain)))
        return
    for line in _text(device, arguments.systemd, arguments.explain):
        print(_printable(line))


def _devices(arguments: argparse.Namespace) -> Iterator[Device | _FailedError]:
    """Everything asked for, in order; what fails comes as the failure."""
    try:
        paths = [*arguments.paths, *(_every_path() if arguments.all else ())]
    except _FailedError as failure:
        paths = arguments.paths
        yield failure
    for path in paths:
        try:
            yield _from_path(path, arguments.words)
        except _FailedError as failure:
            yield failure
    for path in arguments.dumps:
        try:
            yield from _from_dump(path, arguments.words)
        except _FailedError as failure:
            yield failure


def run(arguments: argparse.Namespace) -> int:
    """Print everything that was asked for and return the exit status."""
    status = 0
    for found in _devices(arguments):
        if isinstance(found, _FailedError):
            complaint = str(found)
        else:
            _print(found, arguments)
            complaint = _sizeless(found) if found.devpath else ""
        if complaint:
            print(_printable(f"inputid: {complaint}"), file=sys.stderr)
            status = 1
    return status


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if not (arguments.paths or arguments.all or arguments.dumps):
        parser.error("name a node, a directory, --all or --from FILE")
    try:
        status = run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Somebody's head(1) has seen enough; a second complaint at exit is avoided too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    return status
