"""Executors: how work is divided among workers."""

from socket import socket

import pytest

from framesift import corpus
from framesift._utils.machine import usable_cores
from framesift.batch.executors import Execution
from framesift.batch.executors.base import Limits, RunAborted, Task, WorkerSpec
from framesift.batch.executors.local import InlineExecutor, default_workers, worker_environment
from framesift.batch.executors.ray import _actor_resources, _is_reachable
from framesift.batch.executors.worker import WORKERS
from framesift.errors import InputError, OptionError
from helpers.encoders import GridEncoder

CLUSTERS = [
    ({"CPU": 8.0}, None, 100, (8, {"num_cpus": 1})),
    ({"CPU": 8.0}, 2, 100, (2, {"num_cpus": 1})),
    ({"CPU": 8.0}, 20, 100, (8, {"num_cpus": 1})),
    ({"CPU": 64.0, "GPU": 4.0}, None, 100, (4, {"num_cpus": 16.0, "num_gpus": 1.0})),
    ({"CPU": 64.0, "GPU": 4.0}, 8, 100, (8, {"num_cpus": 8.0, "num_gpus": 0.5})),
    ({"CPU": 64.0, "GPU": 4.0}, None, 2, (2, {"num_cpus": 16.0, "num_gpus": 1.0})),
]


def test_actors_divide_cores_and_gpus():
    for cluster, workers, tasks, expected in CLUSTERS:
        assert _actor_resources(cluster, workers, tasks) == expected


def test_workers_are_spread_over_gpus_and_share_cores(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [worker_environment(k, 2)["CUDA_VISIBLE_DEVICES"] for k in range(3)] == ["3", "5", "3"]
    assert worker_environment(0, 1)["OMP_NUM_THREADS"] == str(usable_cores())


def test_default_workers_fit_into_memory(monkeypatch):
    monkeypatch.setattr("framesift.batch.executors.local.free_memory", lambda: 0)
    assert default_workers() == 1


def test_closed_port_is_not_reachable():
    with socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        assert not _is_reachable(f"127.0.0.1:{unused.getsockname()[1]}")
    assert _is_reachable("auto")


class Doubler:
    """A worker that reports progress, then multiplies a number; it fails on negative ones."""

    def __init__(self, settings, *, factor):
        self.factor = factor

    def __call__(self, task, progress):
        progress("count", 1, 2)
        if task.data["n"] < 0:
            raise InputError(f"n is {task.data['n']}")
        if task.data["n"] > 100:
            raise RunAborted("too large")
        return {"n": self.factor * task.data["n"]}


@pytest.fixture
def doubler(monkeypatch):
    monkeypatch.setitem(WORKERS, "double", f"{__name__}:Doubler")

    def run(*numbers):
        tasks = [Task(str(n), {"n": n}) for n in numbers]
        events = []
        InlineExecutor().run(WorkerSpec("double", {}, {"factor": 2}), tasks, events.append, limits=Limits(), tries={})
        return events

    return run


def test_inline_executor_reports_start_progress_and_end(doubler):
    assert [(event.kind, event.stage, dict(event.row)) for event in doubler(3)] == [
        ("started", "", {}),
        ("moved", "count", {}),
        ("done", "", {"n": 6}),
    ]


def test_inline_task_that_fails_does_not_affect_the_next(doubler):
    ends = [(event.kind, event.error, event.row.get("n")) for event in doubler(-1, 4) if event.is_end]
    assert ends == [("failed", "n is -1", None), ("done", "", 8)]


def test_inline_run_that_is_aborted_raises(doubler):
    with pytest.raises(RunAborted, match="too large"):
        doubler(1, 101, 2)


def test_other_processes_reject_python_objects(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"video": "v.mp4", "question": "Who?"}')
    with pytest.raises(OptionError, match="encoder came as Python objects"):
        corpus.select(tmp_path / "q.jsonl", results=tmp_path / "r", encoder=GridEncoder(), workers=1)
    assert not (tmp_path / "r").exists()


def test_unknown_engine_lists_the_valid_ones():
    with pytest.raises(OptionError, match="engine is 'slurm'; expected local, ray, inline"):
        Execution("slurm")
