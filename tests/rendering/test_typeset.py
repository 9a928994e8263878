import itertools

import bidi
import pytest
from PIL import Image

from framesift.rendering.typesetting import shaping
from framesift.rendering.typesetting.layout import breaks, lay_out
from framesift.rendering.typesetting.shaping import clusters, drawable
from helpers.writing_systems import SENTENCES, differs, shape, wrap


def test_no_glyph_is_the_missing_glyph():
    for script, text in SENTENCES.items():
        assert all(glyph.index for glyph in shape(text).glyphs), script


def test_hebrew_is_drawn_from_the_right_with_numbers_from_the_left_and_mirrored_brackets():
    alef, four, two, opening, closing = (shape(letter).glyphs[0].index for letter in "א42()")
    assert shape("אבג").glyphs[-1].index == alef
    drawn = [glyph.index for glyph in shape("(שלום 42)").glyphs]
    assert drawn[:3] + drawn[-1:] == [opening, four, two, closing]


def test_first_strong_letter_sets_the_direction():
    assert lay_out("שלום abc", 900, sizes=(10,), lines=1).is_rtl
    assert not lay_out("abc שלום", 900, sizes=(10,), lines=1).is_rtl


def test_han_character_has_its_japanese_form_beside_kana():
    chinese, japanese = shape("直角").glyphs[0], shape("直角の").glyphs[0]
    assert (chinese.face.name, japanese.face.name) == ("Noto Sans CJK SC", "Noto Sans CJK JP")
    assert chinese.index != japanese.index


def test_levels_and_order_of_mixed_directions():
    for text, levels, visual in (
        ("abc", "000", "abc"),
        ("אב 12", "11122", "12 בא"),
        ("a אב. b", "0011000", "a בא. b"),
        ("אב ab (c)!", "1112222221", "!ab (c) בא"),  # a pair of brackets has one direction
        ("س 1 a%", "112121", "%a 1 س"),
        ("שָ😀ל", "1111", "ל😀ָש"),  # letters of several bytes, and marks
    ):
        found = shaping.embedding_levels(text, bidi.get_base_level(text))
        assert "".join(map(str, found)) == levels, text
        assert "".join(text[k] for k in shaping.visual_order(found)) == visual
    assert shaping.visual_order([0, 1, 2, 1, 0]) == [0, 3, 2, 1, 4]


def test_lines_contain_the_whole_text():
    for (script, text), width in itertools.product(SENTENCES.items(), [2, 3, 4]):
        lines = wrap(text, width, lines=60)
        assert "".join("".join(lines).split()) == "".join(drawable(text).split()), script
        assert len(lines) > 1, script


def test_no_line_is_wider_than_its_box():
    for script, text in SENTENCES.items():
        assert lay_out(text * 3, 150, sizes=(30, 20), lines=3).width <= 150 + 1, script


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 4, ["one two", "three"]),
        ("So we went down to the river, all of us.", 16, ["So we went down to", "the river, all of us."]),
        ("x" * 30, 6, ["x" * 10] * 3),
        ("one two three four five six seven eight nine ten", 3, ["one", "two", "thre…"]),
    ],
    ids=["between words", "about equal widths", "long word between letters", "ellipsis"],
)
def test_latin_breaks(text, width, lines):
    assert wrap(text, width) == lines


@pytest.mark.parametrize(
    ("text", "never_first", "never_last"),
    [("「東京」、「大阪」。「京都」、「神戸」。", "」、。", "「"), ("Tu viens ce soir ?", "?", " ")],
    ids=["Japanese", "French"],
)
def test_punctuation_stays_with_its_word(text, never_first, never_last):
    for width in range(3, 12):
        lines = wrap(text, width, lines=20)
        assert not any(line[0] in never_first or line[-1] in never_last for line in lines), lines


def test_thai_breaks_between_words():
    text = "วันนี้อากาศดี"
    parts = clusters(text)
    allowed = breaks(parts, ["Thai"] * len(parts))
    ends = ["".join(parts[: k + 1]) for k, may in enumerate(allowed) if may]
    assert "วันนี้" in ends and "วันนี้อา" not in ends


def test_work_is_bounded_for_any_length(monkeypatch):
    lengths: list[int] = []
    monkeypatch.setattr(shaping, "_shape", lambda run, language: lengths.append(len(run)) or [])

    def shaped_letters(text: str) -> int:
        lengths.clear()
        lay_out(text, 600, sizes=(30, 20), lines=3)
        return sum(lengths)

    for word in ("word ", "w", "שלום ", "ไทย", "(ש"):
        assert 0 < shaped_letters(word * 20_000) == shaped_letters(word * 100_000), word


def test_ellipsis_is_at_the_left_of_hebrew():
    line = lay_out("שלום עולם " * 20, 100, sizes=(10,), lines=1).lines[0]
    assert line.glyphs[0].index == shape("ש…").glyphs[0].index
    assert line.text.endswith("…")


def test_ellipsis_does_not_split_a_grapheme():
    text = "e\u0323\u0331" * 40
    for width in range(2, 9):
        assert set(clusters(wrap(text, width, lines=1)[0])) <= {*clusters(drawable(text)), "…"}


def test_first_size_that_fits_is_used():
    assert lay_out("short", 200, sizes=(30, 20, 10), lines=1).size == 30
    assert lay_out("a longer text", 120, sizes=(30, 20, 10), lines=1).size < 30


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hi 👨‍👩‍👧‍👦 all", "Hi all"),
        ("Vive 🇫🇷 la", "Vive la"),
        ("ok 👍🏽", "ok"),
        ("I ❤️ you", "I you"),
        ("cool 🕶 ok", "cool ok"),
        ("♪ la la ♪ ©", "♪ la la ♪ ©"),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿 England", "England"),
        ("<i>so</i> {\\an8}it\\Nis", "so it is"),
        ("你\n好", "你好"),
        ("می‌خواهم", "می‌خواهم"),
    ],
)
def test_drawable_removes_emoji_and_markup(text, shown):
    assert drawable(text) == shown


def test_right_to_left_block_is_right_aligned():
    image = Image.new("RGB", (300, 40))
    lay_out("שלום", 300, sizes=(20,), lines=1).draw(image, (0, 0), "white", within=300)
    columns = differs(image, Image.new("RGB", (300, 40))).any(axis=0)
    assert columns[150:].any() and not columns[:150].any()
