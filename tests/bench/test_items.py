from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.bench.datasets import load_dataset
from framesift.bench.items import Dataset
from framesift.errors import InputError
from helpers.published_annotations import item, longvideobench, lvb_row


def dataset(count=10, **fields):
    groups = ("Short", "Long")
    return Dataset("own", tuple(item(f"q{k}", group=groups[k % 2], **fields) for k in range(count)), "hash")


def ids(some):
    return [one.id for one in some.items]


ERRORS = [
    (lambda: Dataset("own", (item(), item()), "hash"), "'q' occurs more than once"),
    (lambda: dataset().choose(ids=["q99"]), "no question 'q99'"),
    (lambda: dataset().choose(groups=["huge"]), "no group 'huge'; expected one of Short, Long"),
    (lambda: item(scenes=(((4.0, 3.0),),)), "q: a scene has 4 to 3 s; expected a start of at least 0 and a later end"),
    (lambda: dataset(2).with_scenes({"elsewhere": (((1.0, 2.0),),)}), "none of the 1 ids"),
]


@pytest.mark.parametrize(("make", "message"), ERRORS)
def test_what_contradicts_the_questions_is_an_error(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_questions_are_chosen_by_id_in_order_or_by_either_word_for_their_group():
    assert ids(dataset().choose(ids=["q7", "q2"])) == ["q2", "q7"]
    some = Dataset("own", (item("a", group="Short", published_group="15"), item("b", group="Long")), "hash")
    assert ids(some.choose(groups=["SHORT"])) == ids(some.choose(groups=["15"])) == ["a"]


@given(st.permutations(range(10)), st.integers(1, 10), st.integers(0, 5))
def test_sample_repeats_whatever_the_order_of_the_annotation(order, size, seed):
    whole = dataset()
    shuffled = Dataset("own", tuple(whole.items[k] for k in order), "hash")
    drawn = whole.choose(sample=size, seed=seed)
    assert len(drawn) == size and set(ids(drawn)) == set(ids(shuffled.choose(sample=size, seed=seed)))


def test_another_seed_draws_another_sample():
    assert len({tuple(ids(dataset(100).choose(sample=5, seed=seed))) for seed in range(5)}) == 5


def test_fingerprint_changes_with_the_annotation_and_the_questions_chosen_and_not_with_their_order():
    whole = dataset()
    backwards = Dataset("own", whole.items[::-1], "hash")
    assert whole.fingerprint == backwards.fingerprint
    assert whole.fingerprint not in (whole.choose(sample=5).fingerprint, replace(whole, annotation="x").fingerprint)


@pytest.fixture
def incomplete(tmp_path):
    """Two questions without their video, and one without its subtitles."""
    longvideobench(tmp_path, [lvb_row("a_0"), lvb_row("a_1"), lvb_row("b_0")])
    (tmp_path / "videos" / "a.mp4").unlink()
    (tmp_path / "subtitles" / "b_en.json").unlink()
    return load_dataset("longvideobench", tmp_path)


def test_missing_files_are_errors_with_their_number_and_names(incomplete):
    with pytest.raises(InputError) as refused:
        incomplete.with_files()
    assert "1 video missing for 2 questions" in str(refused.value)
    assert "1 subtitle file missing for 1 question (" in str(refused.value)
    assert "a.mp4" in str(refused.value) and "b_en.json" in str(refused.value)


def test_allow_missing_skips_the_questions_of_missing_videos_and_keeps_count(incomplete):
    some = incomplete.with_files(allow_missing=True)
    assert ids(some) == ["b_0"] and some.skipped == ("a_0", "a_1")
    assert some.items[0].subtitles is None and some.missing.count(" missing for ") == 2


def test_limit_counts_the_questions_whose_video_exists(tmp_path):
    longvideobench(tmp_path, [lvb_row(f"{name}_0") for name in "abcdef"])
    for name in "acf":
        (tmp_path / "videos" / f"{name}.mp4").unlink()
    some = load_dataset("longvideobench", tmp_path).with_files(allow_missing=True, limit=2)
    assert ids(some) == ["b_0", "d_0"] and some.skipped == ("a_0", "c_0") and some.missing.startswith("2 videos")


def test_limit_without_allow_missing_needs_only_the_files_of_the_first(tmp_path):
    longvideobench(tmp_path, [lvb_row("a_0"), lvb_row("b_0")])
    (tmp_path / "videos" / "b.mp4").unlink()
    assert ids(load_dataset("longvideobench", tmp_path).with_files(limit=1)) == ["a_0"]


def test_scenes_are_joined_by_id():
    scene = ((1.0, 2.0),)
    joined = dataset(2).with_scenes({"q1": (scene,), "elsewhere": (scene,)})
    assert [one.scenes for one in joined.items] == [(), (scene,)]
