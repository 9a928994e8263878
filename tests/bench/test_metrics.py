from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift.bench.metrics import by_setting, compare, compare_all, score, score_categories, score_groups, signed
from framesift.errors import InputError
from helpers.result_rows import answers, row


def flipped(rows, count, to=2):
    """The same answers, the first `count` right ones made wrong."""
    right = [one.item_id for one in rows if one.correct][:count]
    return [replace(one, choice=to) if one.item_id in right else one for one in rows]


def test_overall_weighs_every_question_the_same():
    rows = [row(f"s{k}", group="Short") for k in range(9)] + [row("l", group="Long", choice=0)]
    found = score_groups(rows)
    assert found["Short"].accuracy.value == 1.0 and found["Long"].accuracy.value == 0.0
    assert found["Overall"].accuracy.value == 0.9
    assert list(score_groups(answers())) == ["Short", "Medium", "Long", "Overall"]


def test_unparsed_replies_count_as_wrong_and_errors_not_at_all():
    found = score([row("a"), row("b", parsed=False, choice=None), row("c", error="no video")])
    assert (found.accuracy.value, found.n, found.unparsed, found.errors) == (0.5, 2, 1, 1)
    assert score([row(reader="")]).accuracy is None


def test_question_of_two_categories_counts_in_both():
    found = score_categories([row("a", categories=("x", "y")), row("b", categories=("y",), choice=0)])
    assert {name: (one.n, one.accuracy.value) for name, one in found.items()} == {"x": (1, 1.0), "y": (2, 0.5)}


def test_settings_part_rows_that_are_not_comparable():
    assert len(by_setting([row("a"), row("b"), row("a", prompt="bare"), row("a", options={"gate": 0.2})])) == 3


def test_pair_counts_who_alone_was_right():
    ours = answers(n=40, accuracy=1.0)
    found = compare(ours, flipped(ours, 6), names=("gcr", "aks"))
    assert (found.n, found.dropped) == (40, 0)
    assert found.difference.value == pytest.approx(0.15) and found.p == pytest.approx(2 * 0.5**6)


def test_questions_that_one_did_not_answer_or_failed_on_are_counted_and_not_compared():
    ours = answers(n=40, accuracy=1.0)
    failed = [replace(ours[0], error="no video"), *ours[1:]]
    pairs = [compare(ours[:30], ours[10:]), compare(ours, failed)]
    assert [(found.n, found.dropped) for found in pairs] == [(20, 20), (39, 1)]


@pytest.mark.parametrize(
    ("ours", "theirs", "message"),
    [
        ([row("a")], [row("b")], "no question in common"),
        ([row("a")], [row("a", truth=0)], "scored on different answers"),
        ([row("a"), row("a", budget=32)], [row("a")], "answers a twice"),
    ],
)
def test_answers_that_can_not_be_compared_are_an_error(ours, theirs, message):
    with pytest.raises(InputError, match=message):
        compare(ours, theirs)


@pytest.mark.parametrize("count", [1, 60])
def test_only_a_large_difference_is_distinguishable(count):
    ours = answers(n=200, accuracy=0.9)
    found = compare_all({"gcr": ours, "aks": flipped(ours, count)})[0]
    assert found.distinguishable is (count > 1) and found.difference.value == pytest.approx(count / 200)


def test_difference_of_one_video_alone_is_not_distinguishable():
    # Twelve questions decide it by McNemar's test, but they are all of one video.
    ours = [row(f"q{k}", video_id="v" if k < 12 else f"v{k}") for k in range(60)]
    found = compare_all({"gcr": ours, "aks": flipped(ours, 12)})[0]
    assert found.p < 0.001 and found.difference.low <= 0 and not found.distinguishable


def test_what_only_the_unadjusted_p_would_pass_is_not_distinguishable():
    ours = answers(n=200, accuracy=0.9)
    named = {"gcr": ours, **{name: flipped(ours, 6) for name in "abc"}}
    assert len(compare_all(named)) == 6  # every pair once
    pair = compare_all(named, against="gcr")[0]
    assert pair.p < 0.05 < pair.p_holm and pair.difference.high < 0 and not pair.distinguishable


@given(st.floats(-100, 100))
def test_signed_number_has_its_sign_unless_it_rounds_to_zero(value):
    text = signed(value)
    assert "-" not in text
    assert text == "0.0" or text[0] == ("+" if value > 0 else "−")
