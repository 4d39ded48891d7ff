"""Capability bitmaps as text: the hex words of sysfs and /proc, in both directions.

The kernel prints a bitmap as hex words separated by blanks, the most significant word first, a word
being as wide as the reading process's ``unsigned long`` (drivers/input/input.c,
``input_bits_to_string``). udev reads that text forgivingly; this file forgives the same things.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Bits that count per bitmap: the arrays udev fills, rounded up to whole 64-bit words. What a word
# beyond the array says is ignored (systemd, src/udev/udev-builtin-input_id.c, get_cap_mask).
WIDTHS = {
    "ev": 64,
    "key": 768,
    "rel": 64,
    "abs": 64,
    "msc": 64,
    "sw": 64,
    "led": 64,
    "snd": 64,
    "ff": 128,
    "props": 64,
}
NAMES = tuple(WIDTHS)

_HEX = frozenset("0123456789abcdefABCDEF")
_BLANKS = " \t\n\r\v\f"


def attribute_text(text: str) -> str:
    """Cut what udev cuts from an attribute: everything from a NUL on, and line ends."""
    return text.partition("\0")[0].rstrip("\r\n")


def parse_hex(text: str, limit: int) -> int | None:
    """Return the number in ``text``, or None where systemd's base-16 parser refuses it.

    Refused: nothing at all, anything after the digits, a negative number, a value above ``limit``.
    Accepted besides plain digits: leading blanks, ``+``, ``0x``, and minus zero
    (systemd, src/basic/parse-util.c, on top of strtoul).
    """
    rest = text.lstrip(_BLANKS)
    negative = rest[:1] == "-"
    digits = rest[1:] if rest[:1] in ("+", "-") and rest else rest
    if digits[:2] in ("0x", "0X"):
        digits = digits[2:]
    if not digits or not _HEX.issuperset(digits):
        return None
    value = int(digits, 16)
    return None if value > limit or (negative and value) else value


def parse_words(text: str, width: int, word_bits: int = 64) -> int:
    """Read one attribute as udev reads it; never raises, whatever the text.

    A word that cannot be read counts as zero but keeps its place; words beyond ``width`` are
    ignored. A word behind a tab or such, which no kernel prints, is followed as in systemd 262: it
    cannot be read, unless the blanks are line ends. 252 and 257 read it.
    ``word_bits`` is 32 for text printed by a 32-bit kernel or for a 32-bit process.
    """
    value = 0
    limit = (1 << word_bits) - 1
    words = attribute_text(text).split(" ")
    for place, word in zip(range(0, width, word_bits), reversed(words), strict=False):
        if word.lstrip("\n")[:1] not in _BLANKS:
            value |= (parse_hex(word, limit) or 0) << place
    return value


def format_words(value: int, word_bits: int = 64) -> str:
    """Print a bitmap as the kernel does: no leading zero words, ``0`` for an empty bitmap."""
    mask = (1 << word_bits) - 1
    words = [f"{value & mask:x}"]
    while value := value >> word_bits:
        words.append(f"{value & mask:x}")
    return " ".join(reversed(words))


def from_codes(codes: list[int] | tuple[int, ...] | frozenset[int] | set[int]) -> int:
    """Set one bit per code number."""
    value = 0
    for code in codes:
        value |= 1 << code
    return value


def codes_of(value: int) -> tuple[int, ...]:
    """List the numbers of the set bits, lowest first."""
    return tuple(code for code in range(value.bit_length()) if value >> code & 1)


def guess_word_bits(devices: Iterable[Mapping[str, str]]) -> int:
    """Tell from the texts of one machine's bitmaps whether it printed 32- or 64-bit words.

    A word of more than eight digits is a 64-bit word; more words than 64-bit ones could be are
    32-bit words. A text that shows neither may be either; 64 is the answer then.
    """
    shown = [(name, text.split()) for texts in devices for name, text in texts.items()]
    shown = [(name, words) for name, words in shown if name in WIDTHS]
    if any(len(word) > 8 for _, words in shown for word in words):
        return 64
    return 32 if any(len(words) * 64 > WIDTHS[name] for name, words in shown) else 64
