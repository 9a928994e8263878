"""Clips: the frames and times of the video, its sound in step with them, and its text."""

import shutil
import subprocess
from fractions import Fraction

import av
import numpy as np
import pytest

from framesift.errors import InputError
from framesift.types import Event
from framesift.video.clips import write_clip
from helpers.clips import Clip, decode_all, read_number

# Times between frames differ, so that a clip whose frames moved would show it.
VARIABLE = [0, *np.cumsum(np.random.default_rng(0).choice([20, 40, 60, 100], 99)).tolist()]
VIDEOS = {
    "b-frames.mp4": Clip(options={"g": "25", "bf": "3"}, sound_s=4.0),
    "variable.mp4": Clip(ticks=VARIABLE, time_base=Fraction(1, 1000), options={"g": "20", "bf": "2"}),
    "starts-late.ts": Clip(ticks=range(1000, 1100), options={"g": "25", "bf": "3"}),
    "open-gop.mkv": Clip("libx265", {"x265-params": "open-gop=1:keyint=20:min-keyint=20:bframes=3:log-level=none"}),
    "no-mp4-codec.webm": Clip("libvpx", options={"g": "25"}),
}
TEXT = [Event(1.0, 2.0, "One\ntwo"), Event(1.9, 2.2, "{three}"), Event(3.0, 4.0, "Outside")]


@pytest.fixture(scope="module", params=VIDEOS)
def video(request, tmp_path_factory):
    return VIDEOS[request.param].write(tmp_path_factory.mktemp("videos") / request.param)


@pytest.mark.parametrize("cut", ["copy", "exact"])
def test_clip_has_the_frames_of_its_part_at_their_times(video, tmp_path, cut):
    start_s, end_s = write_clip(video, tmp_path / "clip.mp4", 1.3, 2.5, cut=cut)
    assert end_s == 2.5 and (start_s == 1.3 if cut == "exact" else start_s <= 1.3)
    source = decode_all(video)
    zero = source[0][0]
    shown = {read_number(image): float(time - zero) for time, image in source}
    clip = [(read_number(image), float(time) + start_s) for time, image in decode_all(tmp_path / "clip.mp4")]
    numbers = [number for number, _ in clip]
    # The last frames may be some that are shown later, of which those before them need the data.
    first = max(number for number, time_s in shown.items() if time_s <= start_s + 1e-6)
    inside = [number for number, time_s in shown.items() if number >= first and time_s < end_s - 1e-6]
    assert numbers[: len(inside)] == inside and len(numbers) <= len(inside) + (3 if cut == "copy" else 0)
    for number, time_s in clip:
        assert time_s == pytest.approx(max(shown[number], start_s), abs=0.001)


@pytest.mark.parametrize("cut", ["copy", "exact"])
@pytest.mark.parametrize(("codec", "suffix"), [("aac", ".mp4"), ("pcm_mulaw", ".avi")])
def test_sound_stays_in_step_with_the_frames(tmp_path, cut, codec, suffix):
    video = write_flashes(tmp_path / f"flashes{suffix}", codec)
    write_clip(video, tmp_path / "clip.mp4", 1.3, 3.4, cut=cut)
    light_s = [float(time) for time, image in decode_all(tmp_path / "clip.mp4") if image.mean() > 128]
    assert light_s
    with av.open(str(tmp_path / "clip.mp4")) as container:
        pieces = [(float(f.pts * f.time_base), f.to_ndarray()[0], f.sample_rate) for f in container.decode(audio=0)]
    loud_s = [at_s + k / rate for at_s, samples, rate in pieces for k in np.flatnonzero(np.abs(samples) > 0.3)]
    for time_s in light_s:
        assert min(abs(time_s - other) for other in loud_s) < 0.03


def write_flashes(path, codec):
    """White frames and a tone in the first 0.2 s of every second, black ones and silence in the rest."""
    pictures = [np.full((64, 96, 3), 255 if number < 5 else 0, np.uint8) for number in range(25)]
    at = np.arange(64_000)
    tone = np.where(at % 16_000 < 3200, 0.8 * np.sin(at * 0.4), 0.0)
    return Clip(options={"g": "20"}, size=(96, 64), pictures=pictures, sound=tone, sound_codec=codec).write(path)


def test_text_of_the_part_is_a_subtitle_track(video, tmp_path):
    write_clip(video, tmp_path / "clip.mp4", 1.3, 2.5, cut="exact", text=TEXT)
    with av.open(str(tmp_path / "clip.mp4")) as container:
        (stream,) = container.streams.subtitles
        packets = [packet for packet in container.demux(stream) if packet.size > 2]
        texts = [bytes(packet)[2:].partition(b"\0")[0].decode() for packet in packets]
        times_s = [float(packet.pts * packet.time_base) for packet in packets]
    assert texts == ["One\ntwo", "{three}"] and times_s == pytest.approx([0.0, 0.6], abs=0.002)


@pytest.mark.skipif(shutil.which("ffprobe") is None, reason="ffprobe is not installed")
def test_ffprobe_finds_no_fault_in_a_clip(video, tmp_path):
    write_clip(video, tmp_path / "clip.mp4", 1.3, 2.5, text=TEXT)
    command = ["ffprobe", "-v", "warning", "-count_frames", "-show_entries", "stream=codec_type,nb_read_frames"]
    done = subprocess.run(
        [*command, "-of", "csv=p=0", tmp_path / "clip.mp4"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "video" in done.stdout and "subtitle" in done.stdout


@pytest.mark.parametrize(("start_s", "end_s"), [(2.0, 2.0), (3.0, 2.0), (-1.0, 2.0), (60.0, 70.0)])
def test_part_outside_the_video_is_one_sentence(tmp_path, start_s, end_s):
    video = Clip(ticks=range(25)).write(tmp_path / "short.mp4")
    with pytest.raises(InputError, match="expected a part of the video, 0 to 1"):
        write_clip(video, tmp_path / "clip.mp4", start_s, end_s)
    assert not (tmp_path / "clip.mp4").exists()
