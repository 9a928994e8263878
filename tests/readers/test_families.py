"""Families of local models: token counts and prompts are those of transformers' own processors."""

# ruff: noqa: S106 (tokens of a vocabulary)

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

import framesift as fs
from framesift.errors import InputError, MissingExtra, OptionError
from framesift.readers import model_inputs
from framesift.readers.families import FrameLimits, layout_by_name
from framesift.readers.frame_layouts import GemmaFrames, LlavaFrames, Qwen3Frames, QwenFrames
from framesift.readers.local import LocalReader
from framesift.readers.prompts import compose
from framesift.readers.time_formats import number_in_words

torch = pytest.importorskip("torch", reason="torch comes with framesift[siglip]")
transformers = pytest.importorskip("transformers", reason="transformers comes with framesift[siglip]")
if not hasattr(transformers, "Gemma4ImageProcessorPil"):
    pytest.skip("this transformers is older than these families", allow_module_level=True)

SIZES = ((320, 180), (160, 96), (90, 160), (333, 77))  # width, height
TIMES = (1.0, 3.0, 7.0, 12.0, 16.0)  # of the exhibit


def pictures(size, count=2):
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 256, (count, 9, 16, 3), dtype=np.uint8)
    return [Image.fromarray(values).resize(size, Image.Resampling.BICUBIC) for values in noise]


def test_qwen_videos_pair_frames_in_the_layers_of_a_patch():
    from PIL import Image

    shades = [Image.new("RGB", (420, 280), (level,) * 3) for level in (0, 255, 128)]
    rows = QwenFrames(602_112).video(shades, gap_s=1).tensors["pixel_values_videos"].reshape(2, -1, 3, 2, 14, 14)
    alone = [QwenFrames(602_112).images([s]).tensors["pixel_values"].reshape(-1, 3, 2, 14, 14) for s in shades]
    assert rows[0][:, :, 0].equal(alone[0][:, :, 0]) and rows[0][:, :, 1].equal(alone[1][:, :, 1])
    assert rows[1][:, :, 0].equal(rows[1][:, :, 1])


def test_llava_images_are_those_of_the_processor():
    images = [pictures(size, 1)[0] for size in SIZES]
    processor = transformers.LlavaOnevisionImageProcessorPil(image_mean=[0.5] * 3, image_std=[0.5] * 3)
    expected, ours = processor(images=[images], return_tensors="pt"), LlavaFrames().images(images).tensors
    assert ours["pixel_values"].shape == expected["pixel_values"].shape
    assert all(ours[name].equal(expected[name]) for name in ("image_sizes", "batch_num_images"))
    assert (ours["pixel_values"] - expected["pixel_values"]).abs().max() < 1.1 / 127.5


def test_counted_tokens_are_those_of_the_processors():
    for name in ("qwen2.5-vl-7b", "qwen3-vl-8b", "llava-onevision-7b", "llava-video-7b", "gemma4-e4b"):
        layout = layout_by_name(name, FrameLimits())
        for frames_as, prepare in (("video", lambda p, at=layout: at.video(p, gap_s=1.0)), ("pictures", layout.images)):
            for size in SIZES:
                counted = layout.tokens(3, size[::-1], frames_as)
                assert counted == sum(map(len, prepare(pictures(size, 3)).placeholders)), (name, frames_as, size)


def test_published_token_counts():
    counts = {
        ("qwen3-vl-8b", "video"): 576 + 2,  # 1280 × 720 within 602,112 pixels is 1024 × 576, of 32 × 32 each
        ("internvl3.5-8b", "video"): 256 + 2,
        ("gemma4-e4b", "video"): 66 + 2,  # 11 × 6 of at most 70
        ("gemma4-e4b", "pictures"): 264 + 2,  # 22 × 12 of at most 280
        ("smolvlm2-2.2b", "video"): 81 + 3,
        ("SmolVLM2-500M-Video-Instruct", "video"): 64 + 3,
        ("llava-video-7b", "video"): 210 + 1,
    }
    for (name, frames_as), expected in counts.items():
        assert layout_by_name(name, FrameLimits()).tokens(1, (720, 1280), frames_as) == expected, name


def video_text(name, model, inputs):
    """What the family's own processor writes for the video."""
    seconds = SimpleNamespace(fps=1000, timestamps=TIMES, duration=20.0)
    if name == "qwen3-vl":
        # It pairs neighbours under the mean of their times, so that every frame is given twice.
        seconds.frames_indices = [round(1000 * time) for time in TIMES for _ in range(2)]
        owner = SimpleNamespace(
            video_processor=SimpleNamespace(merge_size=2, temporal_patch_size=2), video_token="<|video_pad|>",
            vision_start_token="<|vision_start|>", vision_end_token="<|vision_end|>",
            _calculate_timestamps=lambda *args: transformers.Qwen3VLProcessor._calculate_timestamps(None, *args),
        )  # fmt: skip
        videos = {"video_grid_thw": inputs["video_grid_thw"], "video_metadata": [seconds]}
        return transformers.Qwen3VLProcessor.replace_video_token(owner, videos, 0)
    if name == "internvl":
        owner = SimpleNamespace(
            start_image_token="<img>", end_image_token="</img>", image_token="<IMG_CONTEXT>", image_seq_length=4
        )
        videos = {"pixel_values_videos": [inputs["pixel_values"]]}
        return transformers.InternVLProcessor.replace_video_token(owner, videos, 0) + "\n"
    if name == "gemma4":
        owner = SimpleNamespace(boi_token="<|image>", eoi_token="<image|>", video_token="<|image|>")
        videos = {"num_soft_tokens_per_video": [model._inputs.layout.tokens(1, (96, 160), "video") - 2]}
        return transformers.Gemma4Processor.replace_video_token(owner, videos | {"video_metadata": [seconds]}, 0)
    owner = SimpleNamespace(
        image_seq_len=4, image_token="<image>", fake_image_token="<fake_token_around_image>",
        global_image_token="<global-img>",
    )  # fmt: skip
    videos = {"pixel_values": inputs["pixel_values"], "video_metadata": [seconds]}
    return transformers.SmolVLMProcessor.replace_video_token(owner, videos, 0)


@pytest.mark.parametrize("name", ["qwen3-vl", "internvl", "gemma4", "smolvlm"])
def test_a_video_is_written_as_by_the_processor(reader_of, exhibit, question, monkeypatch, name):
    monkeypatch.setattr("transformers.models.smolvlm.processing_smolvlm.num2words", number_in_words)
    model = reader_of(name)
    prompt = compose(exhibit, question, "none", time_format=name)
    inputs = model.prepare(prompt, TIMES)
    chat = model._inputs._chat
    expected = model._inputs.tokenizer(
        chat.before + video_text(name, model, inputs) + prompt.text + chat.after, add_special_tokens=False
    )
    assert inputs["input_ids"][0].tolist() == expected["input_ids"]


def test_qwen3_does_not_put_two_frames_into_one_patch():
    values = Qwen3Frames(602_112).video(pictures(SIZES[0]), gap_s=60.0).tensors["pixel_values_videos"]
    first, second = values.view(2, -1, 3, 2, 16, 16).unbind(3)
    assert first.equal(second) and not values[0].equal(values[len(values) // 2])


def test_gemma_encodes_frames_of_a_video_and_images_alike(reader_of):
    model = reader_of("gemma4")
    tensors = GemmaFrames(70).video(pictures((160, 96)), gap_s=1.0).tensors
    pixels, positions = tensors["pixel_values"], tensors["image_position_ids"]
    inner = model._model.model
    with torch.inference_mode():
        images = torch.cat(inner.get_image_features(pixels, positions).pooler_output)
        video = torch.cat(inner.get_video_features(pixels, positions, torch.tensor([2])).pooler_output)
    assert images.equal(video)


def test_scaled_frames_keep_their_sizes_as_pictures():
    large, small = pictures((320, 180), 1)[0], pictures((160, 96), 1)[0]
    grids = Qwen3Frames(602_112).images([large, small]).tensors["image_grid_thw"].tolist()
    assert grids[0] != grids[1]
    assert len(GemmaFrames(70).images([large, small]).placeholders) == 2


def test_converted_llava_video_is_known_by_its_name(folders, tmp_path):
    shutil.copytree(folders["llava-onevision"], tmp_path / "LLaVA-Video-7B-Qwen2-hf")
    layout = LocalReader(str(tmp_path / "LLaVA-Video-7B-Qwen2-hf"), device="cpu")._inputs.layout
    assert layout.newline == "grid"


def test_model_of_no_family_gets_pictures_by_its_own_processor(reader_of, exhibit, question):
    model = reader_of("other")
    answer = model.answer(exhibit, question)
    assert answer.frames_as == "pictures" and answer.time_format == "clock"
    inputs = model.prepare(compose(exhibit, fs.Question("<image> what?"), "none"), TIMES)
    image = model._inputs.tokenizer.convert_tokens_to_ids("<image>")
    assert int((inputs["input_ids"] == image).sum()) == 5 * 25  # the token in the question is none


def test_processor_without_its_packages_names_the_extra(folders, monkeypatch):
    def fail(*_, **__):
        raise ImportError("it needs torchvision")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", fail)
    with pytest.raises(MissingExtra, match=r"pip install 'framesift\[readers\]'"):
        LocalReader(str(folders["other"]), device="cpu")


def test_model_without_chat_template_is_an_error(folders, tmp_path):
    shutil.copytree(folders["other"], tmp_path / "base")
    (tmp_path / "base" / "chat_template.jinja").unlink()
    with pytest.raises(InputError, match="no chat template"):
        LocalReader(str(tmp_path / "base"), device="cpu")


def test_chat_template_that_fails_is_an_error(folders):
    tokenizer = SimpleNamespace(chat_template="x", apply_chat_template=lambda *_, **__: 1 / 0)
    family = model_inputs.FAMILIES["qwen3_vl"]
    with pytest.raises(InputError, match="chat template that can't be used"):
        model_inputs.chat_format(family, tokenizer, folders["qwen3-vl"])


def test_older_template_file_is_read(tmp_path):
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": "of the processor"}))
    tokenizer = SimpleNamespace(
        chat_template=None, apply_chat_template=lambda *_, chat_template, **__: f"<{chat_template}>framesift-user-text|"
    )
    chat = model_inputs.chat_format(model_inputs.FAMILIES["qwen3_vl"], tokenizer, tmp_path)
    assert (chat.before, chat.after) == ("<of the processor>", "|")


def test_tokens_of_an_unknown_model_are_an_error():
    with pytest.raises(InputError, match="how many tokens 'gpt-5' takes for a frame is not known"):
        layout_by_name("gpt-5", FrameLimits())


def test_frame_tokens_are_checked():
    with pytest.raises(OptionError, match="frame_tokens is 100; expected one of 70, 140"):
        FrameLimits(tokens=100)


def test_grids_of_frames_are_pictures_of_several(reader_of, exhibit, question):
    model = reader_of("internvl")
    answer = model.answer(exhibit, question, "sheet4")
    assert (answer.text_mode, answer.frames_as) == ("sheet4", "pictures")
    assert len(model.prepare(compose(exhibit, question, "sheet4"), TIMES)["pixel_values"]) == 2
