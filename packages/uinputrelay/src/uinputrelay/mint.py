"""Making mirrors and placeholders on the numbers the plan says, on a kernel that others use too."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from . import numbers
from .discovery import used_minors
from .mirror import Blueprint, Mirror, blueprint
from .model import Held
from .node import Node
from .numbers import Key

_log = logging.getLogger(__name__)

ATTEMPTS = 8  # plans, when others create devices at the same time
PLACEHOLDER = Blueprint(b"uinputrelay placeholder", (0x06, 0, 0, 0), (), {}, {})


class Mint:
    """Creates what is missing, and holds the placeholders.

    ``prefix`` begins every device's phys, ``uinput`` is the path of the kernel's device.
    """

    def __init__(self, prefix: str, uinput: str) -> None:
        self._prefix = prefix
        self._uinput = uinput
        self._placeholders: dict[int, Mirror] = {}
        self._trouble = ""

    @property
    def placeholders(self) -> tuple[int, ...]:
        """The minors that are held for nobody."""
        return tuple(sorted(self._placeholders))

    def make(self, nodes: Mapping[Key, Node], held: Sequence[Held]) -> bool:
        """Give every node its mirror and every held number its placeholder.

        False when that could not be done; a node's ``error`` says what concerns it alone.
        """
        try:
            trouble = "" if self._try(nodes, held) else "others take them faster than we can plan"
        except OSError as error:
            trouble = str(error)
        if trouble and trouble != self._trouble:
            _log.warning("device numbers cannot be had: %s; it is tried again", trouble)
        self._trouble = trouble
        return not trouble

    def _try(self, nodes: Mapping[Key, Node], held: Sequence[Held]) -> bool:
        """Plan and take the steps until nothing is missing. Raises OSError for a placeholder."""
        refused: set[Key] = set()
        for _ in range(ATTEMPTS):
            missing = [k for k, n in nodes.items() if n.mirror is None and k not in refused]
            mine = frozenset(self._placeholders)
            steps = numbers.plan(used_minors() - mine, mine, held, missing)
            if not steps or self._execute(steps, nodes, held, refused):
                return True
        return False

    def close(self) -> None:
        """Destroy the placeholders."""
        for placeholder in self._placeholders.values():
            placeholder.close()
        self._placeholders.clear()

    def _execute(
        self,
        steps: Sequence[numbers.Step],
        nodes: Mapping[Key, Node],
        held: Sequence[Held],
        refused: set[Key],
    ) -> bool:
        """Take the steps; False when the kernel gave another number and a new plan is needed."""
        fills: list[Mirror] = []
        try:
            for step in steps:
                if isinstance(step, numbers.Release):
                    self._placeholders.pop(step.minor).close()
                elif isinstance(step, numbers.Create):
                    if not self._create(step, nodes[step.key], held, refused):
                        return False
                elif not self._fill(step, fills):
                    return False
        finally:
            for fill in fills:
                fill.close()
        return True

    def _fill(self, step: numbers.Hold | numbers.Fill, fills: list[Mirror]) -> bool:
        filler = Mirror(PLACEHOLDER, f"{self._prefix}/placeholder/{step.minor}", self._uinput)
        if isinstance(step, numbers.Hold) and filler.minor == step.minor:
            self._placeholders[step.minor] = filler
        else:
            fills.append(filler)
        return filler.minor == step.minor

    def _create(
        self, step: numbers.Create, node: Node, held: Sequence[Held], refused: set[Key]
    ) -> bool:
        phys = f"{self._prefix}/{step.key.address}/{node.index}"
        try:
            mirror = Mirror(blueprint(node.snapshot), phys, self._uinput)
        except OSError as error:
            if not node.error:
                _log.warning("%s: the mirror cannot be made: %s", step.key.address, error)
            node.error = f"the mirror cannot be made: {error}"
            refused.add(step.key)
            return False
        if mirror.minor != step.minor and _is_anothers(step.key, mirror.minor, held):
            mirror.close()
            return False
        node.made(mirror)
        _log.info("%s: %s mirrors %r", step.key.address, mirror.path, node.snapshot.name)
        return mirror.minor == step.minor


def _is_anothers(key: Key, minor: int, held: Sequence[Held]) -> bool:
    given = any(each.minor == minor for each in held)
    return given and minor not in numbers.acceptable(key, held)
