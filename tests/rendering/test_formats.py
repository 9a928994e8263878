"""Formats for other programs, each opened by one that reads it."""

import json
from dataclasses import replace

import av
import numpy as np
import pytest
from opentimelineio import adapters

import framesift as fs
from framesift.errors import InputError
from framesift.rendering.export_formats import FORMATS
from framesift.rendering.formats.base import Export
from helpers.clips import make_clip
from helpers.showcase import make_selection

TITLE = "It ends <b>loudly</b> & soon."  # of the last moment
OPTIONAL = "label-studio-sdk and fiftyone are no part of the extra dev"
TIMES_S = (5.0, 9.0, 30.0)  # the first two are neighbours


@pytest.fixture(scope="module")
def shown(video):
    """Frames at TIMES_S, of which the last has a text."""
    return fs.exhibit(video, selection_at(video, TIMES_S))


@pytest.fixture(scope="module")
def both(video, tmp_path_factory):
    """Frames of two videos: the second starts at 60 s of their joint timeline."""
    other = make_clip(tmp_path_factory.mktemp("other") / "other.mp4", seconds=10)
    joint = fs.open([video, other], encoder="offline", store=other.parent / "store", subtitles="none", speech="none")
    return joint.select("Why does the colour change?", budget=4, method="uniform")


def selection_at(video, times_s):
    selection = make_selection(video)
    nearest = [min(selection.basis.times_s.tolist(), key=lambda time_s, at=at: abs(time_s - at)) for at in times_s]
    indices = [selection.basis.times_s.tolist().index(time_s) for time_s in nearest]
    events = {2: selection.basis.events[-1]}
    slots = [fs.Slot(i, t, "visual", 0.1, events.get(k)) for k, (i, t) in enumerate(zip(indices, nearest, strict=True))]
    return replace(selection, slots=tuple(slots), method="mine")


@pytest.fixture(scope="module")
def saved(shown, tmp_path_factory):
    return shown.save(tmp_path_factory.mktemp("saved") / "all", formats=list(FORMATS))


def test_moments_hold_their_text_and_neighbours_join(shown, tmp_path):
    moments = Export(shown, tmp_path, {}).moments
    assert [(moment.start_s, moment.end_s) for moment in moments] == [(2.0, 12.0), (27.0, 33.0)]
    assert [len(moment.frames) for moment in moments] == [2, 1]
    assert moments[1].title == TITLE


def test_each_moment_is_a_clip_with_its_text(saved):
    clips = sorted(path.name for path in (saved / "clips").iterdir())
    assert clips == ["0001_00-00-02.000_00-00-12.000.mp4", "0002_00-00-27.000_00-00-33.000.mp4"]
    with av.open(str(saved / "clips" / clips[1])) as container:
        assert [stream.type for stream in container.streams] == ["video", "subtitle"]
        assert 6 <= container.duration / 1e6 < 10


def test_several_videos_have_a_folder_of_clips_and_a_file_of_chapters_each(both, tmp_path):
    folder = both.save(tmp_path / "x", formats=["clips-exact", "vtt"])
    assert {path.name for path in folder.glob("*.vtt")} == {"moments-clip.mp4.vtt", "moments-other.mp4.vtt"}
    assert {path.name for path in (folder / "clips").iterdir()} == {"clip.mp4", "other.mp4"}
    for path in (folder / "clips").rglob("*.mp4"):
        if path.is_file():
            with av.open(str(path)) as container:
                assert 0 < container.duration / 1e6 <= 40


@pytest.mark.parametrize("ending", ["edl", "otio", "fcpxml"])
def test_cut_lists_open_in_opentimelineio(saved, video, ending):
    read = adapters.read_from_file(str(saved / f"moments.{ending}"))
    clips = list(read.find_clips())
    ranges = [clip.source_range for clip in clips]
    assert [(r.start_time.to_seconds(), r.duration.to_seconds()) for r in ranges] == [(2.0, 10.0), (27.0, 6.0)]
    if ending != "edl":  # which has names alone
        assert {clip.media_reference.target_url for clip in clips} == {video.resolve().as_uri()}
        assert clips[1].markers[0].name == TITLE


def test_timecodes_of_29_97_frames_per_second_count_30_to_a_second(shown, tmp_path):
    info = replace(shown.videos[0].info, fps=30000 / 1001)
    ntsc = replace(shown, videos=(replace(shown.videos[0], info=info),))
    lines = (ntsc.save(tmp_path / "x", formats=["edl"]) / "moments.edl").read_text().splitlines()
    assert lines[3].split()[4:] == ["00:00:02:00", "00:00:12:00", "00:00:00:00", "00:00:10:00"]


def test_ffmpeg_plays_the_moments_one_after_another(saved):
    with av.open(str(saved / "moments.ffconcat"), format="concat", options={"safe": "0"}) as container:
        assert container.duration == 16e6


def test_ffmpeg_reads_the_chapters(saved):
    with av.open(str(saved / "moments.vtt")) as container:
        cues = [(float(p.pts * p.time_base), bytes(p).decode()) for p in container.demux() if p.size]
    assert cues[1] == (27.0, "It ends &lt;b&gt;loudly&lt;/b&gt; &amp; soon.")


def test_the_folder_is_a_data_set_of_hugging_face(saved, shown, tmp_path):
    import datasets  # which takes seconds

    (row,) = datasets.load_dataset("imagefolder", data_dir=str(saved), cache_dir=str(tmp_path))["train"]
    assert row["question"] == shown.question.text and row["times_s"] == list(TIMES_S)
    assert row["reasons"] == [frame.reason for frame in shown.frames]
    assert [image.size for image in row["frames"]] == [frame.image.size for frame in shown.frames]


def test_label_studio_takes_the_moments_as_predictions(saved):
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason=OPTIONAL).LabelInterface
    labelling = interface((saved / "label-studio.xml").read_text())
    (task,) = json.loads((saved / "label-studio.json").read_text())
    assert labelling.validate_task({"data": task["data"]})
    assert labelling.validate_prediction(task["predictions"][0])


def test_fiftyone_reads_the_moments_as_temporal_labels(saved):
    types = pytest.importorskip("fiftyone.types", reason=OPTIONAL)
    importer = types.FiftyOneTemporalDetectionDataset().get_dataset_importer_cls()(str(saved / "fiftyone"))
    with importer:
        ((path, _, label, _),) = importer
    assert path.endswith("clip.mp4")
    assert [d.label for d in label.detections] == ["moment"] * 2 and label.detections[1]["text"] == TITLE


def test_moments_of_frames_from_elsewhere_have_no_file(tmp_path):
    video = fs.open(np.zeros((4, 8, 8, 3), np.uint8), times_s=[0, 1, 2, 3], encoder="offline")
    with pytest.raises(InputError, match="given as frames"):
        video.select("Why?", budget=2).save(tmp_path / "x", formats=["edl"])
