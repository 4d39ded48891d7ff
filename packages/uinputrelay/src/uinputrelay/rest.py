"""Where every axis of a device rests, so that an unplugged controller leaves no direction held.

The same code means different things on different devices: ABS_Z is a trigger beside ABS_RX/ABS_RY
and the right stick without them. So what the device itself reported decides wherever it can be
believed, and meaning decides the rest.
"""

from __future__ import annotations

from . import codes
from .model import AbsInfo, Snapshot

# Self-centring whatever their range: both sticks, pedals' rudder, the steering wheel.
_STICKS = frozenset(
    {codes.ABS_X, codes.ABS_Y, codes.ABS_RX, codes.ABS_RY, codes.ABS_RUDDER, codes.ABS_WHEEL}
)
_HATS = range(codes.ABS_HAT0X, codes.ABS_HAT3Y + 1)
_PRESSED = frozenset({codes.ABS_GAS, codes.ABS_BRAKE, codes.ABS_PRESSURE})
# Stay where they were turned or set.
_KEPT = frozenset({codes.ABS_VOLUME, codes.ABS_PROFILE, codes.ABS_DISTANCE, codes.ABS_TOOL_WIDTH})
_POINTERS = frozenset({"touchpad", "touchscreen", "tablet", "tablet_pad", "mouse"})


def rests(shot: Snapshot) -> dict[int, int]:
    """Return the rest value per plain axis code; an axis without a rest is not in it.

    Without a rest are positions on a surface (the finger is lifted, where it was means nothing),
    knobs that stay where they were turned, and the per-contact ABS_MT_* codes.
    """
    import inputid

    kinds = set(inputid.classes(shot.capabilities))
    believed = any(axis.value != 0 for axis in shot.absinfo.values())
    if believed and "accelerometer" in kinds:
        return {code: axis.value for code, axis in shot.absinfo.items()}  # gravity is no deflection
    return {
        code: _rest(shot, code, axis, believed)
        for code, axis in shot.absinfo.items()
        if _springs_back(code, pointer=bool(kinds & _POINTERS))
    }


def _springs_back(code: int, *, pointer: bool) -> bool:
    if codes.ABS_MT_SLOT <= code <= codes.ABS_MT_LAST or code in _KEPT:
        return False
    return not pointer or code == codes.ABS_PRESSURE


def _rest(shot: Snapshot, code: int, axis: AbsInfo, believed: bool) -> int:
    """``believed``: some axis is not 0, as all are before a device's first report."""
    centre = _centre(axis)
    near = abs(axis.value - centre) * 8 <= axis.maximum - axis.minimum
    if believed and near:
        return axis.value
    if code in _HATS or _is_stick(shot, code, axis):
        return centre
    if believed and axis.value == axis.maximum:
        return axis.maximum  # pedals that are wired the other way round
    return axis.minimum


def _is_stick(shot: Snapshot, code: int, axis: AbsInfo) -> bool:
    if code in _PRESSED:
        return False
    if code in _STICKS or axis.minimum < 0:
        return True
    paired = {codes.ABS_RX, codes.ABS_RY} <= shot.absinfo.keys()
    both = {codes.ABS_Z, codes.ABS_RZ} <= shot.absinfo.keys()
    return code in (codes.ABS_Z, codes.ABS_RZ) and both and not paired


def _centre(axis: AbsInfo) -> int:
    """Return the middle; a range of even size has it on the upper half, where pads report it."""
    return (axis.minimum + axis.maximum + 1) // 2
