"""The lmms-eval plug-in: messages with frames in place of videos."""

import json
import sys
import types

import pytest
from PIL import Image

from framesift.bench import lmms
from framesift.errors import BudgetError, InputError, OptionError
from framesift.readers.prompts import Prompt
from framesift.types import Question, Window
from helpers.clips import make_clip
from helpers.encoders import GridEncoder
from helpers.published_annotations import ANNOTATIONS, write

OPTIONS = ["The rain", "The wind"]
PROMPT = "Select the best answer.\nWhy did it stop?\nA. The rain\nB. The wind\nThe best answer is:"
INSTRUCTION = "Answer with the option's letter from the given choices directly."
DOC = {"question": "Why did it stop?", "options": ["A. The rain", "B. The wind"], "answer": "B"}


def user(*parts):
    return {"role": "user", "content": [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]}


def video(path, **more):
    return {"type": "video", "url": str(path), **more}


def image():
    return Image.new("RGB", (8, 8))


@pytest.fixture
def video_file(tmp_path):
    path = tmp_path / "video.mp4"
    path.touch()
    return path


class TwoFrames:
    """Two frames for any video; stores its calls."""

    def __init__(self, text=""):
        self.calls, self.text = [], text

    def __call__(self, clip, question, doc):
        self.calls.append((clip, question, doc))
        return Prompt((image(), image()), ("Frame 1:", "Frame 2:"), self.text, "")


def kinds(message):
    return [part.get("text", part["type"]) for part in message["content"]]


def test_video_is_replaced_by_frames_with_captions_and_their_text(video_file):
    make_prompt = TwoFrames("Subtitles: hello")
    given = [user("Look.", video(video_file), PROMPT)]
    (message,) = lmms.replace_videos(given, DOC, make_prompt)
    assert kinds(message) == ["Look.", "Frame 1:", "image", "Frame 2:", "image", "Subtitles: hello", PROMPT]
    assert all(isinstance(part["url"], Image.Image) for part in message["content"] if part["type"] == "image")
    assert make_prompt.calls[0][0] == lmms.Clip(video_file) and kinds(given[0]) == ["Look.", "video", PROMPT]
    with pytest.raises(InputError, match="a video and no text"):
        lmms.replace_videos([user(video(video_file))], {}, make_prompt)


def test_messages_without_a_video_are_unchanged(video_file):
    system = {"role": "system", "content": "Be brief."}
    still = user({"type": "image", "url": image()}, {"type": "audio", "url": "a.wav"}, "What is this?")
    assert lmms.replace_videos([system, still], {}, TwoFrames()) == [system, still]
    first, second, _ = lmms.replace_videos([system, still, user(video(video_file), PROMPT)], DOC, TwoFrames())
    assert (first, second) == (system, still)


COLUMNS = {"question": "Why did it stop?", "option0": "The rain", "option1": "The wind", "option2": "N/A"}


@pytest.mark.parametrize(
    ("prompt", "doc", "expected"),
    [
        (PROMPT, DOC, Question("Why did it stop?", OPTIONS)),  # without the instructions of the task
        (PROMPT, COLUMNS, Question("Why did it stop?", OPTIONS)),
        ("Why did it stop?", DOC, Question("Why did it stop?")),  # only what the message contains
        ("Who is that? A. Ann B. Bob", DOC, Question("Who is that?", ["Ann", "Bob"])),
        ("Who is that? A. Ann B. Bob", {"name": 3}, Question("Who is that?", ["Ann", "Bob"])),
    ],
)
def test_question_is_that_of_the_last_message_and_the_document(prompt, doc, expected):
    answered = {"role": "assistant", "content": [{"type": "text", "text": "Yes?"}]}
    question = lmms.question_of([user("Hello"), answered, user(prompt)], doc)
    assert (question.text, question.valid_options) == (expected.text, expected.options)


@pytest.mark.sample_data
def test_every_question_of_longvideobench_is_parsed():
    for row in json.loads((ANNOTATIONS / "lvb_val.json").read_text(encoding="utf-8")):
        candidates = row.pop("candidates")
        columns = {f"option{k}": option for k, option in enumerate([*candidates, *["N/A"] * 5][:5])}
        lines = [f"{chr(ord('A') + k)}. {option}" for k, option in enumerate(candidates)]
        prompt = "\n".join([row["question"], *lines, INSTRUCTION])
        expected = Question(row["question"], tuple(candidates)).query_text
        assert lmms.question_of([user(prompt)], row | columns).query_text == expected


def test_clip_is_read_from_both_forms(video_file):
    part = {"type": "video", "url": {"type": "video", "path": str(video_file), "video_start": 3, "video_end": 5.5}}
    assert lmms.clip_of(part) == lmms.Clip(video_file, Window(3.0, 5.5))
    assert lmms.clip_of(video(video_file.as_uri(), start_time=1.0)) == lmms.Clip(video_file, Window(1.0))


@pytest.mark.parametrize("url", ["https://host/video.mp4", "missing.mp4", None, [1, 2]])
def test_video_that_is_not_a_file_is_an_error(url):
    with pytest.raises(InputError, match="expected a file on this machine"):
        lmms.clip_of({"type": "video", "url": url})


def test_multi_round_result_keeps_its_tuple(video_file):
    rounds = {0: ([user(video(video_file), PROMPT)], False, ["x"], None), 1: (None, True, ["x"], None)}
    ask = lmms.wrap(lambda doc, *, round_idx=0: rounds[round_idx], TwoFrames())
    messages, *rest = ask(DOC)
    assert kinds(messages[0])[1] == "image" and rest == [False, ["x"], None]
    assert ask(DOC, round_idx=1) == (None, True, ["x"], None)


def test_arguments_are_split_into_settings_options_and_the_rest():
    given = {"inner": "qwen2_5_vl", "budget": 8, "method_alpha_ground": 0.5, "max_pixels": 3, "batch_size": 1}
    inner, exhibitor, rest = lmms.parse_arguments(given)
    assert inner == "qwen2_5_vl" and rest == {"max_pixels": 3, "batch_size": 1}
    selection = exhibitor.config.selection
    assert (selection.budget, selection.options) == (8, {"alpha_ground": 0.5})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, OptionError, "inner is None; expected the name of a chat model"),
        ({"inner": "framesift"}, OptionError, "inner is 'framesift'"),
        ({"inner": "m", "budget": 0}, BudgetError, "budget is 0"),
        ({"inner": "m", "method_beta": 1}, OptionError, "gcr has no option 'beta'"),
        ({"inner": "m", "subtitles": "nowhere"}, InputError, "auto, none, or a directory"),
    ],
)
def test_invalid_argument_is_an_error_before_a_model_is_loaded(given, error, message):
    with pytest.raises(error, match=message):
        lmms.parse_arguments(given)


def test_manifest_names_a_chat_model(monkeypatch):
    registry = types.ModuleType("lmms_eval.models.registry_v2")
    registry.ModelManifest = lambda **fields: fields
    for name in ("lmms_eval", "lmms_eval.models"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    assert lmms.manifest() == {"model_id": "framesift", "chat_class_path": "framesift.bench.lmms_model.Framesift"}


@pytest.fixture
def clip(tmp_path):
    return make_clip(tmp_path / "clip.mp4")


def exhibitor(folder, **settings):
    defaults = {"encoder": GridEncoder(), "budget": 4, "store": str(folder / "store")}
    return lmms.make_exhibitor(**defaults | settings)


def test_exhibitor_fills_the_budget_and_records_it(clip, tmp_path):
    record = tmp_path / "record.jsonl"
    prompt = exhibitor(tmp_path, record=str(record))(lmms.Clip(clip), Question("Why?", OPTIONS), {})
    (row,) = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert len(prompt.images) == len(row["times_s"]) == 4 and prompt.captions[0].startswith("Frame 1 [0:00:")
    assert (row["question"], row["options"], row["method"]) == ("Why?", OPTIONS, "gcr")
    exhibitor(tmp_path, record=str(record))(lmms.Clip(clip, Window(5.0, 12.0)), Question("Why?"), {})
    times_s = json.loads(record.read_text(encoding="utf-8").splitlines()[1])["times_s"]
    assert len(times_s) == 4 and min(times_s) >= 5 and max(times_s) <= 12  # inside the clip


def test_exhibitor_logs_and_records_warnings(tmp_path, caplog):
    data = make_clip(tmp_path / "cut.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(data[: len(data) * 6 // 10])
    make_prompt = exhibitor(tmp_path, record=str(tmp_path / "record.jsonl"))
    for text in ("Why?", "Who?"):
        make_prompt(lmms.Clip(tmp_path / "cut.mkv"), Question(text), {})
    (warning,) = json.loads((tmp_path / "record.jsonl").read_text(encoding="utf-8").splitlines()[1])["warnings"]
    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert logged == [f"cut.mkv: {warning}"]


def test_subtitles_of_a_directory_are_shifted_to_the_clip(clip, tmp_path):
    lines = [{"timestamp": [s, s + 1.0], "text": f"line {s}"} for s in (50.0, 105.0, 110.0)]
    write(tmp_path / "subtitles" / "clip_en.json", lines)
    doc = {"subtitle_path": "clip_en.json", "starting_timestamp_for_subtitles": 100}
    make_prompt = exhibitor(
        tmp_path, subtitles=str(tmp_path / "subtitles"), text_mode="prompt", method="uniform", budget=20
    )
    assert make_prompt(lmms.Clip(clip), Question("Why?"), doc).text.splitlines()[1:] == ["line 105.0", "line 110.0"]


@pytest.mark.parametrize(
    ("name", "folder", "expected"),
    [
        ("subtitles/clip.en.srt", "subtitles", {"Hello"}),
        ("subtitles/other.srt", "subtitles", set()),
        ("clip.srt", "auto", {"Hello"}),
    ],
)
def test_subtitles_are_found_by_the_name_of_the_video_and_shifted_to_the_clip(clip, tmp_path, name, folder, expected):
    write(tmp_path / name, "1\n00:01:45,000 --> 00:01:49,000\nHello\n")
    subtitles = folder if folder == "auto" else str(tmp_path / folder)
    make_prompt = exhibitor(tmp_path, subtitles=subtitles, text_mode="prompt", method="uniform", budget=20)
    prompt = make_prompt(lmms.Clip(clip), Question("Why?"), {"starting_timestamp_for_subtitles": 100})
    assert set(prompt.text.splitlines()[1:]) == expected


def test_settings_reach_the_pipeline_and_every_candidate_is_encoded_as_in_the_paper(tmp_path):
    assert exhibitor(tmp_path).config.index.unchanged_frames == "encode"
    config = exhibitor(tmp_path, visual_demand="0.25", unchanged_frames="reuse").config
    assert (config.selection.visual_demand, config.index.unchanged_frames) == (0.25, "reuse")
