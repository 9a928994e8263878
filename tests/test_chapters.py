"""Chapters of a file, or by changes of the picture and pauses, and questions to try."""

from fractions import Fraction

import av
import numpy as np
import pytest

import framesift as fs
from framesift.encoders.registry import get_encoder
from framesift.pipeline.chapters import find_chapters, suggested_questions, text_questions
from helpers.clips import two_colours, write_frames

SCENES_S = (0, 7, 12, 20)
COLOURS = np.random.default_rng(3).integers(0, 256, (4, 2, 3), dtype=np.uint8)


@pytest.fixture
def video(tmp_path):
    """Thirty seconds, whose picture changes when a scene starts."""
    path = tmp_path / "scenes.mp4"
    frames = (two_colours(COLOURS[sum(k // 5 >= start_s for start_s in SCENES_S) - 1], 0) for k in range(150))
    return write_frames(path, frames, fps=5)


def opened(path, tmp_path, **settings):
    return fs.open(path, encoder="offline", store=tmp_path / "store", **settings)


def test_chapters_of_the_file_come_first(video, tmp_path):
    marked = tmp_path / "marked.mp4"
    with av.open(str(video)) as source, av.open(str(marked), "w") as out:
        rows = [(0, 9, {"title": "Opening"}), (9, 30, {})]
        out.set_chapters(
            [
                {"id": k, "start": start, "end": end, "time_base": Fraction(1), "metadata": tags}
                for k, (start, end, tags) in enumerate(rows)
            ]
        )
        stream = out.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                out.mux(packet)
    found = find_chapters(opened(marked, tmp_path, events=[fs.Event(11, 12, "And then?")]))
    assert [(row.start_s, row.end_s, row.title) for row in found] == [(0, 9, "Opening"), (9, 30, "And then?")]
    assert all(row.start_s <= row.frame_s < row.end_s for row in found)


def test_other_chapters_start_where_the_picture_changes(video, tmp_path):
    found = find_chapters(opened(video, tmp_path, events=[]))
    starts_s = [row.start_s for row in found]
    assert starts_s[0] == 0 and set(starts_s) <= set(SCENES_S) and len(starts_s) >= 3
    assert [row.end_s for row in found] == [*starts_s[1:], 30]


def test_a_still_picture_has_chapters_where_the_text_pauses(tmp_path):
    path = write_frames(tmp_path / "still.mp4", (two_colours(COLOURS[0], 0) for _ in range(150)), fps=5)
    said = [fs.Event(0, 14, "First."), fs.Event(17, 30, "Second.")]
    first, second = find_chapters(opened(path, tmp_path, events=said))
    assert 14 <= second.start_s == first.end_s <= 17 and (first.title, second.title) == ("First.", "Second.")


def test_questions_are_about_repeated_words_and_names_first():
    texts = [
        "You know, the wind is strong.",
        "Ask Celia about the wind.",
        "The wind again.",
        "I saw Celia, Celia Hart.",
    ]
    events = [fs.Event(k, k + 1, text) for k, text in enumerate(texts)]
    assert text_questions(events) == ["What is said about “Celia”?", "When is “wind” mentioned?"]
    assert text_questions([]) == text_questions(events[:1]) == []


def test_questions_about_pictures_match_above_chance(video, tmp_path):
    shown = ["Do we see a guitar?", "Do we see snow?"]
    rows = get_encoder("offline").encode_texts(["How is cheese made from milk?"] * 4 + shown)
    index = fs.VideoIndex(fs.VideoInfo(str(video), 30.0), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0], rows, "offline")
    indexed = opened(index, tmp_path)
    assert sorted(suggested_questions(indexed)) == shown
    assert all(indexed.select(question).selection.basis.chance.stands_out for question in shown)
    assert suggested_questions(opened(fs.VideoIndex(index.info, [0.0], rows[:1], "offline"), tmp_path)) == []
