"""ToolMerge, HiMu and DIG: recorded selections, their parts, replies of models, and the rules without one."""

import json
from dataclasses import replace

import numpy as np
import pytest

import framesift as fs
from framesift.selection.looking.access import Access
from framesift.selection.looking.dig import useful_intervals
from framesift.selection.looking.himu import (
    Branch,
    Leaf,
    find_objects,
    match_text,
    match_words,
    phrase_variations,
    read_tree,
    similarity,
)
from framesift.selection.looking.toolmerge import join_ranks, read_plan
from framesift.types import Lookup
from helpers.detector_scenes import Scenes, scene
from helpers.models import RuleModel
from helpers.published_cases import WORDS, make_lookup, shot_evidence, speech

PLAN = {"queries": [{"id": f"Q{k}", "tool": "siglip", "query": word} for k, word in enumerate(WORDS[:3], 1)]}
LOCAL = '{"global": false}'


def leaf(expert, query):
    return {"op": "LEAF", "expert": expert, "query": query}


TREES = {
    "AND": {
        "op": "AND",
        "children": [leaf("CLIP", "red car"), {"op": "OR", "children": [leaf("CLIP", "bridge"), leaf("ASR", "angry")]}],
    },
    "RIGHT_AFTER": {"op": "RIGHT_AFTER", "children": [leaf("ASR", "robot in the church"), leaf("CLIP", "angry")]},
}


def himu_evidence():
    lines = speech(150, 3)
    return shot_evidence(150, 3, events=lines, event_scores=np.zeros(len(lines)))


NUMBERED = Scenes([(k, 0, 0) for k in range(150)], np.zeros(150))
HIMU_LOOKUP = make_lookup(events=len(speech(150, 3)))


def select(method, evidence, budget, lookup=None, **options):
    lookup = make_lookup() if lookup is None else lookup
    return fs.select_frames(evidence, budget=budget, method=method, lookup=lookup, **options)


# The selections of the authors' code for the same inputs.


@pytest.mark.parametrize(
    ("combine", "frames"),
    [
        ("Q1 AND (Q2 OR Q3)", [12, 74, 89, 116, 145, 160, 171, 181]),
        ("Q1 OR Q2 AND Q3", [14, 26, 81, 91, 117, 145, 155, 197]),
        ("", [8, 26, 43, 74, 91, 121, 189, 199]),
    ],
)
def test_toolmerge_selects_what_the_published_code_does_and_asks_for_a_plan_once(combine, frames):
    plan, model = PLAN | {"combine": combine}, RuleModel(queries=json.dumps(PLAN | {"combine": combine}))
    assert select("toolmerge", shot_evidence(200, 2), 8, plan=plan).indices == frames
    selection = select("toolmerge", shot_evidence(200, 2), 8, model=model)
    assert (selection.indices, len(model.messages), selection.trace["calls"]) == (frames, 1, 1)
    assert "Where is the red car?" in model.messages[0][0]


@pytest.mark.parametrize(
    ("operator", "tree", "frames"),
    [
        (
            "AND",
            "AND(CLIP(red car), OR(CLIP(bridge), ASR(angry)))",
            [22, 23, 84, 92, 93, 94, 135, 137, 138, 139],
        ),
        (
            "RIGHT_AFTER",
            "RIGHT_AFTER(ASR(robot in the church), CLIP(angry))",
            [100, 101, 106, 107, 113, 120, 121, 122, 127, 128],
        ),
    ],
)
def test_himu_selects_what_the_published_code_does_and_asks_for_a_tree_once(operator, tree, frames):
    model = RuleModel(op=json.dumps(TREES[operator]))
    for given in ({"tree": TREES[operator]}, {"model": model}):
        selection = select("himu", himu_evidence(), 10, HIMU_LOOKUP, **given)
        assert (selection.indices, selection.trace["tree"]) == (frames, tree)
    select("himu", shot_evidence(60), 4, model=model)
    assert ["ASR" in text for (text,) in model.messages] == [True, False]  # only where there is text


def test_himu_finds_text_that_was_read_on_one_frame():
    evidence = shot_evidence(60, events=[fs.Event(17.0, 17.0, "EXIT", "screen")], event_scores=np.zeros(1))
    assert select("himu", evidence, 1, make_lookup(events=1), tree=leaf("OCR", "exit")).indices == [17]


def test_dig_selects_what_the_published_code_does():
    asked = []

    def model(parts):
        if len(parts) == 1:
            return LOCAL
        asked.append(int(parts[0][0, 0, 0]))
        return json.dumps({"description": "…", "reward": 37 * (len(asked) - 1) % 101})

    evidence, lookup = shot_evidence(150, 4), make_lookup(frames=NUMBERED)
    selection = select("dig", evidence, 9, lookup, model=model)
    assert asked == [4, 14, 24, 34, 49, 64, 74, 81, 86, 99, 114, 124, 134, 144]
    assert selection.indices == [0, 16, 32, 48, 65, 81, 97, 122, 139]
    assert selection.trace["calls"] == 15


# ToolMerge


def test_and_binds_tighter_than_or_and_unknown_searches_rank_last():
    ranks = {"Q1": np.array([0.1, 0.5, 0.9]), "Q2": np.array([0.8, 0.2, 0.4]), "Q3": np.array([0.0, 0.9, 0.3])}
    for expression, expected in [
        ("Q1 AND Q2 OR Q3", [0.1, 0.9, 0.4]),
        ("Q1 AND (Q2 or Q3)", [0.1, 0.5, 0.4]),
        ("(Q1 AND Q9) OR Q3", [0.0, 0.9, 0.3]),
        ("Q1 AND", [0.8, 0.9, 0.9]),  # can't be read: any of them
        ("", [0.8, 0.9, 0.9]),
        ("(" * 5000 + "Q1", [0.8, 0.9, 0.9]),
    ]:
        assert join_ranks(ranks, expression)[0].tolist() == expected, expression[:20]


def test_invalid_searches_of_a_plan_are_left_out():
    rows = [{"id": "Q1", "tool": "tren", "query": "cat"}, {"id": "Q2", "tool": "audio", "query": "x"}, {"id": "Q3"}, 4]
    assert read_plan({"queries": rows, "combine": 7}) == ([{"id": "Q1", "tool": "object", "query": "cat"}], "")
    assert read_plan(None) == ([], "")


@pytest.mark.parametrize("model", [None, lambda parts: "I don't know."])
def test_without_a_plan_the_question_is_the_search(model):
    plan = {"queries": [{"id": "a", "tool": "scene", "query": make_lookup().question.query_text}]}
    found, expected = (
        select("toolmerge", shot_evidence(60), 5, **o).indices for o in ({"model": model}, {"plan": plan})
    )
    assert found == expected


def test_frames_with_helpful_text_on_the_screen_come_first():
    lines = [fs.Event(k, k + 1.5, f"sign {k}", "screen") for k in (10, 30, 50)]
    evidence = shot_evidence(60, events=lines, event_scores=np.zeros(3))
    replies = iter([json.dumps({"queries": PLAN["queries"][:1]}), "1. NO\n2. YES\n3. NO"])
    selection = select("toolmerge", evidence, 4, model=lambda parts: next(replies))
    carried = {slot.index: slot.event.text for slot in selection.slots if slot.event}
    assert carried == {31: "sign 30"}
    assert selection.trace["calls"] == 2


def test_too_many_calls_are_refused_before_the_first():
    lines = [fs.Event(k, k + 0.5, f"sign {k}", "screen") for k in range(50)]
    evidence = shot_evidence(60, events=lines, event_scores=np.zeros(50))
    model = RuleModel()
    with pytest.raises(fs.InputError, match="toolmerge needs 4 model calls .* calls = 3"):
        select("toolmerge", evidence, 4, model=model, calls=3)
    assert model.messages == []


# HiMu


def test_a_tree_loses_what_can_not_be_evaluated():
    value = {"op": "AND", "children": [leaf("CLAP", "bell"), leaf("CLIP", " door "), {"op": "OR", "children": []}]}
    assert read_tree(value, ("CLIP",)) == Leaf("CLIP", "door")
    three = {"op": "RIGHT_AFTER", "children": [leaf("CLIP", c) for c in "abc"]}
    assert read_tree(three, ("CLIP",)) == Branch(
        "RIGHT_AFTER", (Leaf("CLIP", "a"), Branch("RIGHT_AFTER", (Leaf("CLIP", "b"), Leaf("CLIP", "c"))))
    )
    deep = leaf("CLIP", "a")
    for _ in range(200):
        deep = {"op": "AND", "children": [deep]}
    for invalid in (deep, None, [], {"op": "NOT", "children": [leaf("CLIP", "a")]}, leaf("CLIP", " "), leaf("CLIP", 3)):
        assert read_tree(invalid, ("CLIP",)) is None


def test_without_a_tree_the_stem_and_the_options_are_the_conditions():
    named = make_lookup("Who is angry?", ["the man", "the robot"])
    for model in (None, lambda parts: "no tree"):
        trace = select("himu", shot_evidence(60), 8, named, model=model).trace
        assert trace["tree"] == "AND(CLIP(Who is angry?), OR(CLIP(the man), CLIP(the robot)))"
    assert select("himu", shot_evidence(60), 8).trace["tree"].startswith("CLIP(")


def test_objects_are_found_by_a_detector_also_in_their_other_number():
    evidence, lookup = scene(60)
    (scores,) = find_objects(Access(evidence, lookup), ["red car"])
    assert scores == pytest.approx(lookup.frames.levels[:, 0] / 255)
    plan = {"queries": [{"id": "Q1", "tool": "object", "query": "red car"}]}
    asked = replace(lookup, question=fs.Question("Where is the red car?"))
    selection = select("toolmerge", evidence, 3, asked, plan=plan, gap_s=0)
    assert (scores[selection.indices] > 0).all()
    assert phrase_variations("red cars") == ("red cars", "red car", "cars")
    assert phrase_variations("dog") == ("dog", "dogs")


WORDS_IN_TEXTS = [
    ("angry", "He was ANGRY.", 1),
    ("robot", "a robut", 0.8),
    ("red robot", "the robut is red", 0.8),
    ("robot", "nothing here", 0),
    ("robot", "…", 0),
]


def test_words_match_with_spelling_mistakes():
    assert similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    for words, text, score in WORDS_IN_TEXTS:
        assert match_words(words, text) == pytest.approx(score), text
    assert match_text("exit", "EXIT only") == 1
    assert match_text("exit", "") == 0


# DIG


def test_useful_segments_bring_their_neighbours():
    cuts = list(range(0, 110, 10))
    assert useful_intervals([0, 0, 0, 90, 0, 0, 0, 0, 0, 0], cuts, window=2) == [(10, 50)]
    assert useful_intervals([5] * 10, cuts, window=2) == [(0, 100)]
    assert useful_intervals([0, 0, 80, 0, 10, 0, 0, 0, 90, 0], cuts, window=1) == [(10, 30), (70, 90)]
    assert useful_intervals([0, 0, 80, 0, 90, 0, 0, 0, 0, 0], cuts, window=1) == [(30, 50)]
    assert useful_intervals([10, 0, 80, 0, 85, 0, 0, 0, 10, 0], cuts, window=1) == [(10, 50)]


def test_questions_about_the_whole_video_get_even_frames():
    evidence = shot_evidence(100)
    for question, model in [("What is the video mainly about?", None), ("Who?", lambda parts: '{"global": "True"}')]:
        selection = select("dig", evidence, 4, make_lookup(question), model=model)
        assert selection.indices == [0, 33, 66, 99]
        assert selection.trace["question_type"] == "global"


def test_without_a_model_relevance_is_the_reward():
    selection = select("dig", shot_evidence(100), 4)
    assert (selection.trace["question_type"], selection.trace["calls"]) == ("local", 0)
    rewards = [row["reward"] for row in selection.trace["segments"]]
    assert (min(rewards), max(rewards)) == (0, 100)


def test_unusable_rewards_count_as_zero():
    replies = iter([LOCAL, "no", '{"reward": "high"}', '{"reward": 1e999}', '{"reward": null}', '{"reward": 250}'])
    frames = np.repeat(np.eye(5), 4, axis=0)
    evidence = fs.Evidence(range(20), 20.0, frames, np.ones(5))
    selection = select("dig", evidence, 4, make_lookup(frames=NUMBERED), model=lambda parts: next(replies))
    assert [row["reward"] for row in selection.trace["segments"]] == [0, 0, 0, 0, 100]


# All of them


@pytest.mark.parametrize("method", ["toolmerge", "himu", "dig", "videoagent"])
def test_missing_words_of_the_question_are_an_error(method):
    with pytest.raises(fs.InputError, match=f"{method} needs the question's words"):
        select(method, shot_evidence(9), 2, Lookup(), **({"model": RuleModel()} if method == "videoagent" else {}))


def test_a_plan_or_tree_without_content_is_an_error():
    for value in ("", "{}", {"op": "AND"}):
        for method, option in (("toolmerge", "plan"), ("himu", "tree")):
            with pytest.raises(fs.InputError, match=f"{option} has no"):
                select(method, shot_evidence(9), 2, **{option: value})
