"""The job queue: order, cancelling, failures and restarts."""

import json
import threading
from contextlib import suppress

import pytest

from framesift.errors import InputError
from framesift.library.jobs import JobQueue, QueueFull
from helpers.running_server import until


@pytest.fixture
def start(tmp_path):
    queues = []

    def make(work, begin=True):
        queue = JobQueue(work, path=tmp_path / "jobs.json")
        if begin:
            queue.start()
        queues.append(queue)
        return queue

    yield make
    for queue in queues:
        queue.stop()


def states(queue):
    return {job.name: job.state for job in queue.jobs()}


def endless(job, report):
    while True:
        report("indexing", 1, 2)
        threading.Event().wait(0.005)


def test_jobs_run_in_order_and_a_video_is_queued_once(start):
    seen = []
    queue = start(lambda job, report: seen.append(job.name), begin=False)
    for name in "aabc":
        queue.add(name, name)
    queue.start()
    until(lambda: set(states(queue).values()) == {"done"})
    assert seen == ["a", "b", "c"]


def test_job_moved_first_is_the_next_one(start):
    runs, release = [], threading.Event()

    def work(job, report):
        runs.append(job.name)
        while not release.wait(0.005):
            report("indexing", 1, 2)

    queue = start(work)
    for name in "abc":
        queue.add(name, name)
    until(lambda: states(queue)["a"] == "running")
    assert queue.move_first(queue.find("c").id).position == 1
    assert {job.name: job.position for job in queue.jobs()} == {"a": 0, "c": 1, "b": 2}
    release.set()
    until(lambda: set(states(queue).values()) == {"done"})
    assert runs == ["a", "c", "b"]


def test_failed_job_has_a_message_and_the_queue_continues(start):
    def work(job, report):
        if job.name == "bad":
            raise InputError("'bad' is no video")
        if job.name == "worse":
            raise ZeroDivisionError

    queue = start(work, begin=False)
    for name in ("bad", "worse", "good"):
        queue.add(name, name)
    queue.start()
    until(lambda: states(queue)["good"] == "done")
    assert queue.find("bad").error == "'bad' is no video"
    assert queue.find("worse").state == "failed" and "ZeroDivisionError" in queue.find("worse").error


def test_cancelled_and_removed_jobs_stop_at_their_next_report(start):
    queue = start(endless)
    running, waiting = queue.add("a", "a"), queue.add("b", "b")
    until(lambda: states(queue)["a"] == "running")
    queue.cancel(waiting.id)
    queue.cancel(running.id)
    until(lambda: states(queue) == {"a": "cancelled", "b": "cancelled"})
    assert queue.cancel("unknown") is None
    queue.add("a", "a")
    until(lambda: states(queue)["a"] == "running")
    queue.remove("a")
    queue.add("c", "c")
    until(lambda: states(queue) == {"b": "cancelled", "c": "running"})


def test_job_queued_again_while_being_cancelled_is_done(start):
    release, seen = threading.Event(), []

    def work(job, report):
        seen.append(job.id)
        if len(seen) == 1:
            release.wait(60)
            report("indexing", 1, 2)  # ends the cancelled job

    queue = start(work)
    first = queue.add("a", "a")
    until(lambda: seen == [first.id])
    queue.cancel(first.id)
    second = queue.add("a", "a")
    assert second.id != first.id and second.state == "waiting"
    release.set()
    until(lambda: states(queue) == {"a": "done"})
    assert seen == [first.id, second.id]


def test_job_of_a_killed_server_starts_again_unless_it_ended_it_twice(start, tmp_path):
    row = {"id": "1", "kind": "index", "video": "v", "name": "v", "state": "running", "phase": "indexing", "starts": 2}
    rows = [row, row | {"id": "2", "video": "w", "name": "w", "starts": 1}]
    (tmp_path / "jobs.json").write_text(json.dumps(rows))
    queue = start(lambda job, report: None)
    until(lambda: states(queue) == {"v": "failed", "w": "done"})
    assert "ended 2 times" in queue.find("v").error


def test_restart_resumes_running_and_waiting_jobs(start, tmp_path):
    queue = start(endless)
    queue.add("a", "a")
    queue.add("b", "b")
    until(lambda: states(queue)["a"] == "running")
    queue.stop()
    seen = []
    again = start(lambda job, report: seen.append(job.name))
    until(lambda: set(states(again).values()) == {"done"})
    assert seen == ["a", "b"]


def test_damaged_queue_file_is_read_as_empty(start, tmp_path):
    (tmp_path / "jobs.json").write_text('{"not": "ours"')
    assert start(endless, begin=False).jobs() == []


def test_full_queue_refuses_jobs(start, monkeypatch):
    monkeypatch.setattr("framesift.library.jobs.MAX_OPEN_JOBS", 2)
    queue = start(endless, begin=False)
    queue.add("a", "a")
    queue.add("b", "b")
    with pytest.raises(QueueFull):
        queue.add("c", "c")


def test_cancellation_survives_a_restart(start, tmp_path):
    begun, release = threading.Event(), threading.Event()

    def long_step(job, report):
        begun.set()
        release.wait(60)
        report("indexing", 1, 2)

    queue = start(long_step)
    job = queue.add("a", "a")
    assert begun.wait(60)
    queue.cancel(job.id)
    assert json.loads((tmp_path / "jobs.json").read_text())[0]["state"] == "cancelled"
    release.set()
    queue.stop()
    assert start(endless, begin=False).find("a").state == "cancelled"


def test_step_longer_than_the_shutdown_is_not_counted_as_a_crash(start, tmp_path, monkeypatch):
    monkeypatch.setattr("framesift.library.jobs.STOP_TIMEOUT_S", 0.05)
    begun, release = threading.Event(), threading.Event()
    queue = start(lambda job, report: begun.set() or release.wait(60))
    queue.add("a", "a")
    assert begun.wait(60)
    queue.stop()
    saved = json.loads((tmp_path / "jobs.json").read_text())[0]
    release.set()
    assert (saved["state"], saved["starts"]) == ("waiting", 0)


def test_job_that_fails_during_the_shutdown_is_resumed(start):
    def work(job, report):
        with suppress(BaseException):  # what ends a job while the queue stops
            endless(job, report)
        raise InputError("the engine was ended")

    queue = start(work)
    queue.add("a", "a")
    until(lambda: states(queue) == {"a": "running"})
    queue.stop()
    assert start(endless, begin=False).find("a").state == "waiting"
