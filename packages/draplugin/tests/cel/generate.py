"""Random expressions and devices, and the smallest part of one that still shows a difference.

Expressions are trees of templates, so that a failing one is shrunk by putting its parts in its
place. They are mostly well typed, with a share of reads that fail, types that do not fit and
functions that do not exist.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

DRIVERS = ("dra.example.com", "gpu.example.com")
DOMAINS = (*DRIVERS, "ext.example.com", "nope")
NAMES = ("model", "count", "ok", "ver", "family", "size")
QUANTITIES = (
    "0",
    "1",
    "4",
    "500m",
    "1500m",
    "2000m",
    "1k",
    "1Ki",
    "16Gi",
    "1.5Gi",
    "1e3",
    "10E",
    "-1",
    "007",
)
VERSIONS = ("1.0.0", "1.10.2", "1.9.0", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0", "1.0.0+build", "0.0.0")
STRINGS = ("", "a", "a100", "A100", "a,b", "10.1.2.3", "é", "1.10.2", "x y ")
# `<kind>` stands for a part of that kind; `<in x kind other>` for one that may use a variable x.
_HOLE = re.compile(r"<([a-z]+(?: [a-z]+)*)>")


@dataclass(frozen=True)
class Expr:
    """An expression: a template, as of `str.format`, with a `{}` for each part."""

    template: str
    parts: tuple[Expr, ...] = ()

    def __str__(self) -> str:
        return self.template.format(*self.parts)


Pair = tuple[Expr, dict[str, Any]]


def pairs(seed: int, count: int) -> list[Pair]:
    """So many pairs of an expression and a device."""
    rng = random.Random(seed)
    return [(_Maker(rng).boolean(rng.randint(1, 4)), device(rng)) for _ in range(count)]


def device(rng: random.Random) -> dict[str, Any]:
    """A device as a ResourceSlice has it, with its driver."""
    driver = rng.choice(DRIVERS)
    attributes = {}
    for name in rng.sample(NAMES, rng.randint(1, len(NAMES))):
        domain = rng.choice(("", "", "", "ext.example.com/"))
        attributes[domain + name] = _value(rng, name)
    capacity = {
        name: {"value": rng.choice(QUANTITIES)}
        for name in rng.sample(("memory", "cores", "ext.example.com/slots"), rng.randint(0, 3))
    }
    made: dict[str, Any] = {"driver": driver, "attributes": attributes, "capacity": capacity}
    if rng.random() < 0.3:
        made["allowMultipleAllocations"] = rng.random() < 0.5
    return made


def _value(rng: random.Random, name: str) -> dict[str, Any]:
    kinds: dict[str, Callable[[], Any]] = {
        "string": lambda: rng.choice(STRINGS),
        "int": lambda: rng.choice((0, 1, 3, -1, 64, 2**63 - 1)),
        "bool": lambda: rng.random() < 0.5,
        "version": lambda: rng.choice(VERSIONS),
    }
    usual = {"model": "string", "count": "int", "ok": "bool", "ver": "version"}
    kind = usual.get(name) if rng.random() < 0.8 else None
    kind = kind or rng.choice(tuple(kinds))
    return {kind: kinds[kind]()}


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.variables: list[tuple[str, str]] = []

    def make(self, kind: str, depth: int) -> Expr:
        if self.rng.random() < 0.03:
            kind = self.rng.choice(("string", "number", "boolean", "strings", "quantity"))
        made: Expr = getattr(self, kind)(depth - 1)
        return made

    def _pick(self, depth: int, leaves: tuple[str, ...], nodes: tuple[str, ...]) -> Expr:
        template = self.rng.choice(leaves if depth <= 0 or self.rng.random() < 0.2 else nodes)
        return self._fill(template, depth)

    def _fill(self, template: str, depth: int) -> Expr:
        pieces = _HOLE.split(template)
        text = "{}".join(piece.replace("{", "{{").replace("}", "}}") for piece in pieces[::2])
        return Expr(text, tuple(self._part(name, depth) for name in pieces[1::2]))

    def _part(self, name: str, depth: int) -> Expr:
        if name == "domain":
            return Expr(f'"{self.rng.choice(DOMAINS)}"')
        if name == "name":
            return Expr(self.rng.choice(NAMES))
        if name == "capacity":
            return Expr(self.rng.choice(("memory", "cores", "slots")))
        if name.startswith("in "):
            return self._within(name, depth)
        return self.make(name, depth)

    def _within(self, name: str, depth: int) -> Expr:
        _, variable, kind, wanted = name.split()
        self.variables.append((variable, kind))
        try:
            return self.make(wanted, depth)
        finally:
            self.variables.pop()

    def _variable(self, kind: str) -> Expr | None:
        known = [name for name, of in self.variables if of == kind]
        return Expr(self.rng.choice(known)) if known and self.rng.random() < 0.5 else None

    def attribute(self, depth: int) -> Expr:
        return self._pick(
            depth,
            ("device.attributes[<domain>].<name>",),
            (
                "device.attributes[<domain>].<name>",
                'device.attributes[<domain>]["model"]',
                "device.attributes[<domain>].?<name>.orValue(<string>)",
                'device.attributes[<domain>][?"count"].orValue(<number>)',
                "cel.bind(d, device.attributes[<domain>], d.<name>)",
                "(<boolean> ? device.attributes[<domain>] : device.attributes[<domain>]).<name>",
            ),
        )

    def boolean(self, depth: int) -> Expr:
        return self._variable("boolean") or self._pick(
            depth,
            (
                *("true", "false", "has(device.attributes[<domain>].<name>)"),
                *("<domain> in device.attributes", '"model" in device.attributes[<domain>]'),
                *("device.driver == <domain>", "device.allowMultipleAllocations"),
                *("device.attributes[<domain>].ok", "has(device.capacity[<domain>].<capacity>)"),
            ),
            (
                *("(<boolean> && <boolean>)", "(<boolean> || <boolean>)", "!(<boolean>)"),
                *("(<boolean> ? <boolean> : <boolean>)", "<attribute> == <string>"),
                *(
                    "<attribute> == <number>",
                    "<attribute> == <attribute>",
                    "<attribute> != <string>",
                ),
                *("<string> == <attribute>", "<attribute> < <number>", "<attribute> >= <string>"),
                *("<number> < <number>", "<number> == <number>", "<string> == <string>"),
                *(
                    "<string> < <string>",
                    "<string>.startsWith(<string>)",
                    "<string>.contains(<string>)",
                ),
                *("<attribute>.startsWith(<string>)", "<attribute>.endsWith(<string>)"),
                *("<string> in <strings>", "<attribute> in <strings>", "<number> in <numbers>"),
                *("<quantity>.isGreaterThan(<quantity>)", "<quantity> == <quantity>"),
                *("<quantity>.isLessThan(<quantity>)", "<quantity>.isInteger()"),
                *("<version>.isGreaterThan(<version>)", "<version> == <version>"),
                *("<attribute>.isLessThan(<version>)", "<attribute> == <version>"),
                *("isQuantity(<string>)", "isSemver(<string>)", "isSemver(<string>, <boolean>)"),
                *(
                    "<strings>.exists(s, <in s string boolean>)",
                    "<strings>.all(s, <in s string boolean>)",
                ),
                *(
                    "<numbers>.exists_one(n, <in n number boolean>)",
                    "<numbers>.all(n, <in n number boolean>)",
                ),
                *(
                    "cel.bind(b, <boolean>, <in b boolean boolean>)",
                    "cel.bind(s, <string>, <in s string boolean>)",
                ),
                *("cel.bind(n, <number>, <in n number boolean>)", "<optional>.hasValue()"),
                *("<optional> == <optional>", "<optional>.orValue(<string>) == <string>"),
                *(
                    "<strings> == <strings>",
                    "<numbers> == <numbers>",
                    "sets.contains(<strings>, <strings>)",
                ),
                *(
                    "type(<attribute>) == <type>",
                    "dyn(<attribute>) == <string>",
                    "<string>.matches(<pattern>)",
                ),
                *(
                    "<attribute>.matches(<pattern>)",
                    "isIP(<string>)",
                    'cidr("10.0.0.0/8").containsIP(<string>)',
                ),
                *(
                    "format.dns1123Label().validate(<string>).hasValue()",
                    "<map> == <map>",
                    "<string> in <map>",
                ),
                *(
                    "<strings>.isSorted()",
                    "device.attributes[<domain>] == device.attributes[<domain>]",
                ),
                *(
                    "<attribute>",
                    "<attribute>.nope()",
                    "<numbers>.exists(i, n, <in n number boolean>)",
                ),
                *("[<attribute>, <attribute>].exists(a, a == <string>)", "<duration> < <duration>"),
            ),
        )

    def string(self, depth: int) -> Expr:
        return self._variable("string") or self._pick(
            depth,
            (*(json.dumps(s, ensure_ascii=False) for s in STRINGS), "device.driver"),
            (
                *(
                    "<string> + <string>",
                    "<string>.lowerAscii()",
                    "<string>.upperAscii()",
                    "<string>.trim()",
                ),
                *("<string>.substring(<number>)", "<string>.substring(<number>, <number>)"),
                *(
                    "<string>.replace(<string>, <string>)",
                    "<strings>.join(<string>)",
                    "<string>.charAt(<number>)",
                ),
                *("string(<attribute>)", "string(<number>)", "(<boolean> ? <string> : <string>)"),
                *("<optional>.orValue(<string>)", "<optional>.value()", "<strings>[<number>]"),
                *(
                    '"%s-%d".format([dyn(<string>), <number>])',
                    "<string>.find(<pattern>)",
                    "<map>[<string>]",
                ),
                *(
                    "cel.bind(s, <string>, <in s string string>)",
                    "strings.quote(<string>)",
                    "dyn(<attribute>)",
                ),
            ),
        )

    def number(self, depth: int) -> Expr:
        return self._variable("number") or self._pick(
            depth,
            ("0", "1", "2", "-1", "3", "64", "9223372036854775807", "1.5", "2u"),
            (
                *(
                    "<number> + <number>",
                    "<number> - <number>",
                    "<number> * <number>",
                    "<number> / <number>",
                ),
                *(
                    "<number> % <number>",
                    "size(<string>)",
                    "<strings>.size()",
                    "size(<numbers>)",
                    "-(<number>)",
                ),
                *("int(<string>)", "int(<number>)", "double(<number>)", "<quantity>.asInteger()"),
                *("sign(<quantity>)", "<quantity>.compareTo(<quantity>)", "<version>.major()"),
                *(
                    "<version>.compareTo(<version>)",
                    "<string>.indexOf(<string>)",
                    "<numbers>[<number>]",
                ),
                *("<numbers>.max()", "<numbers>.min()", "<numbers>.sum()", "int(<attribute>)"),
                *(
                    "(<boolean> ? <number> : <number>)",
                    "cel.bind(n, <number>, <in n number number>)",
                ),
                *("size(device.attributes)", "size(<attribute>)", "<strings>.indexOf(<string>)"),
            ),
        )

    def quantity(self, depth: int) -> Expr:
        return self._pick(
            depth,
            (*(f'quantity("{q}")' for q in QUANTITIES), "device.capacity[<domain>].<capacity>"),
            (
                *(
                    "device.capacity[<domain>].<capacity>",
                    "<quantity>.add(<quantity>)",
                    "<quantity>.sub(1)",
                ),
                *(
                    "quantity(<string>)",
                    "<quantity>.add(<number>)",
                    'device.capacity[<domain>]["memory"]',
                ),
            ),
        )

    def version(self, depth: int) -> Expr:
        return self._pick(
            depth,
            (*(f'semver("{v}")' for v in VERSIONS), "device.attributes[<domain>].ver"),
            ("device.attributes[<domain>].ver", "semver(<string>)", "semver(<string>, <boolean>)"),
        )

    def optional(self, depth: int) -> Expr:
        return self._pick(
            depth,
            (
                "optional.none()",
                "device.attributes[<domain>].?<name>",
                'device.attributes[?"nope"]',
            ),
            (
                *(
                    "optional.of(<string>)",
                    "optional.ofNonZeroValue(<string>)",
                    "<optional>.or(<optional>)",
                ),
                *(
                    "<optional>.optMap(s, <in s string string>)",
                    "<strings>[?<number>]",
                    "<map>[?<string>]",
                ),
                *("<optional>.optFlatMap(s, <in s string optional>)", "<strings>.first()"),
                *("device.attributes[<domain>].?<name>.size()",),
            ),
        )

    def strings(self, depth: int) -> Expr:
        return self._pick(
            depth,
            ('["a", "b"]', "[]", '["a100"]', '["b", "a", "a"]'),
            (
                *(
                    "[<string>, <string>]",
                    "<string>.split(<string>)",
                    "<strings>.map(s, <in s string string>)",
                ),
                *(
                    "<strings>.filter(s, <in s string boolean>)",
                    "<strings> + <strings>",
                    "<strings>.sort()",
                ),
                *(
                    "<strings>.distinct()",
                    "<strings>.reverse()",
                    "[<attribute>]",
                    "[?<optional>, <string>]",
                ),
                *(
                    "<string>.findAll(<pattern>)",
                    "<strings>.slice(<number>, <number>)",
                    "<string>.split(<string>, <number>)",
                ),
                *(
                    "<numbers>.map(n, <in n number string>)",
                    "<strings>.sortBy(s, <in s string string>)",
                ),
                *(
                    "[<strings>, <strings>].flatten()",
                    "<strings>.transformList(i, s, <in s string string>)",
                ),
            ),
        )

    def numbers(self, depth: int) -> Expr:
        return self._pick(
            depth,
            ("[1, 2, 3]", "[3, 1]", "[0]", "lists.range(3)"),
            (
                *(
                    "[<number>, <number>]",
                    "<numbers>.map(n, <in n number number>)",
                    "<numbers> + <numbers>",
                ),
                *(
                    "<numbers>.filter(n, <in n number boolean>)",
                    "<numbers>.sort()",
                    "lists.range(<number>)",
                ),
                *(
                    "<strings>.map(s, <in s string number>)",
                    "<numbers>.map(n, <in n number boolean>, <in n number number>)",
                ),
            ),
        )

    def map(self, depth: int) -> Expr:
        return self._pick(
            depth,
            ('{"a": "b"}', "{}", '{"a": "x", "é": "y"}'),
            (
                *(
                    '{"k": <string>, <string>: <string>}',
                    "<map>.transformMap(k, v, <in v string string>)",
                ),
                *('{?"o": <optional>}',),
            ),
        )

    def duration(self, depth: int) -> Expr:
        return self._pick(
            depth,
            ('duration("1s")', 'duration("90m")', 'duration("-1.5h")'),
            ("<duration> + <duration>", "duration(<string>)", "<duration> - <duration>"),
        )

    def type(self, depth: int) -> Expr:
        return Expr(self.rng.choice(("string", "int", "bool", "list", "double", "null_type")))

    def pattern(self, depth: int) -> Expr:
        return Expr(
            self.rng.choice(('"^a"', '"[0-9]+"', '"[a-z]*$"', '"("', "device.driver", '"a|b"'))
        )


def smaller(pair: Pair) -> Iterator[Pair]:
    """Simpler pairs, the most simplified first."""
    expression, thing = pair
    for simpler in _simpler(expression):
        yield simpler, thing
    for kind in ("attributes", "capacity"):
        for name in thing.get(kind, {}):
            rest = {key: value for key, value in thing[kind].items() if key != name}
            yield expression, {**thing, kind: rest}


def _simpler(expression: Expr) -> Iterator[Expr]:
    yield from expression.parts
    for leaf in ("true", '"a"', "1"):
        if str(expression) != leaf and len(str(expression)) > len(leaf):
            yield Expr(leaf)
    for index, part in enumerate(expression.parts):
        for simpler in _simpler(part):
            parts = (*expression.parts[:index], simpler, *expression.parts[index + 1 :])
            yield replace(expression, parts=parts)
