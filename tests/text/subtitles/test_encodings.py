"""Detection of the encoding of subtitle files, and the script of a text as a check of its language."""

from itertools import product

from framesift.text.subtitles import read_events, read_report
from framesift.text.subtitles.languages import may_be_in
from helpers.subtitle_files import FILES, put, subrip

LINES = {
    "fr": "Où étais-tu hier soir ?\nÇa va être très drôle, garçon.\nÀ bientôt, mon frère.",
    "pl": "Cześć, jak się masz?\nDziękuję, świetnie.\nWszystko będzie dobrze, proszę pani.",
    "hu": "Nem tudom, hová tűnt.\nJó reggelt, hogy vagy?\nKöszönöm, jól. Ő is jön később.",
    "ru": "Я не знаю, где он.\nНам нужно идти домой.\nДоброе утро, как дела?",
    "el": "Δεν ξέρω πού είναι.\nΠρέπει να φύγουμε τώρα.\nΚαλημέρα, τι κάνεις;",
    "tr": "Nerede olduğunu bilmiyorum.\nŞimdi gitmemiz gerekiyor, çünkü geç oldu.\nİyiyim, teşekkür ederim.",
    "he": "אני לא יודע איפה הוא.\nאנחנו חייבים ללכת עכשיו.\nבוקר טוב, מה שלומך?",
    "ja": "彼がどこにいるか知りません。\nもう行かなければなりません。\nおはようございます、お元気ですか？",
    "zh": "我不知道他在哪里。\n我们现在必须走了。\n早上好，你好吗？谢谢你。",
    "ko": "그가 어디에 있는지 모르겠어요.\n우리는 지금 가야 합니다.\n안녕하세요, 감사합니다.",
}
ENCODINGS = {
    "fr": ["cp1252", "utf-8", "utf-16-le", "utf-16-be"],
    "pl": ["cp1250"],
    "hu": ["cp1250"],
    "ru": ["cp1251", "koi8_r", "utf-8", "utf-16-le", "utf-16-be"],
    "el": ["cp1253"],
    "tr": ["cp1254"],
    "he": ["cp1255"],
    "ja": ["cp932", "euc_jp", "utf-8", "utf-16-le", "utf-16-be"],
    "zh": ["gb18030"],
    "ko": ["cp949"],
}


def test_encoding_and_line_ends_are_detected(tmp_path):
    pairs = [(language, encoding) for language, encodings in ENCODINGS.items() for encoding in encodings]
    for (language, encoding), line_end in product(pairs, ["\n", "\r\n", "\r"]):
        lines = LINES[language].split("\n")
        text = subrip(*((2 * k, 2 * k + 1, line) for k, line in enumerate(lines))).replace("\n", line_end)
        events, report = read_report(put(tmp_path, text.encode(encoding)))
        assert ([e.text for e in events], report.encoding) == (lines, encoding), (language, encoding, line_end)


def test_byte_order_mark_gives_the_encoding(tmp_path):
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert read_events(put(tmp_path, FILES["WebVTT"].encode(encoding)))[0].text == "Hello there, you"


def test_damaged_byte_does_not_change_the_encoding_from_utf8(tmp_path):
    data = subrip((0, 1, LINES["ru"].replace("\n", " ")), (1, 2, "да")).encode()
    events, report = read_report(put(tmp_path, data[:-3] + b"\n"))
    assert events[0].text.startswith("Я не знаю")
    assert report.encoding == "utf-8" and report.repairs == {"characters replaced": 1}


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
    assert may_be_in("ja", ["1, 2, 3!"])  # without letters, in any
