"""Executors: how work is divided among workers."""

from socket import socket

import pytest

from framesift import corpus
from framesift._utils.machine import usable_cores
from framesift.batch.executors import Execution
from framesift.batch.executors.local import default_workers, worker_environment
from framesift.batch.executors.ray import actor_resources, is_reachable
from framesift.errors import OptionError
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
        assert actor_resources(cluster, workers, tasks) == expected


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
        assert not is_reachable(f"127.0.0.1:{unused.getsockname()[1]}")
    assert is_reachable("auto")


def test_other_processes_reject_python_objects(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"video": "v.mp4", "question": "Who?"}')
    with pytest.raises(OptionError, match="encoder came as Python objects"):
        corpus.select(tmp_path / "q.jsonl", results=tmp_path / "r", encoder=GridEncoder(), workers=1)
    assert not (tmp_path / "r").exists()


def test_unknown_engine_lists_the_valid_ones():
    with pytest.raises(OptionError, match="engine is 'slurm'; expected local, ray, inline"):
        Execution("slurm")
