"""Tokens to a tree: operator precedence climbing over the grammar of cel-go.

Two details of that grammar are kept because they decide what is accepted: the middle of `a ? b : c`
takes no conditional without parentheses, and a sign in front of a number belongs to the number.
"""

from __future__ import annotations

from collections.abc import Callable

from .ast import Call, Entry, Ident, ListNode, Literal, MapNode, Message, Node, Select
from .errors import CompileError, Issue
from .lexer import Source, Token, tokens
from .literals import LiteralError, double, integer, octets, string, unsigned
from .macros import Macro, MacroError
from .values import Value

#: Operators from loose to tight; all bind to the left.
_LEVELS: tuple[dict[str, str], ...] = (
    {"||": "_||_"},
    {"&&": "_&&_"},
    {
        "<": "_<_",
        "<=": "_<=_",
        ">=": "_>=_",
        ">": "_>_",
        "==": "_==_",
        "!=": "_!=_",
        "in": "@in",
    },
    {"+": "_+_", "-": "_-_"},
    {"*": "_*_", "/": "_/_", "%": "_%_"},
)
_SIGNS = {"!": "!_", "-": "-_"}
_RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_MAX_DEPTH = 250
MAX_CODE_POINTS = 100_000
Macros = dict[tuple[str, int, bool], Macro]


class _SyntaxError(Exception):
    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def parse(source: Source, macros: Macros) -> Node:
    """The tree of an expression, macros expanded; raises `CompileError`.

    `macros` maps (name, number of arguments, is a method) to what expands it.
    """
    if len(source.text) > MAX_CODE_POINTS:
        raise CompileError([source.issue(-1, f"longer than {MAX_CODE_POINTS} code points")])
    parser = _Parser(tokens(source), macros)
    try:
        return parser.whole()
    except _SyntaxError as error:
        if not source.text:
            raise CompileError([Issue(1, 0, "the expression is empty")]) from None
        raise CompileError([source.issue(error.at, str(error))]) from None


class _Parser:
    def __init__(self, stream: list[Token], macros: Macros) -> None:
        self._stream = stream
        self._next = 0
        self._macros = macros
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        if self._token.kind != "end":
            raise self._unexpected("the end of the expression")
        return node

    @property
    def _token(self) -> Token:
        return self._stream[self._next]

    def _take(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._token.kind == kind else None

    def _expect(self, kind: str, meant: str = "") -> Token:
        if self._token.kind != kind:
            raise self._unexpected(meant or repr(kind))
        return self._take()

    def _unexpected(self, wanted: str) -> _SyntaxError:
        token = self._token
        got = repr(token.text) if token.text else "the end"
        return _SyntaxError(token.at, f"expected {wanted}, found {got}")

    def _deeper(self, by: int) -> None:
        self._depth += by
        if self._depth > _MAX_DEPTH:
            raise _SyntaxError(-1, f"nested deeper than {_MAX_DEPTH} levels")

    def _expression(self) -> Node:
        self._deeper(1)
        node = self._binary(0)
        if mark := self._accept("?"):
            yes = self._binary(0)
            self._expect(":")
            node = Call("_?_:_", [node, yes, self._expression()], at=mark.at)
        self._deeper(-1)
        return node

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        node, operators, links = self._binary(level + 1), _LEVELS[level], 0
        while self._token.kind in operators:
            operator = self._take()
            links += level > 1
            self._deeper(level > 1)
            right = self._binary(level + 1)
            node = Call(operators[operator.kind], [node, right], at=operator.at)
        self._deeper(-links)
        return node

    def _unary(self) -> Node:
        first = self._token
        if first.kind not in _SIGNS or self._is_signed_number():
            return self._member()
        count = 0
        while self._accept(first.kind):
            count += 1
        node = self._member()
        return node if count % 2 == 0 else Call(_SIGNS[first.kind], [node], at=first.at)

    def _is_signed_number(self) -> bool:
        return self._token.kind == "-" and self._stream[self._next + 1].kind in ("int", "float")

    def _member(self) -> Node:
        node, links = self._primary(), 0
        while self._token.kind in (".", "["):
            operator = self._take()
            links += 1
            self._deeper(1)
            node = (
                self._dot(node, operator) if operator.kind == "." else self._index(node, operator)
            )
        self._deeper(-links)
        return node

    def _dot(self, operand: Node, dot: Token) -> Node:
        optional = self._accept("?")
        name = self._take()
        if name.kind not in ("name", "escaped"):
            self._next -= 1
            raise self._unexpected("a field name")
        if optional:
            field = Literal(_field(name), at=name.at)
            return Call("_?._", [operand, field], at=dot.at)
        if name.kind == "name" and (opening := self._accept("(")):
            return self._call(name.text, opening.at, self._arguments(), operand)
        return Select(operand, _field(name), at=dot.at)

    def _index(self, operand: Node, bracket: Token) -> Node:
        optional = self._accept("?")
        key = self._expression()
        self._expect("]")
        return Call("_[?_]" if optional else "_[_]", [operand, key], at=bracket.at)

    def _arguments(self) -> list[Node]:
        if self._accept(")"):
            return []
        found = [self._expression()]
        while self._accept(","):
            found.append(self._expression())
        self._expect(")")
        return found

    def _call(self, name: str, at: int, args: list[Node], target: Node | None) -> Node:
        macro = self._macros.get((name, len(args), target is not None))
        if macro is not None:
            try:
                expanded = macro(at, target, args)
            except MacroError as error:
                raise _SyntaxError(error.at, str(error)) from None
            if expanded is not None:
                return expanded
        return Call(name, args, target, at=at)

    def _primary(self) -> Node:
        token = self._token
        if token.kind in _LITERALS or self._is_signed_number():
            return self._literal()
        if token.kind == "(":
            return self._nested()
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        if token.kind in ("name", "."):
            return self._name()
        raise self._unexpected("a value")

    def _nested(self) -> Node:
        self._take()
        node = self._expression()
        self._expect(")")
        return node

    def _literal(self) -> Node:
        sign = self._accept("-")
        token = self._take()
        at = sign.at if sign else token.at
        try:
            value = _LITERALS[token.kind](("-" if sign else "") + token.text)
        except LiteralError as error:
            raise _SyntaxError(at, str(error)) from None
        return Literal(value, at=at)

    def _until(self, closing: str, read: Callable[[], None]) -> None:
        """Read what stands between brackets; one comma may stand before the closing one."""
        while self._token.kind != closing:
            if self._token.kind == "," and self._stream[self._next + 1].kind == closing:
                self._take()
                break
            read()
            if self._token.kind != closing and self._token.kind != ",":
                raise self._unexpected(f"',' or {closing!r}")
            if self._token.kind == "," and self._stream[self._next + 1].kind != closing:
                self._take()
        self._expect(closing)

    def _list(self) -> Node:
        at = self._take().at
        items: list[Node] = []
        optional: set[int] = set()

        def read() -> None:
            if self._accept("?"):
                optional.add(len(items))
            items.append(self._expression())

        self._until("]", read)
        return ListNode(items, frozenset(optional), at=at)

    def _map(self) -> Node:
        at = self._take().at
        entries: list[Entry] = []

        def read() -> None:
            optional = self._accept("?") is not None
            key = self._expression()
            self._expect(":")
            entries.append(Entry(key, self._expression(), optional))

        self._until("}", read)
        return MapNode(entries, at=at)

    def _name(self) -> Node:
        dot = self._accept(".")
        token = self._expect("name", "a name")
        if self._opens_message():
            return self._message(dot, token)
        if token.text in _RESERVED:
            at = dot.at if dot else token.at
            raise _SyntaxError(at, f"{token.text!r} is a reserved word")
        name = ("." if dot else "") + token.text
        if opening := self._accept("("):
            return self._call(name, opening.at, self._arguments(), None)
        return Ident(name, at=token.at)

    def _opens_message(self) -> bool:
        ahead = self._next
        while self._stream[ahead].kind == "." and self._stream[ahead + 1].kind == "name":
            ahead += 2
        return self._stream[ahead].kind == "{"

    def _message(self, dot: Token | None, first: Token) -> Node:
        name = ("." if dot else "") + first.text
        while self._accept("."):
            name += "." + self._take().text
        at = self._take().at
        fields: list[tuple[str, Node]] = []

        def read() -> None:
            self._accept("?")
            field = self._take()
            self._expect(":")
            fields.append((_field(field), self._expression()))

        self._until("}", read)
        return Message(name, fields, at=at)


def _field(token: Token) -> str:
    return token.text[1:-1] if token.kind == "escaped" else token.text


_LITERALS: dict[str, Callable[[str], Value]] = {
    "int": integer,
    "uint": unsigned,
    "float": double,
    "string": string,
    "bytes": octets,
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}
