"""Prompts of local models are those that transformers' own processors write for a video."""

# ruff: noqa: S106 (tokens of a vocabulary)

import json
import shutil
from types import SimpleNamespace

import pytest
import transformers

import framesift as fs
from framesift.errors import InputError, MissingExtra
from framesift.readers.local import LocalReader
from framesift.readers.prompts import compose

TIMES = (1.0, 3.0, 7.0, 12.0, 16.0)  # of the exhibit


def video_text(name, inputs):
    """What the family's own processor writes for the video, with the tokens of images."""
    seconds = SimpleNamespace(fps=1000, timestamps=TIMES, duration=20.0)
    if name == "qwen3-vl":
        # It pairs neighbours under the mean of their times, so that every frame is given twice.
        seconds.frames_indices = [round(1000 * time) for time in TIMES for _ in range(2)]
        grid = inputs["image_grid_thw"][:1].clone()
        grid[0, 0] = len(TIMES)
        owner = SimpleNamespace(
            video_processor=SimpleNamespace(merge_size=2, temporal_patch_size=2), video_token="<|image_pad|>",
            vision_start_token="<|vision_start|>", vision_end_token="<|vision_end|>",
            _calculate_timestamps=lambda *args: transformers.Qwen3VLProcessor._calculate_timestamps(None, *args),
        )  # fmt: skip
        videos = {"video_grid_thw": grid, "video_metadata": [seconds]}
        return transformers.Qwen3VLProcessor.replace_video_token(owner, videos, 0)
    if name == "internvl":
        owner = SimpleNamespace(
            start_image_token="<img>", end_image_token="</img>", image_token="<IMG_CONTEXT>", image_seq_length=4
        )
        videos = {"pixel_values_videos": [inputs["pixel_values"]]}
        return transformers.InternVLProcessor.replace_video_token(owner, videos, 0) + "\n"
    if name == "gemma4":
        owner = SimpleNamespace(boi_token="<|image>", eoi_token="<image|>", video_token="<|image|>")
        tokens = int((inputs["image_position_ids"][0] >= 0).all(-1).sum()) // 9
        videos = {"num_soft_tokens_per_video": [tokens], "video_metadata": [seconds]}
        return transformers.Gemma4Processor.replace_video_token(owner, videos, 0)
    owner = SimpleNamespace(
        image_seq_len=4, image_token="<image>", fake_image_token="<fake_token_around_image>",
        global_image_token="<global-img>",
    )  # fmt: skip
    videos = {"pixel_values": inputs["pixel_values"], "video_metadata": [seconds]}
    return transformers.SmolVLMProcessor.replace_video_token(owner, videos, 0)


@pytest.mark.parametrize("name", ["qwen3-vl", "internvl", "gemma4", "smolvlm"])
def test_frames_are_written_as_a_video_by_the_processor(reader_of, exhibit, question, monkeypatch, name):
    monkeypatch.setattr("transformers.models.smolvlm.processing_smolvlm.num2words", str)
    model = reader_of(name)
    prompt = compose(exhibit, question, "none", time_format=name)
    inputs = model.prepare(prompt)
    before, after = model.inputs._before, model.inputs._after
    expected = model.inputs.tokenizer(before + video_text(name, inputs) + prompt.text + after, add_special_tokens=False)
    assert inputs["input_ids"][0].tolist() == expected["input_ids"]


def test_converted_llava_video_is_known_by_its_name(folders, tmp_path):
    shutil.copytree(folders["llava-onevision"], tmp_path / "LLaVA-Video-7B-Qwen2-hf")
    assert LocalReader(str(tmp_path / "LLaVA-Video-7B-Qwen2-hf"), device="cpu").model.breaks_rows


def test_model_of_no_family_gets_images_by_its_own_processor(reader_of, exhibit, question):
    model = reader_of("other")
    answer = model.answer(exhibit, question, "aligned")
    assert answer.frames_as == "images" and answer.time_format == "clock"
    inputs = model.prepare(compose(exhibit, fs.Question("<image> what?"), "none"))
    image = model.inputs.tokenizer.convert_tokens_to_ids("<image>")
    assert int((inputs["input_ids"] == image).sum()) == 5 * 25  # the token in the question is none


@pytest.fixture
def copy(folders, tmp_path):
    """A copy of the model of no known family, which a test changes."""
    return shutil.copytree(folders["other"], tmp_path / "copy")


def test_processor_without_its_packages_names_the_extra(folders, monkeypatch):
    def fail(*_, **__):
        raise ImportError("it needs torchvision")

    monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", fail)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[readers\]'"):
        LocalReader(str(folders["other"]), device="cpu")


IMAGES_FIRST = (
    "{% for part in messages[0]['content'] if part['type'] == 'image' %}<image>{% endfor %}"
    "{% for part in messages[0]['content'] if part['type'] == 'text' %}{{ part['text'] }}{% endfor %}"
)
OLDER = json.dumps({"chat_template": "<{{ messages[0]['content'][0]['text'] }}|"})


@pytest.mark.parametrize(
    ("name", "template", "expected"),
    [
        ("chat_template.jinja", IMAGES_FIRST, "Frame 2 [0:00:03.000]:<image>"),  # each frame stays after its time
        ("chat_template.json", OLDER, "<Frame 1 "),
    ],
)
def test_template_of_any_form_is_used(copy, exhibit, question, name, template, expected):
    (copy / "chat_template.jinja").unlink()
    (copy / name).write_text(template)
    model = LocalReader(str(copy), device="cpu")
    assert expected in model.inputs.tokenizer.decode(model.prepare(compose(exhibit, question, "none"))["input_ids"][0])


@pytest.mark.parametrize(
    ("template", "message"), [("", "no chat template"), ("{{ 1 / 0 }}", "chat template that can't be used")]
)
def test_model_without_a_usable_chat_template_is_an_error(copy, template, message):
    (copy / "chat_template.jinja").unlink()
    if template:
        (copy / "chat_template.jinja").write_text(template)
    with pytest.raises(InputError, match=message):
        LocalReader(str(copy), device="cpu")
