"""The pipeline from a video to an answer, and its one configuration."""

import json
import shutil
from dataclasses import fields, replace

import pytest

import framesift as fs
from framesift.errors import NotStored
from framesift.pipeline.config import RECORDS, read_settings
from helpers.clips import make_clip
from helpers.encoders import GridEncoder

EVENTS = [fs.Event(2, 4, "The launch was put off because of the wind."), fs.Event(11, 13, "Nobody has been back.")]
QUESTION = fs.Question("Why was the launch put off?", ["The rain", "The wind"])


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("pipeline") / "clip.mp4")


class Echo:
    def answer(self, exhibit, question, text_mode="aligned"):
        return fs.Answer(f"{question.text} {exhibit.selection.indices}")


@pytest.fixture(scope="module")
def video(clip):
    settings = {"encoder": GridEncoder(), "budget": 4, "store": clip.parent, "speech": "none", "reader": Echo()}
    return fs.open(clip, fs.PipelineConfig(**settings), events=EVENTS)


def test_config_rejects_what_a_setting_does_not_allow(tmp_path):
    bad = {
        "budget": 0,
        "fps": -1,
        "mode": "slow",
        "decode": "gpu",
        "method": "nothing",
        "options": {"no_such_option": 1},
        "visual_demand": 2,
        "overlay": "loud",
        "size": 0,
        "text_mode": "sung",
        "concurrency": 0,
        "speech": "telepathy",
        "seed": "x",
        "blank_frames": "drop",
        "subtitles": str(tmp_path / "missing.srt"),
    }
    for name, value in bad.items():
        with pytest.raises(fs.InputError):
            fs.PipelineConfig(**{name: value})


def test_a_visual_demand_that_the_method_does_not_use_is_rejected(video):
    sentence = "visual_demand is 0.8, which sift does not use; leave it out, or use gcr or q-gate"
    with pytest.raises(fs.OptionError, match=sentence):
        fs.PipelineConfig(visual_demand=0.8)
    with pytest.raises(fs.OptionError, match=sentence):
        fs.select(video.index, "Why?", encoder=GridEncoder(), visual_demand=0.8)

    selection = fs.select(video.index, "Why?", encoder=GridEncoder(), budget=2, method=own_demand, visual_demand=0.8)
    assert selection.trace["visual_demand"] == 0.8


def own_demand(evidence, budget):
    """The first frames, and the demand that they were selected with."""
    return replace(first_frames(evidence, budget), trace={"visual_demand": evidence.visual_demand})


def test_a_value_in_place_of_a_record_is_an_error():
    with pytest.raises(fs.OptionError, match=r"text is 'en'; expected TextSettings\(…\)"):
        fs.PipelineConfig(text="en")


def test_config_lists_the_settings_for_an_unknown_one():
    with pytest.raises(fs.OptionError, match="there is no setting 'frames'; expected one of encoder, fps"):
        fs.PipelineConfig.from_dict({"frames": 8})


def test_automatic_budget_stops_where_the_method_can():
    sift, gcr = (fs.PipelineConfig(budget="auto", method=method).selection for method in ("sift", "gcr"))
    assert sift.most == gcr.most == 32 and sift.method_options == {"stop": True} and gcr.method_options == {}
    assert fs.PipelineConfig().at_most(7) == fs.PipelineConfig(budget=7, options={"stop": True})


def test_config_is_read_from_json_and_yaml(tmp_path):
    (tmp_path / "a.json").write_text('{"budget": 8, "fps": 2}')
    (tmp_path / "a.yaml").write_text("budget: 8\nfps: 2\n")
    expected = fs.PipelineConfig(budget=8, fps=2)
    assert fs.PipelineConfig.from_file(tmp_path / "a.json") == expected
    assert fs.PipelineConfig.from_file(tmp_path / "a.yaml") == expected


def test_a_damaged_settings_file_is_one_sentence(tmp_path):
    for name, text in {"a.json": "{", "b.yaml": "a: [", "c.yaml": "- 1"}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(fs.InputError, match=name):
            read_settings(tmp_path / name)


def test_every_setting_has_a_description():
    assert all(f.metadata["help"] for record in RECORDS.values() for f in fields(record))


def test_the_seed_reaches_methods_that_draw_and_no_other():
    assert fs.PipelineConfig(method="q-frame", seed=3).selection.method_options["seed"] == 3
    assert "seed" not in fs.PipelineConfig(method="gcr", seed=3).selection.method_options


def test_an_opened_video_is_read_from_the_store_the_second_time(clip, tmp_path):
    stages = []
    for _ in range(2):
        stages.append([])
        given = {"events": EVENTS, "encoder": GridEncoder(), "store": tmp_path}
        video = fs.open(clip, progress=lambda stage, done, total: stages[-1].append(stage), **given)
    assert list(dict.fromkeys(stages[0])) == ["indexing", "encoding text"] and stages[1] == []
    assert set(video.seconds) == {"index", "events", "event_vectors"}


def test_stored_only_decodes_nothing_and_reads_what_is_stored(clip, video, tmp_path):
    with pytest.raises(NotStored, match="is not stored; index the video first"):
        fs.open(clip, encoder=GridEncoder(), store=tmp_path, stored_only=True)
    assert len(fs.open(clip, video.config, events=EVENTS, stored_only=True).index)


def test_many_questions_give_the_same_as_one_by_one(video):
    questions = [QUESTION, fs.Question("Who has been back?")]
    frames = [selection.indices for selection in video.select_many(questions)]
    assert frames == [video.select(question).indices for question in questions]
    several, single = video.ask_many(questions), video.ask(questions[1])
    assert [answer.text for answer in several][1] == single.text


def test_asking_without_a_reader_is_one_sentence(clip, tmp_path):
    video = fs.open(clip, events=EVENTS, encoder=GridEncoder(), store=tmp_path)
    with pytest.raises(fs.OptionError, match="no reader is configured"):
        video.ask(QUESTION)


def test_language_that_is_not_there_is_an_error_before_indexing(clip, tmp_path):
    video = shutil.copy(clip, tmp_path / "film.mp4")
    (tmp_path / "film.en.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello\n")
    stages = []
    settings = {"encoder": "offline", "language": "ja", "store": tmp_path / "store"}
    with pytest.raises(fs.InputError, match="'ja'"):
        fs.open(video, progress=lambda stage, done, total: stages.append(stage), **settings)
    assert stages == []


def test_selection_has_the_warnings_of_the_video_and_its_text(video, clip):
    index = replace(video.index, warnings=("frames are missing",))
    warned = replace(video, index=index, text=replace(video.text, notes=("the charset was guessed",)))
    assert warned.select(QUESTION).warnings == warned.warnings


def test_text_in_place_of_a_list_of_questions_is_an_error(video):
    for questions in ("Who?", QUESTION, None, 3, [3], [None], ["Who?", ("Who?", [])], [""]):
        with pytest.raises(fs.InputError, match="question"):
            fs.select_many(video.index, questions, encoder=GridEncoder())


def test_what_is_no_list_of_events_is_an_error(video):
    for events in ("The wind", 3, [(2, 4, "The wind")], [None], ["The wind"], {"text": "The wind"}):
        with pytest.raises(fs.InputError, match="events.* is .*; expected .*framesift.Event"):
            fs.select(video.index, QUESTION, events=events, encoder=GridEncoder())


def test_event_and_question_with_other_values_are_errors():
    for times in (("0", 1), (0, None), (0, [1]), (0, 10**400), (2.0, 1.0), (float("nan"), 1.0), (0.0, float("inf"))):
        with pytest.raises(fs.InputError, match="event"):
            fs.Event(*times, "x")
    for text in (None, 3, "\ud800"):
        with pytest.raises(fs.InputError, match="event"):
            fs.Event(0, 1, text)
    for text in (None, 3, "\ud800", "  "):
        with pytest.raises(fs.InputError, match="question"):
            fs.Question(text)
    for options in (3, [1], "AB", ["\ud800"]):
        with pytest.raises(fs.InputError, match="options"):
            fs.Question("Who?", options)


def test_rate_that_is_no_number_is_an_error(clip, tmp_path):
    for fps in ("x", None, [1], 0, -1, float("nan"), float("inf"), True, 1001, 1e9, 10**400):
        with pytest.raises(fs.OptionError, match="fps is .*; expected a number above 0, at most 1000, or auto"):
            fs.index(clip, GridEncoder(), fps=fps, store=tmp_path)


def first_frames(evidence, budget, *, skip=0):
    """The first frames."""
    slots = [fs.Slot(k, evidence.times_s[k], "context", 0.0) for k in range(skip, min(budget + skip, len(evidence)))]
    return fs.Selection(tuple(slots), "", budget)


def test_function_as_the_method_is_named_in_everything_that_is_written(clip, tmp_path):
    config = fs.PipelineConfig(
        encoder=GridEncoder(), method=first_frames, options={"skip": 1}, budget=3, store=tmp_path, speech="none"
    )
    assert config.to_dict()["method"] == "first_frames"
    found = fs.open(clip, config, events=EVENTS).select(QUESTION)
    assert (found.indices, found.method) == ([1, 2, 3], "first_frames")
    folder = found.save(tmp_path / "evidence")
    assert json.loads((folder / "selection.json").read_text(encoding="utf-8"))["method"] == "first_frames"
    assert "first_frames" in (folder / "report.html").read_text(encoding="utf-8")


def test_select_and_select_many_take_a_function(video):
    chosen = {"method": first_frames, "skip": 2, "budget": 2, "encoder": GridEncoder()}
    assert fs.select(video.index, QUESTION, **chosen).indices == [2, 3]
    assert [s.indices for s in fs.select_many(video.index, [QUESTION, "Who?"], **chosen)] == [[2, 3]] * 2
    with pytest.raises(fs.OptionError, match="first_frames has no option 'jump', nor is it a setting"):
        fs.select(video.index, QUESTION, **chosen, jump=3)


def test_corpus_refuses_a_function_that_workers_can_not_import(tmp_path):
    with pytest.raises(fs.OptionError, match=r"method is the function first_frames; expected a name of fs.selectors"):
        fs.corpus.select(tmp_path / "questions.jsonl", results=tmp_path / "results", method=first_frames)


def test_burst_takes_the_place_of_selected_frames_within_the_budget(video):
    plain, burst = video.select("Cold?", budget=3), video.select("Cold?", budget=10, burst=3)
    assert len(burst) == 9 and burst.selection.budget == 10
    assert burst.times_s == sorted(set(burst.times_s)) and list(burst.numbers) == sorted(set(burst.numbers))
    assert set(plain.times_s) <= set(burst.times_s)
    for time_s in set(burst.times_s) - set(plain.times_s):
        assert min(abs(time_s - other) for other in plain.times_s) == pytest.approx(0.2, abs=0.01)
    assert [image.size for image in burst.images()] == [(96, 64)] * 9
    assert "0.2 s after the selected frame." in [frame.reason for frame in burst]
    assert fs.Selection.from_json(burst.selection.to_json()) == burst.selection


def test_burst_at_the_start_and_end_of_the_video_is_as_long(video):
    found = video.select("Cold?", budget=8, burst=4, method="uniform", convention="ends")
    assert len(found) == 8 and found.times_s[0] == 0.0 and found.times_s[3] == pytest.approx(0.6)


@pytest.mark.parametrize("settings", [{"burst": 0}, {"burst": 5, "budget": 4}])
def test_burst_beyond_the_budget_is_one_sentence(video, settings):
    with pytest.raises(fs.OptionError, match="burst is"):
        video.select("Cold?", **settings)


def test_burst_needs_the_video(video):
    with pytest.raises(fs.OptionError, match="between its candidates"):
        fs.select(video.index, "Cold?", encoder=GridEncoder(), budget=8, burst=2)
