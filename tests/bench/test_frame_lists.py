import json
from dataclasses import replace

import pytest

from framesift.bench.frame_lists import count_past_end, frame_times, read_frame_rates, read_selections
from framesift.errors import InputError
from framesift.video.frames import frame_numbers
from helpers.clips import make_clip
from helpers.published_annotations import item, write


@pytest.mark.parametrize(
    "content",
    [
        [{"id": "a", "times_s": [1.0, 2.0]}, {"id": "elsewhere", "times_s": [9]}],
        [{"question_id": "a", "frame_timestamps": [1, 2]}],
        [{"id": "a", "keyframe_indices": [25, 50], "fps": 25}],
        [{"q_uid": "a", "frame_idx": [30.0, 60.0]}],
        [{"uid": "a", "frames_used": [2, 4], "timestamps_used": [1.0, 2.0]}],
        {"a": [30, 60], "elsewhere": [3]},
        {"a": {"times_s": [1.0, 2.0]}},
    ],
)
def test_other_peoples_frames_are_read_in_seconds(tmp_path, content):
    path = write(tmp_path / "frames.json", content)
    assert read_selections(path, [item("a")], fps=30.0) == {"a": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"id": "elsewhere", "times_s": [9]}], "none of the 1 entries"),
        ([{"id": "a"}], "entry 1 has no frames; expected one of times_s"),
        ([{"id": "a", "times_s": [1]}, {"id": "a", "times_s": [2]}], "repeats the id 'a'"),
        ([[30], [60]], "2 lists of frames without ids for 3 questions"),
        ({"a": [10]}, "no frame rate, and v.mp4 does not exist; give the rate of each video"),
    ],
)
def test_list_that_can_not_be_used_is_an_error(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_selections(write(tmp_path / "frames.json", content), [item("a")], ids=["a", "b", "c"])


def test_frame_numbers_become_times_by_the_video_itself(tmp_path):
    path = tmp_path / "clip.mp4"
    make_clip(path, seconds=3)
    times = frame_times(path, [0, 3, 7])
    assert frame_numbers(path, times) == [0, 3, 7]
    with pytest.raises(InputError, match="a frame number is -1"):
        frame_times(path, [3, -1], fps=25.0)


def test_lists_without_ids_are_in_the_annotations_order(tmp_path):
    path = write(tmp_path / "aks.json", [[30], [60], []])
    chosen = [item("c"), item("b")]
    assert read_selections(path, chosen, fps=30.0, ids=["a", "b", "c"]) == {"b": [2.0], "c": []}


def test_one_rate_that_places_a_frame_after_the_end_is_refused(tmp_path):
    path = write(tmp_path / "frames.json", {"a": [10, 310]})
    long = item("a", duration_s=10.0)
    assert read_selections(path, [long], fps=30.0) == {"a": [pytest.approx(1 / 3), pytest.approx(310 / 30)]}
    with pytest.raises(InputError, match="at 24 frames per second frame 310 is at 12.9 s, after the end of"):
        read_selections(path, [long], fps=24.0)


def test_frames_after_the_end_are_counted():
    times = {"a": [11.5], "b": [11.0], "c": []}
    assert count_past_end([item(name, duration_s=10.0) for name in "abc"], times) == 1


def test_rates_are_read_by_video(tmp_path):
    asked = replace(item("a", video="v.mp4"), video_id="v")
    rates = read_frame_rates(write(tmp_path / "r.json", {"v": 25, "elsewhere": 1}), [asked])
    assert rates == {"v": 25.0}
    path = write(tmp_path / "frames.jsonl", json.dumps({"id": "a", "frame_idx": [50]}))
    assert read_selections(path, [asked], fps=rates) == {"a": [2.0]}


def test_rates_follow_from_the_common_step_of_frames_taken_once_a_second(tmp_path):
    items = [item("a", video="x"), item("b", video="x"), item("c", video="y"), item("d", video="z")]
    path = write(tmp_path / "aks.json", [[0, 58, 116], [87], [50, 125], [0, 3, 7]])
    assert read_frame_rates(path, items) == {"x": 29.97, "y": 25.0}


@pytest.mark.parametrize("content", [{"v": 0}, {"v": "fast"}, {"v": {"rate": 25}}, [{"fps": 25}], {}, 7, {"v": -1}])
def test_bad_rates_are_one_sentence(tmp_path, content):
    with pytest.raises(InputError, match="expected|none of|has no"):
        read_frame_rates(write(tmp_path / "rates.json", content), [item("a", video="v")])
