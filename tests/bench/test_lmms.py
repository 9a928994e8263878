import json
import sys
import types

import numpy as np
import pytest
from PIL import Image

from framesift.bench import lmms
from framesift.errors import BudgetError, InputError, OptionError, UnknownName
from framesift.readers.prompts import Prompt
from framesift.types import Event, Question, VideoIndex, VideoInfo
from helpers.clips import GridEncoder, make_clip
from helpers.published_annotations import ANNOTATIONS, write

OPTIONS = ["The rain", "The wind"]
ASKED = "Select the best answer.\nWhy did it stop?\nA. The rain\nB. The wind\nThe best answer is:"
DOC = {"question": "Why did it stop?", "options": ["A. The rain", "B. The wind"], "answer": "B"}


def user(*parts):
    return {"role": "user", "content": [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]}


def video(path, **more):
    return {"type": "video", "url": str(path), **more}


def picture():
    return Image.new("RGB", (8, 8))


@pytest.fixture
def film(tmp_path):
    path = tmp_path / "film.mp4"
    path.touch()
    return path


class Show:
    """Two frames for any video; keeps what it was asked."""

    def __init__(self, words=""):
        self.asked, self.words = [], words

    def __call__(self, clip, question, doc):
        self.asked.append((clip, question, doc))
        return Prompt((picture(), picture()), ("Frame 1:", "Frame 2:"), self.words, "")


def kinds(message):
    return [part.get("text", part["type"]) for part in message["content"]]


def test_a_video_becomes_frames_in_its_place_each_after_its_line(film):
    show = Show()
    (message,) = lmms.with_exhibits([user("Look.", video(film), ASKED)], DOC, show)
    assert kinds(message) == ["Look.", "Frame 1:", "image", "Frame 2:", "image", ASKED]
    assert all(isinstance(part["url"], Image.Image) for part in message["content"] if part["type"] == "image")
    assert show.asked[0][0] == lmms.Clip(film)


def test_text_that_goes_with_the_frames_comes_after_them(film):
    (message,) = lmms.with_exhibits([user(video(film), ASKED)], DOC, Show("Said: hello"))
    assert kinds(message) == ["Frame 1:", "image", "Frame 2:", "image", "Said: hello", ASKED]


def test_what_holds_no_video_is_left_alone(film):
    system = {"role": "system", "content": "Be brief."}
    still = user({"type": "image", "url": picture()}, {"type": "audio", "url": "a.wav"}, "What is this?")
    assert lmms.with_exhibits([system, still], {}, Show()) == [system, still]
    first, second, _ = lmms.with_exhibits([system, still, user(video(film), ASKED)], DOC, Show())
    assert (first, second) == (system, still)


def test_the_tasks_own_messages_are_not_changed(film):
    messages = [user(video(film), ASKED)]
    lmms.with_exhibits(messages, DOC, Show())
    assert kinds(messages[0]) == ["video", ASKED]


def test_rewriting_twice_is_rewriting_once(film):
    show = Show()
    once = lmms.with_exhibits([user(video(film), ASKED)], DOC, show)
    assert lmms.with_exhibits(once, DOC, show) == once and len(show.asked) == 1


def test_the_question_is_the_documents_without_the_tasks_instructions():
    question = lmms.question_of([user(ASKED)], DOC)
    assert question.text == "Why did it stop?" and list(question.valid_options) == OPTIONS


def test_options_in_columns_of_their_own_are_found():
    doc = {"question": "Why did it stop?", "option0": "The rain", "option1": "The wind", "option2": "N/A"}
    assert list(lmms.question_of([user(ASKED)], doc).valid_options) == OPTIONS


def test_frames_are_chosen_by_nothing_that_the_model_is_not_told():
    hidden = lmms.question_of([user("Why did it stop?")], DOC)
    assert hidden == Question("Why did it stop?")
    other = lmms.question_of([user("Who is that? A. Ann B. Bob")], DOC)
    assert other == Question("Who is that?", ("Ann", "Bob"))


@pytest.mark.skipif(not ANNOTATIONS.is_dir(), reason="the annotations are not at hand")
def test_every_question_of_longvideobench_is_found_as_its_benchmark_has_it():
    for row in json.loads((ANNOTATIONS / "lvb_val.json").read_text(encoding="utf-8")):
        candidates = row.pop("candidates")
        columns = {f"option{k}": option for k, option in enumerate([*candidates, *["N/A"] * 5][:5])}
        lines = [f"{chr(ord('A') + k)}. {option}" for k, option in enumerate(candidates)]
        told = "\n".join([row["question"], *lines, "Answer with the option's letter from the given choices directly."])
        wanted = Question(row["question"], tuple(candidates)).query_text
        assert lmms.question_of([user(told)], row | columns).query_text == wanted


def test_without_a_documents_question_the_last_users_words_are_taken():
    talk = [user("Hello"), {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}, user(ASKED)]
    question = lmms.question_of(talk, {"name": 3})
    assert question.text.endswith("Why did it stop?") and list(question.options) == OPTIONS


def test_a_video_without_words_is_refused(film):
    with pytest.raises(InputError, match="a video and no words"):
        lmms.with_exhibits([user(video(film))], {}, Show())


def test_a_stretch_of_a_video_is_read_in_both_spellings(film):
    part = {"type": "video", "url": {"type": "video", "path": str(film), "video_start": 3, "video_end": 5.5}}
    assert lmms.clip_of(part) == lmms.Clip(film, 3.0, 5.5)
    assert lmms.clip_of(video(film.as_uri(), start_time=1.0)) == lmms.Clip(film, 1.0, None)


@pytest.mark.parametrize("url", ["https://host/film.mp4", "missing.mp4", None, [1, 2]])
def test_a_video_that_is_no_file_here_is_refused(url):
    with pytest.raises(InputError, match="expected a file on this machine"):
        lmms.clip_of({"type": "video", "url": url})


def test_a_stretch_keeps_its_candidates_and_events(film):
    rows = np.eye(10, dtype=np.float32)
    index = VideoIndex(VideoInfo(str(film), 10.0), np.arange(10.0), rows, "grid")
    events = [Event(0, 1, "before"), Event(2.5, 4, "across"), Event(5, 6, "inside"), Event(8, 9, "after")]
    short, kept = lmms.within(lmms.Clip(film, 3.0, 6.0), index, events)
    assert list(short.times_s) == [3, 4, 5, 6] and [event.text for event in kept] == ["across", "inside"]
    assert lmms.within(lmms.Clip(film), index, events) == (index, tuple(events))
    with pytest.raises(InputError, match="no candidate between 3.2 and 3.6 s"):
        lmms.within(lmms.Clip(film, 3.2, 3.6), index, events)


def test_a_talk_of_several_rounds_keeps_its_tuple(film):
    rounds = {0: ([user(video(film), ASKED)], False, ["x"], None), 1: (None, True, ["x"], None)}
    ask = lmms.wrapped(lambda doc, *, round_idx=0: rounds[round_idx], Show())
    messages, *rest = ask(DOC)
    assert kinds(messages[0])[1] == "image" and rest == [False, ["x"], None]
    assert ask(DOC, round_idx=1) == (None, True, ["x"], None)


def test_arguments_are_parted_into_ours_the_methods_and_the_inner_models():
    given = {"inner": "qwen2_5_vl", "budget": 8, "method_alpha_ground": 0.5, "max_pixels": 3, "batch_size": 1}
    inner, exhibitor, rest = lmms.parse_arguments(given)
    assert inner == "qwen2_5_vl" and rest == {"max_pixels": 3, "batch_size": 1}
    assert (exhibitor.budget, exhibitor.options) == (8, {"alpha_ground": 0.5})


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, OptionError, "inner is None; expected the name of a chat model"),
        ({"inner": "framesift"}, OptionError, "inner is 'framesift'"),
        ({"inner": "m", "budget": 0}, BudgetError, "budget is 0"),
        ({"inner": "m", "method": "best"}, UnknownName, "no selector 'best'"),
        ({"inner": "m", "method_beta": 1}, OptionError, "gcr has no option 'beta'"),
        ({"inner": "m", "text_mode": "loud"}, OptionError, "text_mode is 'loud'"),
        ({"inner": "m", "subtitles": "nowhere"}, InputError, "auto, none, or a folder"),
    ],
)
def test_a_wrong_argument_is_refused_before_any_model_is_loaded(given, error, words):
    with pytest.raises(error, match=words):
        lmms.parse_arguments(given)


def test_the_manifest_names_a_chat_model(monkeypatch):
    registry = types.ModuleType("lmms_eval.models.registry_v2")
    registry.ModelManifest = lambda **said: said
    for name in ("lmms_eval", "lmms_eval.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    assert lmms.manifest() == {"model_id": "framesift", "chat_class_path": "framesift.bench.lmms_model.Framesift"}


@pytest.fixture
def clip(tmp_path):
    return make_clip(tmp_path / "clip.mp4")


def exhibitor(folder, **said):
    settings = {"encoder": GridEncoder(), "budget": 4, "store": str(folder / "store"), **said}
    return lmms.Exhibitor(**settings)


def test_an_exhibitor_shows_the_budgets_frames_with_their_times(clip, tmp_path):
    record = tmp_path / "record.jsonl"
    prompt = exhibitor(tmp_path, record=str(record))(lmms.Clip(clip), Question("Why?", OPTIONS), {})
    (row,) = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert len(prompt.images) == len(row["times_s"]) == 4 and prompt.captions[0].startswith("Frame 1 [0:00:")
    assert (row["question"], row["options"], row["method"]) == ("Why?", OPTIONS, "gcr")


def test_a_folder_of_subtitles_gives_a_clip_those_of_its_own_time(clip, tmp_path):
    lines = [{"timestamp": [s, s + 1.0], "text": f"line {s}"} for s in (50.0, 105.0, 110.0)]
    write(tmp_path / "subtitles" / "clip_en.json", lines)
    doc = {"subtitle_path": "clip_en.json", "starting_timestamp_for_subtitles": 100}
    shower = exhibitor(tmp_path, subtitles=str(tmp_path / "subtitles"), text_mode="prompt", method="uniform", budget=20)
    assert shower(lmms.Clip(clip), Question("Why?"), doc).text.splitlines()[1:] == ["line 105.0", "line 110.0"]


def test_a_file_beside_a_clip_is_shifted_too(clip, tmp_path):
    write(tmp_path / "clip.srt", "1\n00:01:45,000 --> 00:01:49,000\nHello\n")
    shower = exhibitor(tmp_path, text_mode="tagged", method="uniform", budget=20)
    words = shower(lmms.Clip(clip), Question("Why?"), {"starting_timestamp_for_subtitles": 100}).text
    assert "[0:00:06" in words and words.endswith("Hello")


def test_a_subtitle_file_with_the_videos_name_is_found_in_the_folder(clip, tmp_path):
    write(tmp_path / "subtitles" / "clip.en.srt", "1\n00:00:05,000 --> 00:00:09,000\nHello\n")
    shower = exhibitor(tmp_path, subtitles=str(tmp_path / "subtitles"), text_mode="prompt", method="uniform")
    assert shower(lmms.Clip(clip), Question("Why?"), {}).text.endswith("Hello")


def test_a_video_without_subtitles_in_the_folder_is_shown_without(clip, tmp_path):
    (tmp_path / "subtitles").mkdir()
    shower = exhibitor(tmp_path, subtitles=str(tmp_path / "subtitles"), text_mode="prompt")
    assert shower(lmms.Clip(clip), Question("Why?"), {}).text == ""


def test_frames_of_a_stretch_lie_in_it(clip, tmp_path):
    record = tmp_path / "record.jsonl"
    exhibitor(tmp_path, record=str(record))(lmms.Clip(clip, 5.0, 12.0), Question("Why?"), {})
    times = json.loads(record.read_text(encoding="utf-8"))["times_s"]
    assert len(times) == 4 and min(times) >= 5 and max(times) <= 12
