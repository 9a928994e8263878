"""The progress protocol and the callbacks it accepts."""

from functools import partial

from framesift.progress import as_progress, ignore_progress


def test_callback_with_three_arguments_receives_the_stage():
    calls = []
    as_progress(lambda stage, done, total: calls.append((stage, done, total)))("indexing", 1, 2)
    assert calls == [("indexing", 1, 2)]


def test_callback_with_two_arguments_receives_no_stage():
    calls = []
    as_progress(lambda done, total: calls.append((done, total)))("indexing", 1, 2)
    as_progress(partial(lambda name, done, total: calls.append((done, total)), "name"))("indexing", 3, 4)
    assert calls == [(1, 2), (3, 4)]


def test_no_callback_reports_nothing():
    assert as_progress(None) is ignore_progress
