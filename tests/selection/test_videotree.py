"""VideoTree: the clusters, when they are widened, where the tree is deep, and what a model's replies change."""

import re

import numpy as np
import pytest

import framesift as fs
from framesift.selection.looking.videotree import (
    cosine_kmeans,
    expand,
    middle_row,
    nearest_to_centres,
    parse_ratings,
    ward_clusters,
)
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


def test_kmeans_finds_separate_scenes():
    clusters, centres = cosine_kmeans(SCENES, [0, 12, 24, 36], np.random.default_rng(0))
    assert [set(clusters[k : k + 10].tolist()) for k in (0, 10, 20, 30)] == [{0}, {1}, {2}, {3}]
    np.testing.assert_allclose(centres[0], SCENES[:10].mean(axis=0))
    nearest = nearest_to_centres(SCENES, clusters, centres)
    assert nearest[0] == np.linalg.norm(SCENES[:10] - centres[0], axis=1).argmin()


def test_kmeans_moves_a_centre_without_frames_to_a_drawn_one():
    rows = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5)
    clusters, _ = cosine_kmeans(rows, [0, 1, 2], np.random.default_rng(0))
    assert len(set(clusters[:5].tolist())) == len(set(clusters[5:].tolist())) == 1


def test_ward_splits_by_distance_and_the_middle_is_nearest_to_the_mean():
    rows = np.array([[1.0, 0.0], [0.99, 0.1], [0.98, 0.2], [0.0, 1.0], [0.1, 0.99]])
    assert sorted(ward_clusters(rows, [0, 1, 2, 3, 4], 2)) == [[0, 1, 2], [3, 4]]
    assert ward_clusters(rows, [3], 4) == [[3]]
    assert middle_row(rows, [0, 1, 2]) == 1
    assert middle_row(rows, [3, 4]) == 3  # both are as near to their mean


def test_tree_is_deeper_where_a_cluster_is_more_relevant():
    members = list(range(40))
    rows = np.random.default_rng(1).standard_normal((40, 6))
    counts = [len(expand(rows, members, relevance, 4)[1]) for relevance in (1, 2, 3)]
    assert counts[:2] == [0, 4] and 8 < counts[2] <= 16


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
