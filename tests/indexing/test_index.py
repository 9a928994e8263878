"""From a file to an index: built once, resumable, identical after interruptions."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import framesift as fs
from framesift.indexing import index as build
from framesift.store.maintenance import prune
from framesift.store.store import INDEX, Store
from framesift.video.frames import Sampling, sample
from helpers.clips import make_clip, two_colours, write_frames
from helpers.encoders import GridEncoder

SECONDS = build.PART_SIZE + 22  # one part is stored before the end


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("clips") / "clip.mp4", seconds=SECONDS, fps=1)


def payload(store):
    return next(Path(store).rglob(INDEX)).read_bytes()


def test_index_has_a_unit_vector_for_every_second(clip, tmp_path):
    index = fs.index(clip, GridEncoder(), 1.0, store=tmp_path)
    assert len(index) == SECONDS
    assert np.linalg.norm(index.frames, axis=1) == pytest.approx(np.ones(len(index)), abs=1e-6)
    assert index.times_s[:3].tolist() == [0.0, 1.0, 2.0]
    assert index.encoder == "grid"


def test_interruption_while_the_decoding_thread_starts(clip, tmp_path, monkeypatch):
    start = threading.Thread.start

    def start_and_stop(thread):
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start_and_stop)
    with pytest.raises(KeyboardInterrupt):
        fs.index(clip, GridEncoder(), 1.0, store=tmp_path)


def test_moved_video_is_a_cache_hit_and_a_changed_one_is_not(clip, tmp_path):
    made = fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "store")
    moved = Path(shutil.copy(clip, tmp_path / "other name.mp4"))
    encoder = GridEncoder()
    again = fs.index(moved, encoder, 1.0, store=tmp_path / "store")
    assert encoder.seen == 0
    assert again.info.path == str(moved) and (again.frames == made.frames).all()
    fs.index(make_clip(moved, seconds=10, seed=1), encoder, 1.0, store=tmp_path / "store")
    assert encoder.seen > 0


def test_index_of_a_relative_path_is_not_stale_in_another_folder(clip, tmp_path, monkeypatch):
    monkeypatch.chdir(clip.parent)
    fs.index(clip.name, GridEncoder(), 1.0, store=tmp_path / "store")
    monkeypatch.chdir(tmp_path)
    assert prune(Store(tmp_path / "store")) == []


@pytest.mark.parametrize("change", [{"fingerprint": "other"}, {"fps": 2.0}, {"mode": "keyframes"}])
def test_encoder_fingerprint_and_sampling_are_part_of_the_key(clip, tmp_path, change):
    fs.index(clip, GridEncoder(), fps=1.0, store=tmp_path)
    encoder, settings = GridEncoder(), {"fps": 1.0} | change
    encoder.fingerprint = settings.pop("fingerprint", encoder.fingerprint)
    fs.index(clip, encoder, **settings, store=tmp_path)
    assert encoder.seen > 0


class Interrupted(GridEncoder):
    """Stops after a number of images, as Ctrl-C or a crash would."""

    def __init__(self, after, error):
        super().__init__()
        self.after, self.error = after, error

    def encode_images(self, images):
        if self.seen >= self.after:
            raise self.error
        return super().encode_images(images)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_interrupted_run_resumes(clip, tmp_path, error):
    with pytest.raises(type(error)):
        fs.index(clip, Interrupted(build.PART_SIZE, error), 1.0, store=tmp_path / "a")
    rest = GridEncoder()
    reports = []
    resumed = fs.index(clip, rest, 1.0, store=tmp_path / "a", progress=lambda *report: reports.append(report))
    assert {total for _, _, total in reports} == {len(resumed)}
    assert rest.seen == len(resumed) - build.PART_SIZE
    fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "b")
    assert payload(tmp_path / "a") == payload(tmp_path / "b")


def test_quick_index_has_key_frames_until_a_call_completes_it(tmp_path):
    colours = np.random.default_rng(0).integers(0, 256, (50, 2, 3), dtype=np.uint8)
    frames = (two_colours(colours[k // 3], k) for k in range(SECONDS))
    clip, made = write_frames(tmp_path / "clip.mp4", frames, fps=1, g="5"), tmp_path / "store"
    quick = fs.index(clip, GridEncoder(), 1.0, store=made, quick=True)
    keys = [time_s for time_s, _ in sample(clip, 64 / SECONDS, "keyframes")]
    assert quick.times_s.tolist() == keys and len(keys) < SECONDS / 3
    assert quick.warnings[-1].startswith(f"only {len(keys)} key frames are considered")
    again = GridEncoder()
    assert len(fs.index(clip, again, 1.0, store=made, quick=True)) == len(keys) and again.seen == 0
    with pytest.raises(KeyboardInterrupt):
        fs.index(clip, Interrupted(build.PART_SIZE, KeyboardInterrupt()), 1.0, store=made)
    assert fs.index(clip, again, 1.0, store=made, quick=True).times_s.tolist() == keys  # while it is not complete
    complete, direct = (fs.index(clip, GridEncoder(), 1.0, store=store) for store in (made, tmp_path / "direct"))
    assert len(list(made.rglob(INDEX))) == 1 and payload(made) == payload(tmp_path / "direct")
    assert complete.warnings == direct.warnings == ()
    assert len(fs.index(clip, GridEncoder(), 1.0, store=made, quick=True)) == SECONDS


def once(call):
    """For progress: calls a function at the first report, while the run holds the index."""
    calls = [call]
    return lambda *_: calls and calls.pop()()


def when_waiting(call):
    """For progress: calls a function while the index is made by another run."""
    return lambda stage, *_: call() if "; waiting" in stage else None


def test_of_runs_that_need_an_index_at_once_one_makes_it(clip, tmp_path):
    waits, second = threading.Event(), GridEncoder()
    options = {"store": tmp_path / "store", "progress": when_waiting(waits.set)}
    thread = threading.Thread(target=fs.index, args=(clip, second, 1.0), kwargs=options)

    def start_second():
        thread.start()
        assert waits.wait(60)

    first = GridEncoder()
    fs.index(clip, first, 1.0, store=tmp_path / "store", progress=once(start_second))
    thread.join()
    assert first.seen > 0 and second.seen == 0
    (video,) = (tmp_path / "store").iterdir()  # no lock stays
    assert len(list(video.iterdir())) == 2  # with the timeline


def test_waiting_for_another_run_ends_with_ctrl_c(clip, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    def wait():
        fs.index(clip, GridEncoder(), 1.0, store=tmp_path, progress=when_waiting(interrupt))

    with pytest.raises(KeyboardInterrupt):
        fs.index(clip, GridEncoder(), 1.0, store=tmp_path, progress=once(wait))


def test_encoder_receives_images_at_twice_its_input_size(clip, tmp_path):
    class Small(GridEncoder):
        image_side = 20

        def encode_images(self, images):
            assert {image.shape for image in images} == {(40, 60, 3)}
            return super().encode_images(images)

    fs.index(clip, Small(), 1.0, store=tmp_path)


def test_progress_counts_up_to_the_end(clip, tmp_path):
    calls = []
    index = fs.index(clip, GridEncoder(), 1.0, store=tmp_path, progress=lambda *call: calls.append(call[1:]))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1][0] == len(index)
    assert all(done <= of for done, of in calls)


def test_frames_that_show_nothing_are_marked(tmp_path):
    shown = np.random.default_rng(0).integers(0, 256, (64, 96, 3), dtype=np.uint8)
    clip = write_frames(tmp_path / "clip.mp4", [shown * (k % 3 != 1) for k in range(9)], fps=1)
    assert fs.index(clip, GridEncoder(), 1.0, store=tmp_path).is_blank.tolist() == [False, True, False] * 3


def test_non_finite_vectors_name_the_encoder(clip, tmp_path):
    class Broken(GridEncoder):
        def encode_images(self, images):
            return super().encode_images(images) * np.nan

    with pytest.raises(fs.FramesiftError, match="the encoder grid returned a non-finite vector for .* at 0.000 s"):
        fs.index(clip, Broken(), 1.0, store=tmp_path)


@pytest.fixture
def damaged_from(monkeypatch):
    """Reports candidates as damaged and times as missed, as the decoder of a damaged file does."""

    def set_damage(damaged, missed=()):
        plain = Sampling.__next__

        def with_damage(self):
            time_s, image = plain(self)
            self.missed_s.extend(t for t in missed if time_s - 1 < t <= time_s)
            if time_s in damaged:
                self.damaged_s.append(time_s)
            return time_s, image

        monkeypatch.setattr(Sampling, "__next__", with_damage)

    return set_damage


def test_damaged_frames_stay_marked_where_nothing_else_covers_a_minute(clip, tmp_path, damaged_from):
    damaged_from(range(50, 130))
    index = fs.index(clip, GridEncoder(), 1.0, store=tmp_path)
    assert index.times_s[index.is_damaged].tolist() == list(range(60, 120))
    assert len(index) == SECONDS - 20
    assert index.warnings[-2:] == (
        "20 damaged frames are left out of the candidates",
        "60 damaged frames are kept as candidates, marked, because no other frame covers their minute: 0:01:00-0:01:59",
    )


def test_video_of_damaged_frames_keeps_all(clip, tmp_path, damaged_from):
    damaged_from(range(SECONDS))
    assert fs.index(clip, GridEncoder(), 1.0, store=tmp_path).is_damaged.tolist() == [True] * SECONDS


def test_interrupted_run_reports_the_damage_of_both_runs(clip, tmp_path, damaged_from):
    damaged_from([10, 20, 140], missed=[31, 145])
    whole = fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fs.index(clip, Interrupted(build.PART_SIZE, KeyboardInterrupt()), 1.0, store=tmp_path / "cut")
    assert fs.index(clip, GridEncoder(), 1.0, store=tmp_path / "cut").warnings == whole.warnings
    assert payload(tmp_path / "cut") == payload(tmp_path / "whole")
    assert f"2 of {SECONDS} candidates" in whole.warnings[0] and f"3 of {SECONDS} candidates" in whole.warnings[1]
