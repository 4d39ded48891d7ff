"""Attribute texts are read as forgivingly as udev reads them, and printed as the kernel prints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inputid import CLASSES, Capabilities, bitmap, classes, properties

ATTRIBUTES = (*bitmap.NAMES, "properties", "bustype", "vendor", "product", "version")

# What udevadm of systemd 252 and 262 made of each text when asked.
WORDS = [
    ("3", 3),
    ("3\n", 3),
    ("3\r\n", 3),
    ("3\n\n", 3),
    ("10 0", 1 << 68),
    ("10 0 0 0 0", 1 << 260),
    ("7cdb000000000000 0 0 0 0", 0x7CDB << 304),
    ("ffffffffffffffff", (1 << 64) - 1),
    ("00000000000000000003", 3),
    ("\n3", 3),
    ("3 \n\n3", 3 << 64 | 3),
    ("0x3", 3),
    ("0X3", 3),
    ("+3", 3),
    ("-0", 0),
    ("", 0),
    ("\n", 0),
    (" 3", 3),
    # A word that cannot be read is zero and keeps its place.
    ("3 zz", 3 << 64),
    ("3 ", 3 << 64),
    ("3  ", 3 << 128),
    ("zz 3", 3),
    ("zz", 0),
    ("12zz", 0),
    ("\t3", 0),
    ("\v3", 0),
    ("\n\t3", 0),
    ("3 \t3", 3 << 64),
    ("-1", 0),
    ("0x", 0),
    ("3\t", 0),
    ("3\n3", 0),
    ("1_0", 0),
    ("0o3", 0),
    ("1ffffffffffffffff", 0),
    ("\u0663", 0),
    ("\xff\xfe", 0),
    # A NUL ends the text, as it ends a string in C.
    ("3\0", 3),
    ("3\0zz", 3),
    ("3\n\0", 3),
    ("\x003", 0),
    ("3 3\0 3", 3 << 64 | 3),
]


@pytest.mark.parametrize(("text", "value"), WORDS, ids=[repr(text) for text, _ in WORDS])
def test_words_are_read_as_udev_reads_them(text: str, value: int) -> None:
    assert bitmap.parse_words(text, 768) == value


def test_words_beyond_the_array_are_ignored() -> None:
    assert bitmap.parse_words("1 2 3", 64) == 3
    assert bitmap.parse_words(" ".join(["1"] * 13), 768) == sum(1 << 64 * n for n in range(12))


@pytest.mark.parametrize(
    ("text", "word_bits", "lowest_code"),
    [
        # The pad of an issue about Steam in a container: nine zero words of 32 bits mean 288.
        ("7cdb0000 0 0 0 0 0 0 0 0 0", 32, 304),
        ("7cdb0000 0 0 0 0 0 0 0 0 0", 64, 592),
        ("10000000000000 0", 64, 116),
        ("100000 0 0 0", 32, 116),
        ("100000000", 32, -1),
    ],
)
def test_a_word_is_as_wide_as_the_machine_that_printed_it(
    text: str, word_bits: int, lowest_code: int
) -> None:
    value = bitmap.parse_words(text, 768, word_bits)
    assert next(iter(bitmap.codes_of(value)), -1) == lowest_code


@given(st.integers(0, (1 << 768) - 1), st.sampled_from([32, 64]))
def test_what_is_printed_is_read_back(value: int, word_bits: int) -> None:
    text = bitmap.format_words(value, word_bits)
    assert bitmap.parse_words(text, 768, word_bits) == value
    assert text == "0" or not text.startswith("0 ")


@given(st.dictionaries(st.sampled_from(ATTRIBUTES), st.text()), st.sampled_from([32, 64]))
def test_no_text_in_any_attribute_raises(texts: dict[str, str], word_bits: int) -> None:
    capabilities = Capabilities.from_attributes(texts, word_bits=word_bits)
    assert set(classes(capabilities)) <= set(CLASSES)
    assert next(iter(properties(capabilities))) == "ID_INPUT"


hexish = st.text(alphabet="0123456789abcdefABCDEFx+- \t\n\0z", max_size=60)


@given(st.dictionaries(st.sampled_from(ATTRIBUTES), hexish))
def test_no_almost_good_text_raises(texts: dict[str, str]) -> None:
    capabilities = Capabilities.from_attributes(texts)
    assert Capabilities.from_json(capabilities.to_json()) == capabilities


@pytest.mark.parametrize(
    ("text", "bustype"),
    [("0018", 0x18), ("18\n", 0x18), ("0x18", 0x18), (" \t18", 0x18), ("ffff", 0xFFFF)]
    + [(text, 0) for text in ("10000", "-18", "18 ", "zz", "", "1 8")],
)
def test_a_bus_that_cannot_be_read_is_none(text: str, bustype: int) -> None:
    assert Capabilities.from_attributes({"bustype": text}).bustype == bustype


@pytest.mark.parametrize(
    ("texts", "word_bits"),
    [
        ([{"key": "10000000000000 0"}], 64),
        ([{"key": "1 0 0"}, {"key": "fffffffffffffffe"}], 64),
        ([{"abs": "3 0"}], 32),
        ([{"ev": "b", "key": " ".join(["1"] * 13)}], 32),
        ([{"ev": "3", "key": "100000 0 0 0"}], 64),
        ([{"phys": "usb-0000:00:14.0-1/input0"}], 64),
        ([], 64),
    ],
)
def test_a_machine_shows_its_word_in_its_bitmaps(
    texts: list[dict[str, str]], word_bits: int
) -> None:
    assert bitmap.guess_word_bits(texts) == word_bits
