"""Plans: the cross product, what is refused, and the ready ones of the paper."""

from dataclasses import replace
from pathlib import Path

import pytest

from framesift.batch.settings import QuestionSettings, row_identity
from framesift.bench.plan import make_plan, readers_of
from framesift.bench.runner import run_item
from framesift.errors import InputError, OptionError
from framesift.pipeline.config import PipelineConfig, read_settings
from helpers.small_dataset import make_dataset

PAPER = sorted((Path(__file__).parents[2] / "benchmarks" / "paper").glob("*.yaml"))


def test_every_method_meets_every_budget_and_mode():
    plan = make_plan({"methods": "gcr,uniform", "budgets": "8,32", "text_modes": "none,aligned"})
    assert len(plan.choices) == 8 and plan.config.index.fps == 1.0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"methods": "gcr", "ablate": "ground,cover"}, [{}, {"without": "ground"}, {"without": "cover"}]),
        # The default is the method itself.
        ({"methods": "gcr", "sweep": {"alpha_ground": ["1/8", "1/4"]}}, [{}, {"alpha_ground": 0.125}]),
        ({"methods": "gcr,mmr", "set": ["mmr.weight=0.3"]}, [{}, {"weight": 0.3}]),
    ],
)
def test_ablations_sweeps_and_options_make_variants_of_their_methods(settings, expected):
    assert [dict(choice.options) for choice in make_plan({"budgets": "8", **settings}).choices] == expected


def test_blocks_have_settings_of_their_own():
    blocks = [{"methods": ["uniform"], "text_modes": ["none"]}, {"query": "stem+options", "size": 180}]
    plan = make_plan({"methods": ["gcr"], "budgets": [8], "query": "stem", "blocks": blocks})
    made = [(choice.method, choice.text_mode, choice.query, choice.size) for choice in plan.choices]
    assert made == [("uniform", "none", "stem", None), ("gcr", "aligned", "stem+options", 180)]


def test_data_set_has_options_of_its_own():
    options = {"longvideobench": {"bolt.alpha": 2.5}, "videomme": {"tspo.choose": "bins"}}
    blocks = [{"methods": ["bolt", "uniform"]}, {"methods": ["tspo"]}]
    settings = {"budgets": [8], "blocks": blocks, "per_dataset": options}
    made = [[dict(choice.options) for choice in make_plan(settings, name).choices] for name in (*options, "mlvu")]
    assert made == [[{"alpha": 2.5}, {}, {}], [{}, {}, {"choose": "bins"}], [{}, {}, {}]]


def test_plan_can_be_narrowed_to_one_line_of_its_table():
    plan = make_plan({"methods": "gcr,uniform", "budgets": "8,32"})
    (choice,) = plan.narrowed(methods=["gcr"], budgets=["32"]).choices
    assert (choice.method, choice.budget) == ("gcr", 32)
    with pytest.raises(OptionError, match="methods has 'aks', which is not in this plan; expected one of gcr, uniform"):
        plan.narrowed(methods=["aks"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Qwen=http://host/v1#a", ("Qwen", "http://host/v1#a", {})),
        ("http://host/v1?x=1", ("", "http://host/v1?x=1", {})),
        (
            {"Q": {"reader": "local:qwen2.5-vl-7b", "frame_tokens": 140}},
            ("Q", "local:qwen2.5-vl-7b", {"frame_tokens": 140}),
        ),
    ],
)
def test_readers_may_have_names_and_options(text, expected):
    (one,) = readers_of(text)
    assert (one.name, one.reader, one.options) == expected


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"methods": "gcr", "sweep": ["beta=1"]}, "none of gcr has an option 'beta'; expected one of alpha_ground"),
        ({"methods": "gcr", "ablate": "read"}, "ablate has 'read'; expected some of ground, cover, refine"),
        ({"budgets": "many"}, "budget is 'many'; expected a whole number"),
        ({"text_modes": "loud"}, "expected one of none, blank"),
        ({"times": "no"}, "times is 'no'; expected true or false"),
        ({"uniform_frames": "film"}, "uniform_frames is 'film'; expected one of candidates, video"),
        ({"readers": {"x": {"frame_tokens": 140}}}, "has no address"),
        ({"query": "options"}, r"query is 'options'; did you mean stem\+options"),
        ({"size": 0}, "size is 0; expected a whole number"),
        ({"per_dataset": {"lvb": {"bolt.alpha": 2}}}, "per_dataset has no setting 'lvb'"),
        ({"per_dataset": {"mlvu": {"bolt.power": 2}}}, "bolt has no option 'power'"),
        ({"methods": "best"}, r"expected one of .*gcr, uniform"),
    ],
)
def test_contradictory_settings_are_an_error(settings, words):
    with pytest.raises(InputError, match=words):
        make_plan(settings)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("method: [gcr]", r"has no setting 'method'; did you mean methods\?"),
        ("blocks: [{readers: [similarity]}]", "a block of the plan has no setting 'readers'"),
        ("- gcr", "has no settings"),
        ("methods: [gcr", "can't be read"),
        ("methods: !!python/object/apply:os.getcwd []", "can't be read"),
    ],
)
def test_file_that_is_not_a_plan_is_an_error(tmp_path, text, words):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        make_plan(read_settings(tmp_path / "plan.yaml"))


@pytest.mark.parametrize("path", PAPER, ids=lambda path: path.stem)
def test_plan_of_the_paper_becomes_jobs(path, tmp_path):
    plan = make_plan(read_settings(path))
    assert not plan.times and plan.config.index.unchanged_frames == "encode"
    assert all(choice.whole_video == (choice.method == "uniform") for choice in plan.choices)
    dataset = make_dataset(tmp_path, videos=1)
    readers = tuple(replace(spec, prompt="longvideobench") for spec in plan.readers)
    settings = QuestionSettings("", {"dataset": "small"}, {}, plan.choices, readers, row_identity(PipelineConfig()))
    jobs = [job for item in dataset.items for job in settings.jobs(run_item(item))]
    assert len(jobs) == len(dataset) * len(plan.choices) * len(readers)


def test_table_1_holds_the_lines_of_the_paper():
    plan = make_plan(read_settings(next(path for path in PAPER if path.stem == "table1")))
    lines = [(choice.method, choice.budget, choice.text_mode) for choice in plan.choices]
    assert ("gcr", 64, "aligned") in lines and ("wfs-sb", 32, "none") in lines and len(lines) == 3 + 8 + 3
    assert len(plan.readers) == 3 and plan.config.index.encoder == "siglip"
