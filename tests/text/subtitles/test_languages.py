"""The script of a text as a check of its language."""

from framesift.text.subtitles.languages import may_be_in

TEXTS = {
    "en": "Where are you going?",
    "fr": "Où vas-tu, mon garçon ?",
    "ja": "どこへ行くの。東京へ帰ります。",
    "zh": "你要去哪里?",
    "ko": "어디 가세요?",
    "ru": "Куда ты идёшь, Tom?",
    "ar": "إلى أين أنت ذاهب؟",
}
LATIN = {"en", "fr"}


def test_text_may_be_in_the_languages_of_its_script_only():
    for language, text in TEXTS.items():
        possible = {other for other in TEXTS if may_be_in(other, [text])}
        assert possible == (LATIN if language in LATIN else {language})


def test_text_without_letters_may_be_in_any_language():
    assert may_be_in("ja", ["1, 2, 3!"])
