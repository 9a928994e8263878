import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.bench.evidence_scores import read_scenes, score_selections, score_times
from framesift.errors import InputError
from helpers.published_annotations import item, write


def scenes(*spans):
    """A scene for each list of spans."""
    return tuple(map(tuple, spans))


def literal(times, scene_list):
    """KFS-Bench's three factors, word for word."""
    owners = [[k for k, scene in enumerate(scene_list) if any(a <= t <= b for a, b in scene)] for t in times]
    keys = sum(bool(own) for own in owners)
    counts = [sum(k in own for own in owners) for k in range(len(scene_list))]
    lengths = [sum(b - a for a, b in scene) for scene in scene_list]
    due = [max(1, int(np.floor(min(length / sum(lengths) * keys, 1 / len(scene_list) * keys)))) for length in lengths]
    recall = np.mean([got >= must for got, must in zip(counts, due, strict=True)])
    best = 0.0
    for power in range(11):
        fair = np.array([length ** (power / 10) for length in lengths])
        if keys:
            best = max(best, counts @ fair / np.linalg.norm(counts) / np.linalg.norm(fair))
    return keys / len(times), np.mean([got > 0 for got in counts]), (keys / len(times) * recall * best) ** (1 / 3)


@pytest.mark.parametrize(
    ("fields", "times", "expected"),
    [
        ({"moments_s": (10.0,)}, [3.0, 12.0], {"near": True}),
        ({"moments_s": (10.0,)}, [3.0, 12.01], {"near": False}),
        ({"scenes": scenes([(10, 12)])}, [13.0], {"near": True, "inside": 0.0, "unified": 0.0}),
        ({"moments_s": (10.0, 50.0, 90.0)}, [11.0, 89.0], {"moments_near": pytest.approx(2 / 3)}),
        ({"moments_s": (1.0,), "scenes": scenes([(0, 2)])}, [], {"near": False, "inside": 0.0, "unified": 0.0}),
    ],
)
def test_frame_within_two_seconds_of_a_moment_or_scene_is_near(fields, times, expected):
    found = score_times(item(**fields), times)
    assert {name: getattr(found, name) for name in expected} == expected


spans = st.tuples(st.integers(0, 60), st.integers(1, 15)).map(lambda s: (s[0], s[0] + s[1]))


@given(
    st.lists(st.lists(spans, min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(st.floats(0, 80), min_size=1, max_size=20),
)
def test_scene_scores_are_those_of_the_literal_definition(parts, times):
    found = score_times(item(scenes=scenes(*parts)), times)
    assert (found.inside, found.scenes_hit, found.unified) == pytest.approx(literal(times, parts))


def test_unified_mean_is_geometric_and_a_miss_counts_a_hundredth():
    items = [item("a", video="a", scenes=scenes([(0, 10)])), item("b", video="b", scenes=scenes([(0, 10)]))]
    _, summary = score_selections(items, {"a": [5.0], "b": [50.0]})
    assert summary.unified == pytest.approx(0.1)
    assert summary.inside.value == 0.5 and summary.scenes_hit.value == 0.5


def test_only_questions_with_a_selection_and_a_moment_are_scored():
    items = [item("a", moments_s=(1.0,)), item("b"), item("c", moments_s=(1.0,))]
    scores, summary = score_selections(items, {"a": [1.0], "b": [1.0]})
    assert [one.item_id for one in scores] == ["a"]
    assert (summary.n, summary.n_scenes, summary.unscored) == (1, 0, 1)
    assert score_times(item(), [1.0]) is None


def test_scenes_are_read_from_a_csv_with_the_last_second_inside(tmp_path):
    text = "id,segment_id,scene_id,start,end\nq_0,0,4,0:00:12,0:00:13\nq_0,1,4,1:00:00,1:00:00\nq_0,2,5,00:30,00:31\n"
    assert read_scenes(write(tmp_path / "s.csv", text)) == {"q_0": scenes([(12, 14), (3600, 3601)], [(30, 32)])}


def test_csv_with_other_columns_is_an_error(tmp_path):
    with pytest.raises(InputError, match="expected the columns id, scene_id, start, end"):
        read_scenes(write(tmp_path / "s.csv", "video,begin\na,1\n"))
