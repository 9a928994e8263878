import json

import pytest

from framesift.bench.evidence_sets import read_evidence_set
from framesift.errors import InputError
from framesift.types import Event
from helpers.published_annotations import write

TIMED = [{"start_s": 1.0, "end_s": 2.5, "text": "one"}, {"start_s": "0:03", "end_s": 6, "text": "two"}]


def transcripts(tmp_path, videos, *questions):
    return write(tmp_path / "set.json", {"videos": videos, "questions": list(questions)})


def moments(tmp_path, *rows):
    return write(tmp_path / "set.jsonl", "\n".join(map(json.dumps, rows)))


def asked(**fields):
    return {"video": "v", "question": "What?", **fields}


def test_sentences_without_times_last_five_seconds_each(tmp_path):
    data = read_evidence_set(transcripts(tmp_path, {"v": ["a", " ", "c"]}, asked(first=1, last=2)))
    (video,) = data.videos
    assert video.events == (Event(0.0, 4.5, "a"), Event(10.0, 14.5, "c")) and video.duration_s == 15.0
    assert video.questions[0].spans == ((5.0, 14.5),) and data.kind == "transcripts"


def test_sentences_with_times_keep_them_and_spans_may_be_given_in_seconds(tmp_path):
    rows = asked(first=0, last=1, options=["x", 2]), asked(spans=[[2, "0:04"], [5, 6]])
    data = read_evidence_set(transcripts(tmp_path, {"v": TIMED}, *rows))
    (video,) = data.videos
    assert video.events == (Event(1.0, 2.5, "one"), Event(3.0, 6.0, "two")) and video.duration_s == 6.0
    assert [question.spans for question in video.questions] == [((1.0, 6.0),), ((2.0, 4.0), (5.0, 6.0))]
    assert video.questions[0].question.options == ("x", "2")


def test_video_of_a_set_may_have_a_file_beside_it(tmp_path):
    videos = {"v": {"sentences": TIMED, "duration_s": 9}, "w": {"sentences": TIMED, "file": "w.mp4"}}
    path = transcripts(tmp_path, videos, asked(first=0), asked(video="w", first=1))
    first, second = read_evidence_set(path).videos
    assert first.file is None and first.duration_s == 9.0
    assert second.file == tmp_path / "w.mp4" and second.duration_s is None


def test_videos_are_numbered_by_name_among_those_asked_about(tmp_path):
    videos = {name: ["a"] for name in "xyz"}
    path = transcripts(tmp_path, videos, *(asked(video=name, first=0) for name in "zxx"))
    videos = read_evidence_set(path).videos
    assert [(video.id, video.number, len(video.questions)) for video in videos] == [("x", 0, 2), ("z", 1, 1)]
    assert [video.id for video in read_evidence_set(path, limit=1).videos] == ["z"]


def test_curve_without_times_has_a_value_every_two_seconds(tmp_path):
    (video,) = read_evidence_set(moments(tmp_path, {"qid": 7, "model": [0, 1, 0], "windows": [[1, 3]]})).videos
    assert video.times_s == (1.0, 3.0, 5.0) and video.duration_s == 6.0 and video.curve == (0.0, 1.0, 0.0)
    assert (video.id, video.questions[0].id, video.questions[0].spans) == ("7", "7", ((1.0, 3.0),))


def test_duration_and_times_of_a_curve_may_be_given(tmp_path):
    row = {"id": "a", "curve": [0, 1], "windows": [[0, 1]]}
    first = read_evidence_set(moments(tmp_path, row | {"duration_s": 20})).videos[0]
    assert first.times_s == (5.0, 15.0) and first.duration_s == 20.0
    second = read_evidence_set(moments(tmp_path, row | {"times_s": [3, 4], "video": "v"})).videos[0]
    assert second.times_s == (3.0, 4.0) and second.duration_s == 4.0 and second.id == "v"


def test_constant_curves_are_left_out_and_counted(tmp_path):
    rows = [{"curve": [1, 1], "windows": [[0, 1]]}, {"curve": [0, 1], "windows": [[0, 1]]}]
    data = read_evidence_set(moments(tmp_path, *rows))
    assert [video.number for video in data.videos] == [1]
    assert data.notes == ("1 of 2 curves are constant and were left out",)


V = {"v": ["a"]}
CURVE, SPAN = {"curve": [0, 1]}, {"windows": [[0, 1]]}


@pytest.mark.parametrize(
    ("videos", "questions", "expected"),
    [
        (V, [asked(first=1)], "sentences are 1 to 1; expected numbers from 0 to 0"),
        (V, [asked()], "neither spans nor first"),
        (V, [asked(video="w", first=0)], "'w' is not among the videos"),
        (V, [asked(spans=[[3, 1]])], "has 3 to 1 s"),
        (V, [asked(spans=[])], "spans is empty"),
        ({"v": [3]}, [asked(first=0)], "videos: v"),
        ({"v": []}, [asked(first=0)], "has no sentence"),
        (V, [{"video": "v", "first": 0}], "question is missing"),
        (V, [], "has no question"),
        (V, [asked(first=0, id="x")] * 2, "'x' occurs more than once"),
    ],
)
def test_bad_transcript_set_is_one_sentence(tmp_path, videos, questions, expected):
    with pytest.raises(InputError, match=f"^[^\\n]*{expected}[^\\n]*$"):
        read_evidence_set(transcripts(tmp_path, videos, *questions))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (CURVE, "windows is missing"),
        (CURVE | {"windows": []}, "windows is empty"),
        (CURVE | {"windows": [[2, 1]]}, "has 2 to 1 s"),
        (SPAN | {"curve": [0, "x"]}, "expected a finite number"),
        (SPAN | {"query": "a dog"}, "has no curve; expected one, or a file and a query"),
        (SPAN | {"file": "a.mp4"}, "has no curve; expected one, or a file and a query"),
        (SPAN | CURVE | {"times_s": [1]}, "1 times for 2 values"),
    ],
)
def test_bad_moment_set_is_one_sentence(tmp_path, row, expected):
    with pytest.raises(InputError, match=f"^[^\\n]*{expected}[^\\n]*$"):
        read_evidence_set(moments(tmp_path, row))


def test_file_that_is_no_set_and_limit_of_none_are_errors(tmp_path):
    with pytest.raises(InputError, match="no 'videos'; expected a transcript set"):
        read_evidence_set(write(tmp_path / "set.json", {"films": {}}))
    with pytest.raises(InputError, match="limit is 0"):
        read_evidence_set(transcripts(tmp_path, V, asked(first=0)), limit=0)
