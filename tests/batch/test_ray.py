"""The Ray executor: the same bytes as the others, and the same handling of crashes. Run by `make test-ray`."""

import os
import signal
import sys
from pathlib import Path

import pytest

import framesift as fs
from framesift.batch.results import read_results
from framesift.corpus import Limits
from helpers.batch_videos import COLOURS, framesift, make_video, payloads, worker_processes, write_questions

pytest.importorskip("ray", reason="Ray is not installed: make test-ray installs it and runs these")


@pytest.fixture(scope="module")
def cluster(plugin_folder):
    """One cluster of this machine for all tests of this file, with the test encoder installed for its actors."""
    import ray

    places = [str(plugin_folder), *(place for place in sys.path if place)]
    env = {"PYTHONPATH": os.pathsep.join(places)}
    ray.init(num_cpus=2, log_to_driver=False, logging_level="ERROR", runtime_env={"env_vars": env})
    yield ray
    ray.shutdown()


def test_ray_executor_writes_the_bytes_of_index(four, cluster, encoder, tmp_path):
    for path in sorted(four.iterdir()):
        fs.index(path, encoder, store=tmp_path / "one")
    fs.corpus.index(four, encoder=encoder, store=tmp_path / "local", workers=2)
    run = fs.corpus.index(four, engine="ray", encoder=encoder, store=tmp_path / "ray", workers=2)
    assert run.counts == {"indexed": 4, "kept": 0, "failed": 0, "waiting": 0}
    assert payloads(tmp_path / "one") == payloads(tmp_path / "local") == payloads(tmp_path / "ray")
    assert fs.corpus.index(four, engine="ray", encoder=encoder, store=tmp_path / "ray").counts["kept"] == 4


def test_crash_and_hang_on_ray_use_up_their_own_attempts(cluster, encoder, tmp_path):
    for k in range(3):
        make_video(tmp_path / f"good{k}.mp4", seed=k)
    for name in ("crash", "hang"):
        make_video(tmp_path / f"{name}.mp4", COLOURS[name])
    limits = Limits(tries=2, stall_s=1.5)
    run = fs.corpus.index(tmp_path / "*.mp4", engine="ray", encoder=encoder, store=tmp_path / "s", limits=limits)
    rows = {Path(row["path"]).stem: row for row in run.rows}
    assert run.counts["indexed"] == 3 and run.counts["failed"] == 2
    assert "SIGSEGV" in rows["crash"]["error"] and "no progress" in rows["hang"]["error"]


def test_killed_actor_and_killed_worker_on_ray_lose_nothing(cluster, encoder, tmp_path):
    for k in range(4):
        make_video(tmp_path / f"{k}.mp4", COLOURS["slow"], seconds=8 + k)
    killed = []

    def kill(report):
        if report.kind == "done" and not killed:
            workers = worker_processes()
            killed.append(workers[0][0])
            os.kill(workers[0][0], signal.SIGKILL)
            os.kill(workers[-1][1], signal.SIGKILL)  # the actor that watches the other

    run = fs.corpus.index(
        tmp_path / "*.mp4", engine="ray", workers=2, encoder=encoder, store=tmp_path / "s", watch=kill
    )
    assert killed and run.counts["indexed"] + run.counts["kept"] == 4


def test_questions_on_ray_give_the_rows_of_the_local_executor(cluster, encoder, tmp_path):
    for k in range(2):
        make_video(tmp_path / f"v{k}.mp4", seed=k)
    file = write_questions(tmp_path / "q.jsonl", *({"id": k, "video": f"v{k}.mp4"} for k in range(2)))
    flags = {"encoder": encoder, "store": tmp_path / "s", "budget": 3}
    for engine in ("local", "ray"):
        assert fs.corpus.select(file, results=tmp_path / engine, engine=engine, **flags).done == 2
    local, ray = (read_results(tmp_path / engine).rows for engine in ("local", "ray"))
    assert [(row.key, row.times_s) for row in local] == [(row.key, row.times_s) for row in ray]


def test_unreachable_cluster_is_one_sentence(plugin_folder, tmp_path):
    make_video(tmp_path / "a.mp4")
    flags = ["--encoder", "test-encoder", "--store", tmp_path / "s", "--engine", "ray", "--address", "127.0.0.1:1"]
    driver = framesift("corpus", "index", tmp_path / "a.mp4", *flags, path=plugin_folder)
    _, errors = driver.communicate()
    assert driver.returncode == 2 and "can't be reached" in errors.splitlines()[-1]
