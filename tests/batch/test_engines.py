"""How work is shared out."""

import pytest

from framesift.batch.executors.local import cores, surroundings
from framesift.batch.executors.ray import _answers, _shares
from framesift.batch.executors.select import default_workers


@pytest.mark.parametrize(
    ("cluster", "workers", "tasks", "wanted"),
    [
        ({"CPU": 8.0}, None, 100, (8, {"num_cpus": 1})),
        ({"CPU": 8.0}, 2, 100, (2, {"num_cpus": 1})),
        ({"CPU": 8.0}, 20, 100, (8, {"num_cpus": 1})),
        ({"CPU": 64.0, "GPU": 4.0}, None, 100, (4, {"num_cpus": 16.0, "num_gpus": 1.0})),
        ({"CPU": 64.0, "GPU": 4.0}, 8, 100, (8, {"num_cpus": 8.0, "num_gpus": 0.5})),
        ({"CPU": 64.0, "GPU": 4.0}, None, 2, (2, {"num_cpus": 16.0, "num_gpus": 1.0})),
    ],
)
def test_actors_share_the_cores_and_the_gpus(cluster, workers, tasks, wanted):
    assert _shares(cluster, workers, tasks) == wanted


def test_workers_take_turns_with_the_gpus_and_share_the_cores(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [surroundings(k, 2)["CUDA_VISIBLE_DEVICES"] for k in range(3)] == ["3", "5", "3"]
    assert surroundings(0, 1)["OMP_NUM_THREADS"] == str(cores())


def test_memory_limits_the_workers(monkeypatch):
    monkeypatch.setattr("framesift.batch.executors.select.free_memory", lambda: 0)
    assert default_workers() == 1


def test_nobody_listens_on_a_closed_port():
    assert not _answers("127.0.0.1:1")
    assert _answers("auto")
