"""Several videos asked about together: one budget, one answer, frames named by their video."""

import json

import numpy as np
import pytest

import framesift as fs
from framesift.cli import main
from framesift.indexing.video_frames import JointFrames
from framesift.pipeline.data import GAP_S
from framesift.readers.answers import answer_lines
from framesift.readers.prompts import compose
from framesift.video.frames import fetch
from helpers.clips import make_clip
from helpers.encoders import GridEncoder

QUESTION = fs.Question("Why was the launch put off?", ["The rain", "The wind"])


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    """Two files of one name, the second with subtitles that end after it."""
    folder = tmp_path_factory.mktemp("several")
    paths = []
    for k in range(2):
        (folder / str(k)).mkdir()
        paths.append(make_clip(folder / str(k) / "clip.mp4", seconds=12, seed=k))
    subtitles = "1\n00:00:02,000 --> 00:00:04,000\nThe wind was too strong\n\n2\n00:00:10,000 --> 00:01:00,000\nBye\n"
    paths[1].with_suffix(".srt").write_text(subtitles)
    return paths


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    store = tmp_path_factory.mktemp("store")
    return fs.PipelineConfig(encoder=GridEncoder(), budget=8, store=store, speech="none", fps=1)


@pytest.fixture(scope="module")
def video(config, clips):
    return fs.open(clips, config)


def test_timeline_has_the_candidates_and_events_of_all_videos(video, clips, config):
    alone = [fs.open(clip, config) for clip in clips]
    start_s = video.index.videos[1].start_s
    assert [span.name for span in video.index.videos] == ["clip.mp4", "clip (2).mp4"]
    assert start_s == alone[0].index.info.duration_s + GAP_S
    assert video.index.times_s.tolist() == [
        *alone[0].index.times_s,
        *(start_s + time_s for time_s in alone[1].index.times_s),
    ]
    assert np.array_equal(video.index.frames, np.concatenate([one.index.frames for one in alone]))
    ends = [(event.start_s - start_s, event.end_s - start_s) for event in video.events]
    assert ends == [(2.0, 4.0), (10.0, 12.0)]
    assert np.array_equal(video.event_vectors, alone[1].event_vectors)


def test_budget_follows_relevance(video):
    count = len(video.videos[0].index)
    for owner, own in enumerate((range(count), range(count, 2 * count))):
        query = video.videos[owner].index.frames[3][None]
        selection = fs.select_many(video.index, [QUESTION], queries=query, budget=4, method="topk")[0]
        assert own[3] in selection.indices
    selections = {method: video.select(QUESTION, queries=query).indices for method in ("sift", "gcr")}
    assert all(len(indices) == 8 for indices in selections.values())
    assert video.select(QUESTION, queries=query).indices == selections["sift"]


def test_frames_are_those_of_their_own_video(video, clips):
    exhibit = video.select(QUESTION)
    places = [exhibit.place(time_s) for time_s in exhibit.selection.times_s]
    assert {place[0].path for place in places} == set(clips)
    for (shown, own_s), number, picture in zip(
        places, exhibit.numbers, exhibit.with_overlay("none").images(), strict=True
    ):
        ((_, expected),) = fetch(shown.path, [own_s])
        assert number == round(5 * own_s) and np.array_equal(np.asarray(picture), expected)
    again = fs.exhibit(clips, fs.Selection.from_json(exhibit.selection.to_json()))
    assert again.to_dict() == exhibit.to_dict()
    with pytest.raises(fs.InputError, match="1 videos were given; expected the 2 of the selection"):
        fs.exhibit(clips[0], exhibit.selection)


def test_selector_gets_the_decoded_frames_of_all_videos(video):
    from framesift.pipeline.inputs import frame_source

    source = frame_source(video.index)
    count = len(video.videos[0].index)
    assert isinstance(source, JointFrames)
    images = source.images([count + 2, 1, count], size=(96, 64))
    alone = [frame_source(one.index) for one in video.videos]
    expected = [*alone[1].images([2], size=(96, 64)), *alone[0].images([1], size=(96, 64))]
    expected += alone[1].images([0], size=(96, 64))
    assert all(map(np.array_equal, images, expected))


def test_prompt_names_the_video_of_each_frame(video):
    exhibit = video.select(QUESTION)
    for time_format in ("clock", "qwen3-vl"):
        captions = compose(exhibit, QUESTION, "aligned", time_format=time_format).captions
        assert captions[0].startswith("Frame 1 [clip.mp4 0:00:") and captions[-1].startswith("Frame 8 [clip (2).mp4 0:")
    prompt = compose(exhibit, QUESTION, "aligned", time_format="none")
    assert prompt.captions[-1] == "Frame 8 [clip (2).mp4]:"


def test_answer_cites_frames_by_video_and_time(video):
    exhibit = video.select(QUESTION)
    label = exhibit.label(exhibit.selection.times_s[-1])

    class Citing:
        def answer(self, exhibit, question, text_mode="aligned"):
            return fs.Answer(f"It blows in [{label}] and in frame 1.", times_s=tuple(exhibit.selection.times_s))

    question = fs.Question("Why?")
    answer = fs.ask(exhibit, question, reader=Citing())
    assert answer.videos[-1] == "clip (2).mp4" and answer.videos[0] == "clip.mp4"
    assert answer.video_times_s[-1] == exhibit.place(exhibit.selection.times_s[-1])[1]
    cited = [line.split("  ")[2] for line in answer_lines(answer, question, report="r.html")[1:3]]
    assert cited == ["r.html#frame-1", "r.html#frame-8"]


def test_exhibit_files_name_the_videos(video, tmp_path):
    exhibit = video.select(QUESTION)
    folder = exhibit.save(tmp_path / "out", with_video=True, formats=["jsonl", "openai"])
    record = json.loads((folder / "selection.json").read_text())
    assert [one["name"] for one in record["videos"]] == ["clip.mp4", "clip (2).mp4"] and "video" not in record
    assert record["slots"][-1]["video"] == "clip (2).mp4" and record["slots"][-1]["video_time_s"] < 12
    assert {path.name for path in folder.glob("*.mp4")} == {"clip.mp4", "clip (2).mp4"}
    lines = [json.loads(line) for line in (folder / "frames.jsonl").read_text().splitlines()]
    assert [line["video"] for line in lines] == [slot["video"] for slot in record["slots"]]
    assert all((folder / line["file"]).is_file() for line in lines) and "_clip-2_" in lines[-1]["file"]
    report = (folder / "report.html").read_text()
    assert "from 2 videos of 0:00:24 in all" in report and "clip (2).mp4 0:00:" in report


def test_what_is_meant_for_one_video_is_rejected_for_several(clips, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = map(str, clips)
    for words, message in (
        ([first, second, "--to", "5"], "a window of time was given for 2 videos; expected one video"),
        ([first, second, "--subtitles", f"{second[:-4]}.srt"], "text of one video was given for 2 videos"),
        ([first, first], "clip.mp4 is given more than once; expected different videos"),
        ([first, "missing.mp4"], "missing.mp4"),
    ):
        assert main(["select", *words, "-q", "Why?", "--set", "store=s", "--encoder", "offline"]) == 2
        assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name != "s"] == []


def test_one_video_in_a_list_is_prepared_as_by_itself(config, clips):
    (prepared, alone) = fs.open(clips[:1], config), fs.open(clips[0], config)
    assert prepared.videos == () and prepared.index.videos == () and prepared.path == alone.path
