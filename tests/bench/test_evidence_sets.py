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


def test_curve_has_a_value_every_two_seconds_or_at_given_times(tmp_path):
    row = {"id": "a", "curve": [0, 1], "windows": [[0, 1]]}
    rows = (
        {"qid": 7, "model": [0, 1, 0], "windows": [[1, 3]]},
        row | {"duration_s": 20},
        row | {"id": "c", "curve": [1, 1]},
    )
    data = read_evidence_set(moments(tmp_path, *rows, row | {"id": "b", "times_s": [3, 4], "video": "v"}))
    first, long, own = data.videos
    assert first.times_s == (1.0, 3.0, 5.0) and first.duration_s == 6.0 and first.curve == (0.0, 1.0, 0.0)
    assert (first.id, first.questions[0].id, first.questions[0].spans) == ("7", "7", ((1.0, 3.0),))
    assert long.times_s == (5.0, 15.0) and long.duration_s == 20.0
    assert own.times_s == (3.0, 4.0) and own.duration_s == 4.0 and own.id == "v"
    assert [video.number for video in data.videos] == [0, 1, 3]
    assert data.notes == ("1 of 4 curves are constant and were left out",)


V = {"v": ["a"]}
CURVE, SPAN = {"curve": [0, 1]}, {"windows": [[0, 1]]}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((V, asked(first=1)), "sentences are 1 to 1; expected numbers from 0 to 0"),
        ((V, asked()), "neither spans nor first"),
        ((V, asked(video="w", first=0)), "'w' is not among the videos"),
        ((V, asked(spans=[[3, 1]])), "has 3 to 1 s"),
        ((V, asked(spans=[])), "spans is empty"),
        (({"v": [3]}, asked(first=0)), "videos: v"),
        (({"v": []}, asked(first=0)), "has no sentence"),
        ((V, {"video": "v", "first": 0}), "question is missing"),
        ((V,), "has no question"),
        ((V, asked(first=0, id="x"), asked(first=0, id="x")), "'x' occurs more than once"),
        (CURVE, "windows is missing"),
        (CURVE | {"windows": []}, "windows is empty"),
        (CURVE | {"windows": [[2, 1]]}, "has 2 to 1 s"),
        (SPAN | {"curve": [0, "x"]}, "expected a finite number"),
        (SPAN | {"query": "a dog"}, "has no curve; expected one, or a file and a query"),
        (SPAN | {"file": "a.mp4"}, "has no curve; expected one, or a file and a query"),
        (SPAN | CURVE | {"times_s": [1]}, "1 times for 2 values"),
    ],
)
def test_bad_set_of_transcripts_or_curves_is_one_sentence(tmp_path, given, expected):
    path = moments(tmp_path, given) if isinstance(given, dict) else transcripts(tmp_path, *given)
    with pytest.raises(InputError, match=f"^[^\\n]*{expected}[^\\n]*$"):
        read_evidence_set(path)


def test_file_that_is_no_set_and_limit_of_none_are_errors(tmp_path):
    with pytest.raises(InputError, match="no 'videos'; expected a transcript set"):
        read_evidence_set(write(tmp_path / "set.json", {"films": {}}))
    with pytest.raises(InputError, match="limit is 0"):
        read_evidence_set(transcripts(tmp_path, V, asked(first=0)), limit=0)
