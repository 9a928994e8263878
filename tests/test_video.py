"""An opened video, as a newcomer uses it: select, look, ask, save and open again."""

import base64
import io
import shutil

import numpy as np
import pytest
from PIL import Image

import framesift as fs
from framesift.video import frames as video_frames
from helpers.clips import make_clip
from helpers.encoders import GridEncoder

EVENTS = [fs.Event(2, 4, "The launch was put off because of the <wind>."), fs.Event(11, 13, "Nobody has been back.")]
QUESTION = "Why was the launch put off? A) The rain B) The wind"


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return make_clip(tmp_path_factory.mktemp("video") / "clip.mp4")


@pytest.fixture(scope="module")
def video(clip):
    return fs.open(clip, encoder=GridEncoder(), events=EVENTS, speech="none", store=clip.parent / "store", budget=5)


@pytest.fixture(scope="module")
def found(video):
    return video.select(QUESTION)


class Parrot:
    def answer(self, exhibit, question, text_mode="aligned"):
        return fs.Answer(f"{question.options[-1]} of {len(exhibit)}")


def test_selection_for_one_question_is_compared_with_unrelated_ones(video, found):
    (one,) = video.select_many([QUESTION])
    assert found.selection.basis.chance is not None and video.compare_with_chance(one).selection == found.selection


def test_found_frames_are_a_sequence_in_order_of_time(found):
    assert [frame.time_s for frame in found] == found.times_s == sorted(found.times_s)
    assert len(found) == 5 and found[-1].index == found.indices[-1]
    assert [frame.text for frame in found[1:3]] == [slot.text for slot in found.selection[1:3]]
    assert all(frame.reason[-1] in ".”" for frame in found)


def test_frame_has_the_image_that_a_reader_gets(found):
    for frame, image in zip(found, found.images(), strict=True):
        assert np.array_equal(np.asarray(frame.image), np.asarray(image))
    assert np.array_equal(np.asarray(found[2].image), np.asarray(list(found)[2].image))


def test_images_used_in_order_are_decoded_in_one_pass(video, monkeypatch):
    passes, plan = [], video_frames.DecodePlan
    monkeypatch.setattr(video_frames, "DecodePlan", lambda *given: passes.append(given) or plan(*given))
    assert all(frame.image.width for frame in video.select(QUESTION))
    assert len(passes) == 1


def test_settings_of_a_call_are_those_of_selecting_and_options_of_its_method(video):
    assert len(video.select(QUESTION, budget=3)) == 3
    assert video.select(QUESTION, method="gcr", alpha_ground=0.9).trace["options"]["alpha_ground"] == 0.9
    assert video.with_settings(max_share=0.4).config.selection.options == {"max_share": 0.4}
    with pytest.raises(fs.OptionError, match="fps can't be changed here; pass it to framesift.open"):
        video.select(QUESTION, fps=2)
    with pytest.raises(fs.OptionError, match="sift has no option 'bugdet', nor is it a setting; did you mean budget"):
        video.select(QUESTION, bugdet=2)


def test_query_of_the_stem_is_that_of_a_question_without_options(video):
    asked = {"stem": QUESTION, "stem+options": "Why was the launch put off?"}
    stem, bare = (video.compare_with_chance(video.select(one, query=query)).selection for query, one in asked.items())
    assert (stem.slots, stem.trace, stem.basis.chance) == (bare.slots, bare.trace, bare.basis.chance)
    assert not np.array_equal(stem.basis.relevance, video.select(QUESTION).selection.basis.relevance)


def test_question_is_encoded_once_for_all_settings(clip):
    encoder, asked = GridEncoder(), []
    encode, encoder.encode_texts = encoder.encode_texts, lambda texts: (asked.extend(texts), encode(texts))[1]
    video = fs.open(clip, encoder=encoder, events=EVENTS, speech="none", store=clip.parent / "store")
    for budget in (2, 3):
        video.select("Who waves?", budget=budget)
    assert asked.count("Who waves?") == 1


def test_event_encoder_of_a_call_is_that_of_opening(clip, video):
    settings = {"encoder": GridEncoder(), "events": EVENTS, "store": clip.parent / "store", "budget": 5}
    opened = fs.open(clip, **settings, event_encoder="minilm").select(QUESTION)
    assert video.select(QUESTION, event_encoder="minilm").selection == opened.selection


def test_path_is_opened_where_a_video_is_expected(clip, video, found):
    settings = {"encoder": GridEncoder(), "store": clip.parent / "store", "budget": 5, "speech": "none"}
    assert fs.select(str(clip), QUESTION, events=EVENTS, **settings).selection == found.selection
    assert fs.select(video, QUESTION).selection == found.selection
    assert fs.ask(clip, QUESTION, reader=Parrot(), **settings).text == "The wind of 5"
    assert fs.exhibit(video, found.selection).numbers == found.numbers


def test_other_types_are_one_sentence(video, found):
    calls = [
        lambda: fs.open(3),
        lambda: fs.open([3, 4]),
        lambda: fs.index(3),
        lambda: fs.find_events(None),
        lambda: fs.select(None, QUESTION),
        lambda: fs.select_many("film.mp4", [QUESTION]),
        lambda: fs.exhibit(video, 3),
        lambda: fs.exhibit("nowhere"),
        lambda: fs.ask(found.selection, QUESTION, reader=Parrot()),
        lambda: fs.ask(video, reader=Parrot()),
    ]
    for call in calls:
        with pytest.raises(fs.InputError, match=r"expected|needs"):
            call()


def test_saved_frames_are_opened_with_the_video_beside_them(clip, found, tmp_path):
    folder = found.with_overlay("shuffled", seed=3).save(tmp_path / "evidence")
    with pytest.raises(fs.InputError, match="clip.mp4 is neither in .*evidence nor beside it"):
        fs.exhibit(folder)
    shutil.copy(clip, tmp_path)
    again = fs.exhibit(folder)
    assert again.to_dict() == found.with_overlay("shuffled", seed=3).to_dict()
    assert fs.ask(folder, reader=Parrot()).text == "The wind of 5"


def test_messages_hold_the_images_in_order_and_the_question(found):
    (message,) = found.messages()
    kinds = [part["type"] for part in message["content"]]
    assert kinds == ["text", "image_url"] * 5 + ["text"]
    data = base64.b64decode(message["content"][1]["image_url"]["url"].partition(",")[2])
    assert Image.open(io.BytesIO(data)).size == found[0].image.size
    assert message["content"][-1]["text"].endswith("B. The wind")


def test_transformers_get_arrays_and_exact_times(found):
    frames, metadata = found.to_transformers()
    assert metadata.timestamps == pytest.approx(found.times_s, abs=5e-4)
    assert all(map(np.array_equal, frames, map(np.asarray, found.images())))
    assert metadata.duration == found.info.duration_s


def test_rows_are_plain_values(found):
    rows = found.rows()
    assert [row["time_s"] for row in rows] == found.times_s and [row["frame"] for row in rows] == list(found.numbers)
    assert {type(value) for row in rows for value in row.values()} == {int, float, str, bool}
    assert [row["text"] for row in found.selection.rows()] == [slot.text for slot in found.selection]


def test_comparison_has_the_frames_of_each_method(video, tmp_path):
    compared = video.compare(QUESTION, ["sift", "uniform"], budget=3)
    assert [found.method for found in compared] == ["sift", "uniform"]
    assert compared[1].indices == video.select(QUESTION, method="uniform", budget=3).indices
    assert len(compared.rows()) == 6
    assert (compared.save(tmp_path / "both") / "selection-uniform.json").is_file()


def test_notebook_shows_frames_with_escaped_text(video, found):
    answer = fs.ask(found, fs.Question("Which?", ["<b>"]), reader=Parrot())
    compared = video.compare(QUESTION, ["sift", "uniform"])
    for shown, images in ((video, 8), (found, 5), (answer, 5), (compared, 10), (found.selection, 0)):
        page = shown._repr_html_()
        assert page.count('src="data:image/jpeg;base64,') == images
        assert "<wind>" not in page and "<b>" not in page
    assert "&lt;wind&gt;" in found.selection._repr_html_()
    assert answer.to_dict().keys().isdisjoint({"exhibit"})


def test_index_is_saved_and_loaded_by_path(video, tmp_path):
    path = video.index.save(tmp_path / "film.safetensors")
    again = fs.VideoIndex.load(path)
    assert again.info == video.index.info and again.encoder == video.index.encoder
    assert np.array_equal(again.times_s, video.index.times_s) and np.array_equal(again.is_blank, video.index.is_blank)
    assert np.array_equal(again.frames, video.index.frames)
    settings = {"events": EVENTS, "encoder": GridEncoder(), "store": tmp_path, "budget": 5}
    indices = video.select(QUESTION).indices
    assert fs.select(again, QUESTION, **settings).indices == indices
    assert fs.select(path, QUESTION, **settings).indices == indices
    assert fs.select_many(str(path), [QUESTION], **settings)[0].indices == indices


def test_file_that_is_no_index_is_one_sentence(tmp_path):
    from safetensors.numpy import save_file

    (tmp_path / "text").write_text("hello")
    save_file({"times_s": np.zeros(1)}, tmp_path / "other")
    arrays = {"times_s": np.zeros(1), "frames": np.ones((1, 2)), "is_blank": np.zeros(1), "is_damaged": np.zeros(1)}
    save_file(arrays, tmp_path / "bare")
    for name in ("missing", "text", "other", "bare"):
        with pytest.raises(fs.InputError, match=name):
            fs.VideoIndex.load(tmp_path / name)


class Batch:
    def __init__(self, data):
        self.data = data


class Decoder:
    """As torchcodec's VideoDecoder: frames by time, channels first."""

    class metadata:  # noqa: N801 (an attribute of the decoder)
        begin_stream_seconds, end_stream_seconds = 0.0, 12.0

    def __init__(self, frames):
        self.frames = frames

    def get_frames_played_at(self, seconds):
        return Batch(self.frames[[int(time_s) for time_s in seconds]].transpose(0, 3, 1, 2))


@pytest.fixture(scope="module")
def arrays():
    return np.random.default_rng(0).integers(0, 256, (12, 36, 64, 3), dtype=np.uint8)


def test_frames_may_come_as_arrays_images_or_a_decoder(arrays, tmp_path):
    settings = {"encoder": GridEncoder(), "events": EVENTS, "store": tmp_path, "budget": 3, "overlay": "none"}
    times_s = np.arange(12.0)
    given = [(arrays, times_s), ([Image.fromarray(one) for one in arrays], times_s), (Decoder(arrays), None)]
    for frames, times in given:
        found = fs.open(frames, times_s=times, **settings).select(QUESTION)
        assert [np.asarray(frame.image).tolist() for frame in found] == arrays[found.indices].tolist()
        assert list(found.numbers) == found.indices
    folder = found.save(tmp_path / "evidence", with_video=True)
    assert len(list((folder / "frames").iterdir())) == 3
    index = fs.index(arrays, GridEncoder(), times_s=times_s)
    del settings["overlay"]
    assert fs.select(index, QUESTION, **settings).indices == found.indices


def test_selector_that_looks_at_frames_gets_those_given(arrays, tmp_path):
    def brightest(evidence, budget, *, lookup=None):
        """The frames with the most light."""
        light = [image.mean() for image in lookup.frames.images(range(len(evidence)), size=(8, 8))]
        return fs.Selection.of(evidence, np.argsort(light)[-budget:])

    arrays = arrays.copy()
    arrays[7] = 128 + arrays[7] // 2
    video = fs.open(arrays, times_s=range(12), encoder=GridEncoder(), store=tmp_path, method=brightest)
    assert video.select("Which?", budget=1).indices == [7]


def test_frames_of_another_form_are_one_sentence(arrays):
    for frames, times_s in (
        (arrays, [0.0, 1.0]),
        (arrays[..., 0], range(12)),
        (arrays / 255, range(12)),
        (arrays[:0], []),
        (arrays, range(12, 0, -1)),
        (arrays, None),
        ([Image.fromarray(one) for one in arrays], None),
    ):
        with pytest.raises(fs.InputError, match="expected"):
            fs.open(frames, times_s=times_s, encoder=GridEncoder())
