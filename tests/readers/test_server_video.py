"""Frames as one video for vLLM, and as images for every other server."""

import json
import logging

import numpy as np
import pytest

import framesift as fs
from framesift.errors import ReaderError
from framesift.pipeline.video import ask
from framesift.readers.openai import OpenAIReader
from framesift.rendering.exhibit import exhibit as make_exhibit


@pytest.fixture
def vllm(server):
    server.version = "0.20.0"
    return server


def selected(video, times_s):
    slots = tuple(fs.Slot(k, time_s, "context", 0.1) for k, time_s in enumerate(times_s))
    return make_exhibit(video, fs.Selection(slots, "uniform", len(slots)))


def test_vllm_gets_one_video_with_times_exact_to_the_millisecond(vllm, video, question):
    times_s = [k * 0.2 for k in range(40)]  # more frames than vLLM keeps by default
    answer = OpenAIReader(vllm.url).answer(selected(video, times_s), question, "aligned")
    frames, sent_s = vllm.video()
    assert sent_s == pytest.approx(times_s, abs=5e-4) and frames.shape == (40, 96, 160, 3)
    assert (answer.letter, answer.frames_as, answer.time_format) == ("B", "video", "clock")


def test_video_has_the_frames_of_the_images(vllm, exhibit, question):
    reader = OpenAIReader(vllm.url)
    for _ in range(2):
        reader.answer(exhibit, question, "aligned")
    assert vllm.paths == ["/v1/models", "/version"]  # each once
    OpenAIReader(vllm.url, frames_as="images").answer(exhibit, question, "aligned")
    pictures = [np.asarray(picture) for picture in vllm.pictures()]
    np.testing.assert_array_equal(vllm.video(0)[0], np.stack(pictures))


@pytest.mark.parametrize(("model", "options"), [("reader-7b", {}), ("Qwen3-VL-8B", {"time_format": "clock"})])
def test_times_that_the_model_does_not_mark_itself_are_sent_as_a_line(vllm, exhibit, question, model, options):
    vllm.models = (model,)
    OpenAIReader(vllm.url, **options).answer(exhibit, question, "aligned")
    assert [part["type"] for part in vllm.parts()] == ["video_url", "text"]
    assert vllm.texts()[0].startswith("The 5 frames of this video are at [0:00:01.000], ")


def test_qwen3_vl_gets_each_frame_twice_and_no_line(vllm, exhibit, question):
    vllm.models = ("Qwen/Qwen3-VL-8B-Instruct",)
    answer = OpenAIReader(vllm.url).answer(exhibit, question, "aligned")
    frames, times_s = vllm.video()
    assert times_s == [1, 1, 3, 3, 7, 7, 12, 12, 16, 16]
    np.testing.assert_array_equal(frames[::2], frames[1::2])
    assert vllm.texts()[0].startswith("Why was the launch") and answer.time_format == "qwen3-vl"


def test_frames_of_several_sizes_and_one_alone_are_sent_as_images(vllm, question, exhibit, video, monkeypatch):
    assert OpenAIReader(vllm.url).answer(selected(video, [3.0]), question, "aligned").frames_as == "images"
    sizes = iter([(80, 48), (40, 24)])
    draw = type(exhibit).draw
    monkeypatch.setattr(type(exhibit), "draw", lambda *given: draw(*given).resize(next(sizes, (40, 24))))
    assert OpenAIReader(vllm.url).answer(exhibit, question, "aligned").frames_as == "images"


@pytest.mark.parametrize("version", ["0.20.0rc1", "dev", None])
def test_older_or_unknown_vllm_gets_images_with_one_log_line(server, exhibit, question, version, caplog):
    server.version = version
    reader = OpenAIReader(server.url)
    with caplog.at_level(logging.INFO, "framesift"):
        for _ in range(2):
            assert reader.answer(exhibit, question, "aligned").frames_as == "images"
    assert len([record for record in caplog.records if "frames are sent as images" in record.message]) == 1


def test_models_that_mark_frames_get_images_without_times_or_from_other_servers(vllm, exhibit, question):
    vllm.models = ("Qwen3-VL-8B",)
    answer = OpenAIReader(vllm.url, times=False).answer(exhibit, question, "aligned")
    assert (answer.frames_as, answer.time_format) == ("images", "none")
    assert [part["type"] for part in vllm.parts()] == ["image_url"] * 5 + ["text"]
    vllm.paths, vllm.owner, vllm.models = [], "llamacpp", ("gemma-4-E4B-it-Q4_K_M.gguf",)
    answer = OpenAIReader(vllm.url).answer(exhibit, question, "aligned")
    assert (answer.frames_as, answer.time_format, vllm.paths) == ("images", "gemma4", ["/v1/models"])
    assert vllm.texts()[:2] == ["00:01 ", " 00:03 "]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "At most 0 video(s) may be provided in one prompt."),
        (422, "unknown variant `video_url`, expected `text` or `image_url`"),
    ],
)
def test_refused_video_is_sent_as_images_from_then_on(vllm, exhibit, question, caplog, status, message):
    vllm.refuse(status, message)
    with caplog.at_level(logging.INFO, "framesift"):
        reader = OpenAIReader(vllm.url, retries=0)
        answers = [ask(exhibit, question, reader=reader) for _ in range(2)]
    assert [(answer.letter, answer.frames_as) for answer in answers] == [("B", "images")] * 2
    assert sum("video_url" in json.dumps(request) for request in vllm.requests) == 1
    assert len([record for record in caplog.records if "which refused a video" in record.message]) == 1


def test_video_that_the_server_fails_on_is_sent_again_as_images(vllm, exhibit, question):
    vllm.refuse(500, "VideoMetadata.__init__() missing 1 required positional argument: 'total_num_frames'")
    answer = OpenAIReader(vllm.url, retries=0).answer(exhibit, question, "aligned")
    assert (answer.letter, answer.frames_as) == ("B", "images")


def test_exceeded_context_is_not_retried_as_images(vllm, exhibit, question):
    vllm.refuse(400, "The prompt with its video is longer than the model's context length of 4096 tokens.")
    with pytest.raises(ReaderError, match="exceed the context"):
        OpenAIReader(vllm.url).answer(exhibit, question, "aligned")
    assert len(vllm.requests) == 1


def test_refusal_of_both_is_one_sentence_without_images(vllm, exhibit, question):
    vllm.refuse(400, "no video data:video/jpeg;base64,AAAA,BBBB here")
    vllm.refuse(400, "reader-7b is not a multimodal model")
    with pytest.raises(ReaderError, match="does not accept images") as caught:
        OpenAIReader(vllm.url).answer(exhibit, question, "aligned")
    assert "AAAA" not in str(caught.value)
