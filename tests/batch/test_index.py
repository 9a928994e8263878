"""Many videos: the same indexes as one by one, nothing indexed twice, and a crash costs one attempt."""

import json
import os
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

import framesift as fs
from framesift.batch import workers
from framesift.batch.executors import local
from framesift.batch.executors.base import Task
from framesift.batch.journal import Journal
from framesift.cli import main
from framesift.corpus import Limits
from framesift.indexing.index import IndexSettings, build_index
from framesift.pipeline.config import PipelineConfig
from framesift.store.maintenance import prune
from framesift.store.store import INDEX, Store
from helpers.batch_videos import COLOURS, framesift, is_worker, make_video, payloads, worker_processes
from helpers.full_disk import contents
from helpers.running_server import until

STALL_S = 0.5


def test_local_executor_writes_the_bytes_of_index(four, encoder, tmp_path):
    for path in sorted(four.iterdir()):
        fs.index(path, encoder, store=tmp_path / "one")
    run = fs.corpus.index(four, encoder=encoder, store=tmp_path / "many", workers=2)
    assert run.counts == {"indexed": 4, "kept": 0, "failed": 0, "waiting": 0}
    assert payloads(tmp_path / "one") == payloads(tmp_path / "many")


def test_on_a_gpu_the_next_video_begins_before_its_task_arrives(four, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "get_encoder", lambda *_, **__: SimpleNamespace(image_device="cuda"))
    began = []

    def build(path, *args, **kwargs):
        began.append((Path(path).name, threading.current_thread().name))
        return build_index(path, *args, **kwargs)

    monkeypatch.setattr(workers, "build_index", build)
    config = PipelineConfig(encoder=encoder, store=tmp_path / "early")
    weights = config.index.key("").encoder_fingerprint
    worker = workers.IndexWorker({"config": config.to_dict(), "weights": weights, "events": False})
    tasks = [Task(str(path), {"subtitles": ""}) for path in sorted(four.iterdir())[:3]]
    reports = []
    for task, following in zip(tasks, [*tasks[1:2], None, None], strict=True):
        row = worker(replace(task, following=following), lambda *report: reports.append(report))
        assert row["status"] == "indexed"
    assert [name for name, _ in began] == ["v0.mp4", "v1.mp4", "v2.mp4"]
    assert [thread == "framesift-index" for _, thread in began] == [False, True, False]
    for task in tasks:
        fs.index(task.name, encoder, store=tmp_path / "one")
    assert payloads(tmp_path / "one") == payloads(tmp_path / "early")


@pytest.mark.parametrize("engine", ["inline", "local"])
def test_missing_package_of_a_remote_file_ends_the_run_at_once(engine, encoder, tmp_path):
    (tmp_path / "list.txt").write_text("box://a.mp4\nbox://b.mp4\n")
    events = []
    flags = {"encoder": encoder, "store": tmp_path / "s", "engine": engine, "watch": events.append}
    with pytest.raises(fs.FramesiftError, match="can't be read, because a package is missing: .*boxfs"):
        fs.corpus.index(tmp_path / "list.txt", **flags)
    assert {event.kind for event in events} == {"started"}


def test_workers_import_no_module_of_the_working_directory(encoder, tmp_path, monkeypatch):
    make_video(tmp_path / "a.mp4")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    assert fs.corpus.index(["a.mp4"], encoder=encoder, store="store").counts["indexed"] == 1


def test_manifest_replaces_nothing_else_and_is_checked_before_indexing(four, encoder, tmp_path):
    for number, (write, message) in enumerate(
        (
            (Path.mkdir, "a directory; expected the Parquet file"),
            (lambda path: path.write_bytes(b"dear"), "is not the manifest of an earlier run"),
            (
                lambda path: parquet.write_table(arrow.table({"path": ["a"]}), path),
                "is not the manifest of an earlier run",
            ),
        )
    ):
        write(place := tmp_path / str(number))
        before = contents(tmp_path)
        with pytest.raises(fs.InputError, match=message):
            fs.corpus.index(four, encoder=encoder, store=tmp_path / "s", engine="inline", manifest=place)
        assert contents(tmp_path) == before


def test_second_run_opens_no_video(four, encoder, tmp_path, monkeypatch):
    first = fs.corpus.index(four, encoder=encoder, store=tmp_path, engine="inline")
    monkeypatch.setattr(local.subprocess, "Popen", lambda *_, **__: pytest.fail("a worker was started"))
    monkeypatch.setattr("framesift.batch.workers.read_watched", lambda *_: pytest.fail("a video was opened"))
    second = fs.corpus.index(four, encoder=encoder, store=tmp_path, workers=2)
    assert second.counts["kept"] == len(first.rows)
    assert [row["fingerprint"] for row in second.rows] == [row["fingerprint"] for row in first.rows]


def test_changed_video_and_removed_index_are_indexed_again(encoder, tmp_path):
    videos = [make_video(tmp_path / f"{k}.mp4", seed=k) for k in range(3)]
    flags = {"encoder": encoder, "store": tmp_path / "store", "engine": "inline"}
    first = fs.corpus.index(videos, **flags)
    make_video(videos[0], seed=9)
    (lost,) = (tmp_path / "store" / first.rows[1]["fingerprint"]).rglob(INDEX)
    shutil.rmtree(lost.parent)
    assert [row["status"] for row in fs.corpus.index(videos, **flags).rows] == ["indexed", "indexed", "kept"]


@pytest.fixture(autouse=True)
def only_some_stall(monkeypatch):
    """Lets only videos of these names stall: on a busy machine the others may be silent for as long."""
    enforce = local._Process.enforce

    def patient(worker, limits):
        is_named = worker.task is not None and Path(worker.task.name).name in ("hang.mp4", "pipe.mp4")
        enforce(worker, limits if is_named else replace(limits, stall_s=1000))

    monkeypatch.setattr(local._Process, "enforce", patient)


def test_crash_and_hang_use_up_their_own_attempts(encoder, tmp_path):
    make_video(tmp_path / "good.mp4")
    for name in ("crash", "hang"):
        make_video(tmp_path / f"{name}.mp4", COLOURS[name])
    (tmp_path / "text.mp4").write_text("no video")
    limits = Limits(tries=2, stall_s=STALL_S)
    run = fs.corpus.index(tmp_path / "*.mp4", encoder=encoder, store=tmp_path / "store", workers=2, limits=limits)
    rows = {Path(row["path"]).name: row for row in run.rows}
    assert run.counts == {"indexed": 1, "kept": 0, "failed": 3, "waiting": 0}
    assert "killed by SIGSEGV" in rows["crash.mp4"]["error"] and rows["crash.mp4"]["tries"] == 2
    assert "no progress for 0.5 s" in rows["hang.mp4"]["error"] and rows["hang.mp4"]["tries"] == 2
    assert "text.mp4" in rows["text.mp4"]["error"] and rows["text.mp4"]["error"].count("\n") == 0
    written = parquet.read_table(run.manifest).to_pylist()
    assert [(row["status"], row["error"]) for row in written] == [(row["status"], row["error"]) for row in run.rows]


def test_pipe_without_writer_stalls_only_its_worker(encoder, tmp_path):
    make_video(tmp_path / "good.mp4")
    os.mkfifo(tmp_path / "pipe.mp4")
    (tmp_path / "list.txt").write_text("pipe.mp4\ngood.mp4\n")
    limits = Limits(tries=1, stall_s=STALL_S)
    run = fs.corpus.index(tmp_path / "list.txt", encoder=encoder, store=tmp_path / "store", workers=1, limits=limits)
    assert [row["status"] for row in run.rows] == ["failed", "indexed"]


def test_failed_video_is_retried_by_the_next_run_unless_skip_failed(encoder, tmp_path):
    (tmp_path / "a.mp4").write_text("no video")
    flags = {"encoder": encoder, "store": tmp_path / "store", "limits": Limits(tries=1), "engine": "inline"}
    assert fs.corpus.index(tmp_path / "a.mp4", **flags).failed
    left_out = fs.corpus.index(tmp_path / "a.mp4", **flags, skip_failed=True, watch=lambda _: pytest.fail("tried"))
    assert left_out.failed[0]["error"]
    make_video(tmp_path / "a.mp4")
    assert fs.corpus.index(tmp_path / "a.mp4", **flags).counts["indexed"] == 1


def test_killed_worker_costs_one_attempt_and_no_index(encoder, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLD", str(tmp_path / "hold"))  # until it is killed
    (tmp_path / "hold").touch()
    for k in range(2):
        make_video(tmp_path / f"{k}.mp4", COLOURS["slow"], seconds=6 + k)
    killed = []

    def kill(report):
        if report.kind == "started" and not killed:
            killed.append(report.task.name)
            ((worker, _),) = worker_processes()
            os.kill(worker, signal.SIGKILL)
            (tmp_path / "hold").unlink()

    run = fs.corpus.index(sorted(tmp_path.glob("*.mp4")), encoder=encoder, store=tmp_path / "s", workers=1, watch=kill)
    assert killed and run.counts["indexed"] == 2
    assert {row["tries"] for row in run.rows if row["path"] == killed[0]} == {2}


@pytest.fixture
def driver(plugin_folder, tmp_path):
    """A process that has indexed one video of two, and hangs in the other."""
    for name, colour in (("a", None), ("b", COLOURS["hang"])):
        make_video(tmp_path / f"{name}.mp4", colour)
    words = ["corpus", "index", tmp_path / "*.mp4", "--encoder", "test-encoder", "--store", tmp_path / "s", "--json"]
    process = framesift(*words, "--workers", 1, "--manifest", tmp_path / "run.parquet", path=plugin_folder)
    assert any(json.loads(line)["event"] == "done" for line in process.stdout)
    yield process
    process.kill()
    process.communicate()


def test_killed_driver_leaves_no_process(driver):
    workers = [pid for pid, _ in worker_processes(driver.pid)]
    assert workers
    driver.kill()
    driver.wait()
    until(lambda: not any(map(is_worker, workers)))


def test_ctrl_c_saves_finished_work_and_writes_the_manifest(driver, tmp_path):
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate(timeout=120)
    assert driver.returncode == 130 and "what was done so far is kept" in errors
    rows = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert [row["status"] for row in rows] == ["indexed", "waiting"]


def test_video_that_kills_the_driver_fails_after_its_attempts(encoder, tmp_path):
    make_video(tmp_path / "a.mp4")
    flags = {"encoder": encoder, "store": tmp_path / "s", "limits": Limits(tries=2), "engine": "inline"}
    journal = Journal(IndexSettings(encoder, store=tmp_path / "s")).path
    journal.parent.mkdir(parents=True)
    started = json.dumps({"event": "started", "path": str(tmp_path / "a.mp4")})
    journal.write_text(f"{started}\n{started}\n{{cut off")
    run = fs.corpus.index(tmp_path / "a.mp4", **flags)
    assert "the run ended 2 times" in run.failed[0]["error"]
    assert fs.corpus.index(tmp_path / "a.mp4", **flags).counts["indexed"] == 1


def test_journal_has_the_start_and_end_of_each_attempt_and_is_shared_by_all_manifests(encoder, tmp_path):
    make_video(tmp_path / "a.mp4", seconds=1)
    for name in ("one", "two"):
        flags = {"encoder": encoder, "store": tmp_path / "s", "engine": "inline"}
        run = fs.corpus.index(tmp_path / "a.mp4", manifest=tmp_path / f"{name}.parquet", **flags)
    assert run.counts["kept"] == 1
    (journal,) = (tmp_path / "s" / "corpus").glob("journal-*.jsonl")
    assert [json.loads(line)["event"] for line in journal.read_text().splitlines() if line] == ["started", "done"]


def test_remote_video_is_downloaded_indexed_and_removed(encoder, tmp_path, monkeypatch):
    video = make_video(tmp_path / "a.mp4")
    (tmp_path / "a.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nred\n")
    url, words = f"local://{video}", f"local://{tmp_path}/a.srt"
    (tmp_path / "list.csv").write_text(f"url,subtitles\n{url},{words}\nlocal://{tmp_path}/none.mp4,\n")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "copies"))
    (tmp_path / "copies").mkdir()
    flags = {"encoder": encoder, "store": tmp_path / "s", "limits": Limits(tries=1), "engine": "inline"}
    run = fs.corpus.index(tmp_path / "list.csv", **flags)
    assert [row["status"] for row in run.rows] == ["indexed", "failed"]
    assert "none.mp4 does not exist" in run.failed[0]["error"]
    assert not list((tmp_path / "copies").iterdir())
    fs.index(video, encoder, store=tmp_path / "one")
    assert payloads(tmp_path / "one") == payloads(tmp_path / "s")
    store = Store(tmp_path / "s")
    assert store.load_events(run.rows[0]["fingerprint"], "corpus")[0][0].text == "red"
    assert prune(store) == [] and fs.corpus.search("red", encoder=encoder, store=store.root)[0].video == url
    assert fs.corpus.index(tmp_path / "list.csv", **flags).counts["kept"] == 1


def test_bad_usage_prints_one_sentence_and_exits_with_2(tmp_path, capsys, encoder):
    command = ["corpus", "index", str(make_video(tmp_path / "a.mp4", seconds=1)), "--store", str(tmp_path / "s")]
    for words, message in (
        (["--workers", "0"], "workers is 0"),
        (["--tries", "0"], "tries is 0"),
        (["--address", "host:1"], "an address needs the engine ray"),
        (["--encoder", "nothing"], "there is no encoder 'nothing'"),
    ):
        assert main([*command, "--encoder", encoder, *words]) == 2
        assert message in capsys.readouterr().err


def test_index_command_prints_counts_and_exits_with_1_on_failures(tmp_path, capsys, encoder):
    make_video(tmp_path / "a.mp4", seconds=1)
    (tmp_path / "b.mp4").write_text("no video")
    flags = ["corpus", "index", str(tmp_path / "*.mp4"), "--encoder", encoder, "--store", str(tmp_path / "s")]
    assert main([*flags, "--tries", "1"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("2 videos: 1 indexed, 1 failed\n") and "b.mp4" in err
