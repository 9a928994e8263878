"""The queue: order, cancelling, failing, and going on after a restart."""

import json
import threading

import pytest

from framesift.errors import InputError
from framesift.server.jobs import Full, Queue
from helpers.running_server import until


@pytest.fixture
def start(tmp_path):
    queues = []

    def make(work, begin=True, folder=""):
        queue = Queue(tmp_path / "jobs.json", work, lambda: None, folder)
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


def test_jobs_run_one_after_the_other(start):
    seen = []
    queue = start(lambda job, report: seen.append(job.name), begin=False)
    for name in "abc":
        queue.add(name, name)
    queue.start()
    until(lambda: set(states(queue).values()) == {"done"})
    assert seen == ["a", "b", "c"]


def test_a_video_is_queued_once(start):
    queue = start(endless, begin=False)
    assert queue.add("a", "a") == queue.add("a", "a")


def test_a_failure_is_a_sentence_and_the_queue_goes_on(start):
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
    assert queue.of("bad").error == "'bad' is no video"
    assert queue.of("worse").state == "failed" and "ZeroDivisionError" in queue.of("worse").error


def test_a_running_job_stops_at_its_next_step_when_cancelled(start):
    queue = start(endless)
    running, waiting = queue.add("a", "a"), queue.add("b", "b")
    until(lambda: states(queue)["a"] == "running")
    queue.cancel(waiting.id)
    queue.cancel(running.id)
    until(lambda: states(queue) == {"a": "cancelled", "b": "cancelled"})
    assert queue.cancel("nobody") is None


def test_a_job_queued_again_while_it_is_being_cancelled_is_done(start):
    go_on, seen = threading.Event(), []

    def work(job, report):
        seen.append(job.id)
        if len(seen) == 1:
            go_on.wait(10)
            report("indexing", 1, 2)  # where the first one learns that it was cancelled

    queue = start(work)
    first = queue.add("a", "a")
    until(lambda: seen == [first.id])
    queue.cancel(first.id)
    second = queue.add("a", "a")
    assert second.id != first.id and second.state == "waiting"
    go_on.set()
    until(lambda: states(queue) == {"a": "done"})
    assert seen == [first.id, second.id]


def test_a_removed_videos_job_is_gone_even_while_it_runs(start):
    queue = start(endless)
    queue.add("a", "a")
    until(lambda: states(queue) == {"a": "running"})
    queue.forget("a")
    queue.add("b", "b")
    until(lambda: states(queue) == {"b": "running"})


def test_jobs_of_another_folder_are_kept_for_when_it_is_served_again(start):
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


def test_a_video_that_ends_the_server_again_and_again_is_left_alone(start, tmp_path):
    row = {"id": "1", "kind": "index", "video": "v", "name": "v", "state": "running", "starts": 2}
    (tmp_path / "jobs.json").write_text(json.dumps([row, row | {"id": "2", "video": "w", "name": "w", "starts": 1}]))
    queue = start(lambda job, report: None)
    until(lambda: states(queue) == {"v": "failed", "w": "done"})
    assert "ended 2 times" in queue.of("v").error


def test_a_restart_takes_up_what_was_running_and_waiting(start, tmp_path):
    queue = start(endless)
    queue.add("a", "a")
    queue.add("b", "b")
    until(lambda: states(queue)["a"] == "running")
    queue.stop()
    seen = []
    again = start(lambda job, report: seen.append(job.name))
    until(lambda: set(states(again).values()) == {"done"})
    assert seen == ["a", "b"]


def test_a_killed_server_leaves_a_job_that_starts_again(start, tmp_path):
    (tmp_path / "jobs.json").write_text(
        '[{"id": "1", "kind": "index", "video": "v", "name": "v", "state": "running", "phase": "indexing"}]'
    )
    queue = start(lambda job, report: None)
    until(lambda: states(queue) == {"v": "done"})


def test_a_damaged_list_starts_empty(start, tmp_path):
    (tmp_path / "jobs.json").write_text('{"not": "ours"')
    assert start(endless, begin=False).jobs() == []


def test_the_queue_has_an_end(start, monkeypatch):
    monkeypatch.setattr("framesift.server.jobs.MOST_WAITING", 2)
    queue = start(endless, begin=False)
    queue.add("a", "a")
    queue.add("b", "b")
    with pytest.raises(Full):
        queue.add("c", "c")


def test_a_wish_to_cancel_outlives_the_server(start, tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def long_step(job, report):
        begun.set()
        go_on.wait(30)
        report("indexing", 1, 2)

    queue = start(long_step)
    job = queue.add("a", "a")
    assert begun.wait(10)
    queue.cancel(job.id)
    assert json.loads((tmp_path / "jobs.json").read_text())[0]["state"] == "cancelled"
    threading.Timer(0.1, go_on.set).start()
    queue.stop()
    assert start(endless, begin=False).of("a").state == "cancelled"


def test_a_step_that_outlasts_the_server_is_no_crash(start, tmp_path, monkeypatch):
    monkeypatch.setattr("framesift.server.jobs.LEFT_S", 0.05)
    begun, go_on = threading.Event(), threading.Event()
    queue = start(lambda job, report: begun.set() or go_on.wait(30))
    queue.add("a", "a")
    assert begun.wait(10)
    queue.stop()
    kept = json.loads((tmp_path / "jobs.json").read_text())[0]
    go_on.set()
    assert (kept["state"], kept["starts"]) == ("waiting", 0)


def test_work_that_goes_wrong_because_the_server_ends_is_taken_up_again(start):
    queue = None

    def work(job, report):
        until(lambda: queue._stopping)
        raise InputError("the engine was ended")

    queue = start(work)
    queue.add("a", "a")
    until(lambda: states(queue) == {"a": "running"})
    queue.stop()
    assert start(endless, begin=False).of("a").state == "waiting"
