"""VideoTree: the clusters, when they are widened, where the tree is deep, and what a model's replies change."""

import re

import numpy as np
import pytest

import framesift as fs
from framesift.selection.looking.videotree import parse_ratings
from helpers.detector_scenes import scene, scene_evidence
from helpers.models import RuleModel, make_lookup

SCENES = np.repeat(np.eye(4), 10, axis=0) + 0.01 * np.random.default_rng(0).standard_normal((40, 4))


def select(evidence, budget, model, **options):
    lookup = make_lookup(4, frames=scene(len(evidence))[1].frames)
    return fs.select_frames(evidence, budget=budget, method="videotree", model=model, lookup=lookup, **options)


def rate(ratings):
    """A model that gives each frame one of these ratings, in turn."""

    def reply(text):
        count = int(re.search(r"descriptions of (\d+) frames", text)[1])
        return f'{{"relevance": {[ratings[k % len(ratings)] for k in range(count)]}}}'

    return RuleModel(relevance=reply)


PICKED = {  # ratings in turn → the frames, those of the four clusters first
    (1,): "180 97 149 75 30 164 101 188 121 104 53 45 155 124 191 127",
    (1, 2, 3): "149 97 180 75 61 18 117 2 100 103 63 36 71 74 147 136",
    (3,): "180 97 149 75 188 104 53 45 9 84 15 61 34 174 25 26",
}


def test_clusters_and_their_branches_are_as_recorded():
    """k-means by cosines, the frame nearest to each centre, and Ward's branches, deeper where a cluster is relevant."""
    for ratings, picked in PICKED.items():
        trace = select(scene_evidence(200), 16, rate(ratings), clusters=4, max_clusters=4).trace
        assert [(row["index"], row["frames"]) for row in trace["clusters"]] == [
            (75, 50),
            (97, 46),
            (149, 53),
            (180, 51),
        ]
        assert trace["picked"] == list(map(int, picked.split()))
    picked = select(scene_evidence(60), 24, rate((3,)), clusters=4, max_clusters=4).trace["picked"]
    # A branch of one frame is left out.
    assert picked == [14, 22, 5, 17, 47, 30, 28, 51, 33, 53, 27, 6, 32, 11, 20, 7, 23, 38, 52, 18, 40, 0, 9, 57]


def test_centres_that_start_in_one_scene_find_both():
    evidence = fs.Evidence(np.arange(10.0), 10.0, np.repeat(np.eye(2), 5, axis=0), [1.0, 0.5], scores=np.zeros(10))
    lookup = make_lookup(2, frames=scene(10)[1].frames)
    given = {"method": "videotree", "model": rate((3, 1, 2)), "clusters": 3, "max_clusters": 3}
    trace = fs.select_frames(evidence, budget=6, lookup=lookup, seed=10, **given).trace
    assert [(row["index"], row["frames"]) for row in trace["clusters"]] == [(0, 5), (5, 5)]


def test_ratings_are_read_by_rule():
    for reply, expected in {
        'Sure: {"relevance": [1, 3, 2]}': [1, 3, 2],
        "[3, 3, 1, 2, 2]": [3, 3, 1],
        '{"relevance": [4, "2", true]}': [None, None, None],
        '{"relevance": [2]}': [2, None, None],
        '{"relevance": "high"}': [None, None, None],
        "I can't tell.": [None, None, None],
    }.items():
        assert parse_ratings(reply, 3) == expected, reply


def test_clusters_are_widened_until_enough_are_relevant():
    evidence = scene_evidence(200)
    for ratings, widths in {(3,): [8], (1, 3): [8], (1,): [8, 16, 32], (1, 1, 1, 1, 1, 3): [8, 16, 32]}.items():
        assert select(evidence, 20, rate(ratings)).trace["widths"] == widths
    assert select(evidence, 20, rate((1,)), max_clusters=16).trace["widths"] == [8, 16]
    assert select(evidence, 20, rate((1, 1, 1, 3)), enough=2).trace["widths"] == [8]


def test_described_frames_are_described_once_and_rated_in_order():
    model = rate((1,))
    trace = select(scene_evidence(200), 20, model).trace
    assert model.described == trace["calls"] - 3  # one rating for each width
    last = model.asked("relevance")[-1]
    lines = re.findall(r"^(\d+)\. \[(\S+)\] (.+)$", last, re.M)
    assert [int(number) for number, _, _ in lines] == list(range(1, len(trace["clusters"]) + 1))
    assert [text for _, _, text in lines] == [row["caption"] for row in trace["clusters"]]
    assert [row["index"] for row in trace["clusters"]] == sorted(row["index"] for row in trace["clusters"])
    assert "Question: Who opens the door?\nA. the man\nB. the dog" in last


def test_frames_come_from_relevant_clusters_first():
    evidence = fs.Evidence(np.arange(40.0), 40.0, SCENES, [1.0, 0, 0, 0], scores=np.zeros(40))
    trace = select(evidence, 7, rate((1, 1, 3, 1)), clusters=4, max_clusters=4).trace
    relevant = next(row for row in trace["clusters"] if row["rating"] == 3)
    first = relevant["index"] // 10
    # The frame of the relevant cluster, those of the others, then the relevant cluster's branches.
    assert {trace["picked"][k] // 10 for k in (0, 4, 5, 6)} == {first}


def test_limit_of_calls_stops_the_widening():
    evidence = scene_evidence(200)
    assert select(evidence, 20, rate((1,)), calls=20).trace["widths"] == [8]
    with pytest.raises(fs.OptionError, match="videotree needs 9 model calls for this question, more than calls = 8"):
        select(evidence, 20, rate((1,)), calls=8)


def test_a_budget_for_all_frames_asks_nothing():
    model = RuleModel()
    assert select(scene_evidence(5), 5, model).indices == [0, 1, 2, 3, 4]
    assert model.messages == []
