"""The queue: order, cancelling, failing, and going on after a restart."""

import threading

import pytest
from serving import until

from framesift.errors import InputError
from framesift.serve.jobs import Full, Queue


@pytest.fixture
def start(tmp_path):
    queues = []

    def make(work, begin=True):
        queue = Queue(tmp_path / "jobs.json", work, lambda: None)
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
    monkeypatch.setattr("framesift.serve.jobs.MOST_WAITING", 2)
    queue = start(endless, begin=False)
    queue.add("a", "a")
    queue.add("b", "b")
    with pytest.raises(Full):
        queue.add("c", "c")
