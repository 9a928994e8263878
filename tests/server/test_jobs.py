"""The job queue: order, cancelling, failures and restarts."""

import json
import threading

import pytest

from framesift.errors import InputError
from framesift.server.jobs import JobQueue, QueueFull
from helpers.running_server import until


@pytest.fixture
def start(tmp_path):
    queues = []

    def make(*stages, begin=True, folder=""):
        queue = JobQueue(tmp_path / "jobs.json", stages, lambda: None, folder)
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


def test_jobs_run_in_order(start):
    seen = []
    queue = start(lambda job, report: seen.append(job.name), begin=False)
    for name in "abc":
        queue.add(name, name)
    queue.start()
    until(lambda: set(states(queue).values()) == {"done"})
    assert seen == ["a", "b", "c"]


def test_next_job_is_decoded_while_another_ones_text_is_read(start):
    seen = []

    def read_text(job, report):
        seen.append(job.name)
        endless(job, report)

    queue = start(lambda job, report: seen.append(f"{job.name} frames"), read_text, begin=False)
    queue.add("a", "a")
    queue.add("b", "b")
    queue.start()
    until(lambda: seen == ["a frames", "a", "b frames"] or seen == ["a frames", "b frames", "a"])
    until(lambda: states(queue) == {"a": "running", "b": "waiting"})


def test_short_video_does_not_wait_for_a_long_one(start):
    release = threading.Event()

    def work(job, report):
        while job.name == "long" and not release.wait(0.005):
            report("indexing", 1, 100)

    queue = start(work)
    queue.add("long", "long", duration_s=360_000)
    until(lambda: states(queue) == {"long": "running"})
    queue.add("medium", "medium", duration_s=300_000)
    queue.add("short", "short", duration_s=60)
    until(lambda: states(queue) == {"long": "running", "medium": "waiting", "short": "done"})
    release.set()
    until(lambda: set(states(queue).values()) == {"done"})


def test_job_moved_first_pauses_the_running_one_which_then_continues(start):
    runs, release = [], threading.Event()

    def work(job, report):
        runs.append(job.name)
        while not release.wait(0.005):
            report("indexing", 1, 2)

    queue = start(work)
    for name in "abc":
        queue.add(name, name)
    until(lambda: states(queue)["a"] == "running")
    queue.move_first(queue.find("c").id)
    until(lambda: states(queue) == {"a": "waiting", "b": "waiting", "c": "running"})
    assert {job.name: queue.places()[job.id].position for job in queue.jobs()} == {"a": 1, "b": 2, "c": 0}
    release.set()
    until(lambda: set(states(queue).values()) == {"done"})
    assert runs == ["a", "c", "b"]  # a was not started twice


def test_paused_job_can_be_cancelled(start):
    queue = start(endless)
    first = queue.add("a", "a")
    until(lambda: states(queue)["a"] == "running")
    queue.move_first(queue.add("b", "b").id)
    until(lambda: states(queue) == {"a": "waiting", "b": "running"})
    queue.cancel(first.id)
    until(lambda: states(queue) == {"a": "cancelled", "b": "running"})


def test_too_many_paused_jobs_start_again_later(start, monkeypatch):
    monkeypatch.setattr("framesift.server.jobs.MAX_PAUSED", 1)
    queue = start(endless)
    for name in "abc":
        queue.move_first(queue.add(name, name).id)
        until(lambda name=name: states(queue)[name] == "running")
    until(lambda: len(queue._threads) == 2)
    assert states(queue) == {"a": "waiting", "b": "waiting", "c": "running"}


def test_waiting_time_comes_from_the_speed_of_the_running_job(start):
    shown = threading.Event()

    def work(job, report):
        for done in range(10):
            report("indexing", done, 10)
        shown.set()
        endless(job, lambda *_: report("indexing", 9, 10))

    queue = start(work)
    queue.add("a", "a", duration_s=100)
    queue.add("b", "b", duration_s=100)
    assert shown.wait(60)
    found = queue.places()
    places = {job.name: found[job.id] for job in queue.jobs()}
    assert places["a"].left_s > 0 and places["b"].starts_in_s == pytest.approx(places["a"].left_s, abs=1)


def test_video_is_queued_once(start):
    queue = start(endless, begin=False)
    assert queue.add("a", "a") == queue.add("a", "a")


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


def test_cancelled_jobs_stop_at_their_next_progress_call(start):
    queue = start(endless)
    running, waiting = queue.add("a", "a"), queue.add("b", "b")
    until(lambda: states(queue)["a"] == "running")
    queue.cancel(waiting.id)
    queue.cancel(running.id)
    until(lambda: states(queue) == {"a": "cancelled", "b": "cancelled"})
    assert queue.cancel("unknown") is None


def test_job_queued_again_while_being_cancelled_is_done(start):
    release, seen = threading.Event(), []

    def work(job, report):
        seen.append(job.id)
        if len(seen) == 1:
            release.wait(60)
            report("indexing", 1, 2)  # raises in the cancelled job

    queue = start(work)
    first = queue.add("a", "a")
    until(lambda: seen == [first.id])
    queue.cancel(first.id)
    second = queue.add("a", "a")
    assert second.id != first.id and second.state == "waiting"
    release.set()
    until(lambda: states(queue) == {"a": "done"})
    assert seen == [first.id, second.id]


def test_job_of_a_removed_video_is_removed_while_it_runs(start):
    queue = start(endless)
    queue.add("a", "a")
    until(lambda: states(queue) == {"a": "running"})
    queue.remove("a")
    queue.add("b", "b")
    until(lambda: states(queue) == {"b": "running"})


def test_jobs_of_another_directory_are_kept_until_it_is_served(start):
    queue = start(endless, begin=False, folder="one")
    queue.add("a", "a", uploaded=False)
    queue.add("u", "u")
    seen = []
    other = start(lambda job, report: seen.append(job.name), folder="two")
    until(lambda: seen == ["u"])
    assert set(states(other)) == {"u"}
    other.stop()
    again = start(lambda job, report: seen.append(job.name), folder="one")
    until(lambda: states(again) == {"a": "done", "u": "done"})


def test_job_that_ended_the_server_twice_fails(start, tmp_path):
    row = {"id": "1", "kind": "index", "video": "v", "name": "v", "state": "running", "starts": 2}
    (tmp_path / "jobs.json").write_text(json.dumps([row, row | {"id": "2", "video": "w", "name": "w", "starts": 1}]))
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


def test_job_of_a_killed_server_starts_again(start, tmp_path):
    (tmp_path / "jobs.json").write_text(
        '[{"id": "1", "kind": "index", "video": "v", "name": "v", "state": "running", "phase": "indexing"}]'
    )
    queue = start(lambda job, report: None)
    until(lambda: states(queue) == {"v": "done"})


def test_damaged_queue_file_is_read_as_empty(start, tmp_path):
    (tmp_path / "jobs.json").write_text('{"not": "ours"')
    assert start(endless, begin=False).jobs() == []


def test_full_queue_refuses_jobs(start, monkeypatch):
    monkeypatch.setattr("framesift.server.jobs.MAX_OPEN_JOBS", 2)
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
    threading.Timer(0.1, release.set).start()
    queue.stop()
    assert start(endless, begin=False).find("a").state == "cancelled"


def test_step_longer_than_the_shutdown_is_not_counted_as_a_crash(start, tmp_path, monkeypatch):
    monkeypatch.setattr("framesift.server.jobs.STOP_TIMEOUT_S", 0.05)
    begun, release = threading.Event(), threading.Event()
    queue = start(lambda job, report: begun.set() or release.wait(60))
    queue.add("a", "a")
    assert begun.wait(60)
    queue.stop()
    saved = json.loads((tmp_path / "jobs.json").read_text())[0]
    release.set()
    assert (saved["state"], saved["starts"]) == ("waiting", 0)


def test_job_that_fails_during_the_shutdown_is_resumed(start):
    queue = None

    def work(job, report):
        until(lambda: queue._stopping)
        raise InputError("the engine was ended")

    queue = start(work)
    queue.add("a", "a")
    until(lambda: states(queue) == {"a": "running"})
    queue.stop()
    assert start(endless, begin=False).find("a").state == "waiting"
