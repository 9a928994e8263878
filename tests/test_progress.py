"""The progress protocol and the callbacks it accepts."""

from framesift.progress import as_progress, ignore_progress


def test_callback_with_three_arguments_receives_the_stage():
    calls = []
    as_progress(lambda stage, done, total: calls.append((stage, done, total)))("indexing", 1, 2)
    assert calls == [("indexing", 1, 2)]


def test_no_callback_reports_nothing():
    assert as_progress(None) is ignore_progress
