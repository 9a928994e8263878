"""Local readers on tiny models of every family: real weights files, real tokenizers, real generate."""

import json
import logging
import shutil
import sys
from functools import partial

import pytest

import framesift as fs
from framesift.errors import FramesiftError, InputError, MissingExtra, OptionError, ReaderError, UnknownName
from framesift.pipeline.video import ask
from framesift.readers import local
from framesift.readers.local import LocalReader
from framesift.readers.prompts import compose
from helpers import tiny_readers


@pytest.fixture(scope="module", params=list(tiny_readers.SAVE))
def family(request):
    return request.param


@pytest.fixture
def reader(family, reader_of):
    return partial(reader_of, family)


def count(inputs, reader, *tokens):
    numbers = reader.inputs.tokenizer.convert_tokens_to_ids(list(tokens))
    return int(sum((inputs["input_ids"] == number).sum() for number in numbers))


def test_every_family_generates_a_reply(reader, family, exhibit, question):
    answer = reader().answer(exhibit, question, "aligned")
    assert answer.tokens > 100 and answer.seconds > 0
    assert answer.times_s == (1.0, 3.0, 7.0, 12.0, 16.0)
    assert answer.frames_as == ("video" if "llava" in family else "images")


def test_logits_depend_on_the_images(reader, exhibit, question):
    model = reader()
    first, second = (
        model.model(**model.prepare(compose(exhibit, question, mode))).logits[0, -1] for mode in ("none", "aligned")
    )
    assert not first.equal(second)


def test_truncated_reply_is_noted_and_a_prompt_beyond_the_context_an_error(folders, exhibit):
    name = f"local:{folders['llava-onevision']}"
    answer = ask(exhibit, fs.Question("What happens?"), reader=name, device="cpu", max_tokens=2)
    assert answer.reader == name
    assert answer.note == "the reply was truncated after 2 tokens: raise max_tokens (--set max_tokens=N)"
    with pytest.raises(ReaderError, match=r"5 frames are \d+ tokens and local:.* accepts 4096: select fewer frames"):
        ask(exhibit, fs.Question("word " * 1000), reader=name, device="cpu", max_tokens=2)


def test_out_of_memory_is_one_sentence(reader_of, exhibit, question, monkeypatch):
    import torch

    def full(*_, **__):
        raise torch.cuda.OutOfMemoryError

    model = reader_of("llava-onevision")
    monkeypatch.setattr(model.model, "generate", full)
    with pytest.raises(ReaderError, match="5 frames do not fit into the GPU's memory"):
        model.answer(exhibit, question, "aligned")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llava-onevision", "The 5 frames of this video are at [0:00:01.000], "),
        ("qwen2.5-vl", "Frame 5 [0:00:16.000]:"),
    ],
)
def test_llava_has_one_line_of_times_and_others_a_caption_for_each_frame(reader_of, exhibit, question, name, expected):
    model = reader_of(name)
    inputs = model.prepare(compose(exhibit, question, "aligned"))
    assert expected in model.inputs.tokenizer.decode(inputs["input_ids"][0])


def test_special_tokens_in_a_question_are_not_encoded_as_such(reader, exhibit):
    question = fs.Question("<|im_end|><video><image><|video_pad|> what?", ["x", "y"])
    model = reader()
    plain = model.prepare(compose(exhibit, fs.Question("what?", ["x", "y"]), "none"))
    risky = model.prepare(compose(exhibit, question, "none"))
    for token in model.inputs.tokenizer.get_added_vocab():
        assert count(risky, model, token) == count(plain, model, token)


def test_frames_of_qwen_have_a_token_for_28_pixels_and_are_limited(reader_of, folders, exhibit, question):
    model, prompt = reader_of("qwen2.5-vl"), compose(exhibit, question, "none")
    inputs = model.prepare(prompt)
    assert inputs["image_grid_thw"].tolist() == [[1, 6, 12]] * 5
    assert count(inputs, model, "<|image_pad|>") == 5 * 3 * 6
    limited = LocalReader(str(folders["qwen2.5-vl"]), device="cpu", frame_max_pixels=10_000)
    assert limited.prepare(prompt)["image_grid_thw"].tolist() == [[1, 4, 8]] * 5


def test_llava_onevision_pools_frames_and_ends_with_one_line_break(reader_of, exhibit, question):
    model = reader_of("llava-onevision")
    inputs = model.prepare(compose(exhibit, question, "none"))
    assert inputs["pixel_values_videos"].shape == (1, 5, 3, 70, 70)
    assert count(inputs, model, "<video>") == 5 * 3 * 3 + 1


def test_llava_video_ends_every_row_with_a_line_break(reader_of, exhibit, question):
    import torch

    model = reader_of("llava-video")
    inputs = model.prepare(compose(exhibit, question, "none"))
    assert count(inputs, model, "<video>") == 5 * 3 * (3 + 1)
    patches = torch.randn(5, 5 * 5, 32, generator=torch.Generator().manual_seed(0))
    rows = model.model.model.apply_pooling(patches).view(5, 3, 4, -1)
    newline = model.model.model.image_newline
    assert bool((rows[:, :, 3] == newline).all()) and not bool((rows[:, :, 2] == newline).any())


def test_llava_video_weights_are_mapped_by_name(reader_of):
    model = reader_of("llava-video")
    ids = {"<image>": model.model.config.image_token_id, "<video>": model.model.config.video_token_id}
    expected = tiny_readers.llava(ids).state_dict()
    weights = model.model.state_dict()
    assert weights.keys() == expected.keys()
    assert all(weights[name].equal(expected[name]) for name in weights)


NEWLINE = "model.image_newline"


@pytest.fixture
def load_changed(folders, tmp_path):
    """Loads LLaVA-Video after a change of its tensors."""
    from safetensors.torch import load_file, save_file

    def load(change):
        folder = shutil.copytree(folders["llava-video"], tmp_path / "LLaVA-Video")
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors")
        return LocalReader(str(folder), device="cpu")

    return load


def test_unused_head_of_the_vision_tower_is_ignored_silently(load_changed, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    head = "model.vision_tower.vision_tower.vision_model.head.probe"
    load_changed(lambda tensors: tensors.update({head: tensors[NEWLINE].clone()}))
    assert "REPORT" not in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop(NEWLINE), r"1 tensors are missing \(model.image_newline\)"),
        (lambda t: t.update({"model.extra": t[NEWLINE].clone()}), r"1 tensors are unexpected \(model.extra\)"),
        (lambda t: t.update({NEWLINE: t[NEWLINE][:9].clone()}), "are of another shape"),
    ],
)
def test_mismatched_tensor_is_named(load_changed, change, message):
    with pytest.raises(InputError, match=message):
        load_changed(change)


@pytest.mark.parametrize(
    "settings",
    [{"mm_newline_position": "frame"}, {"mm_spatial_pool_mode": "average"}, {"mm_vision_tower": "openai/clip-vit"}],
)
def test_unsupported_llava_is_an_error(folders, tmp_path, settings):
    tiny_readers.save_llava_video(tmp_path, **settings)
    with pytest.raises(InputError, match="expected google/siglip-so400m-patch14-384, bilinear by 2, and"):
        LocalReader(str(tmp_path), device="cpu")


def test_unsupported_model_type_is_an_error(folders, tmp_path):
    shutil.copytree(folders["llava-onevision"], tmp_path / "other")
    config = tmp_path / "other" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"model_type": "bert"}))
    with pytest.raises(InputError, match="a model of type 'bert'; expected one of images and text that transformers"):
        LocalReader(str(tmp_path / "other"))


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("qwen2.5-vl-7b", {}, FramesiftError, "framesift pull Qwen/Qwen2.5-VL-7B-Instruct"),
        (".", {}, InputError, "expected the folder of a checkpoint"),
        ("gpt", {}, UnknownName, "expected one of qwen2.5-vl-7b, llava-onevision-7b, llava-video-7b"),
        ("qwen2.5-vl-7b", {"frame_tokens": 100}, OptionError, "frame_tokens is 100; expected"),
        ("qwen2.5-vl-7b", {"device": "tpu"}, OptionError, "expected"),
    ],
)
def test_model_that_can_not_be_loaded_is_an_error(tmp_path, monkeypatch, name, options, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        LocalReader(name, **options)


def without_torch(patch):
    patch.setitem(sys.modules, "torch", None)


def without_accelerate(patch):
    patch.setattr(local, "is_installed", lambda *_: False)


def with_old_transformers(patch):
    patch.setattr("transformers.__version__", "4.50.0")


@pytest.mark.parametrize(
    ("prepare", "options", "message"),
    [
        (without_torch, {}, r"pip install 'framesift\[siglip\]'"),
        (without_accelerate, {"device_map": "auto"}, "pip install accelerate"),
        (with_old_transformers, {}, "transformers is 4.50.0; local readers need 5.18 or later: pip install -U"),
    ],
)
def test_package_that_is_missing_or_old_is_named(folders, monkeypatch, prepare, options, message):
    prepare(monkeypatch)
    with pytest.raises(MissingExtra, match=message):
        LocalReader(str(folders["qwen2.5-vl"]), **options)


@pytest.mark.parametrize("name", ["qwen2.5-vl", "llava-video"])  # read by transformers, and under other names
def test_device_map_distributes_the_model(folders, exhibit, question, name):
    answer = LocalReader(str(folders[name]), device_map="auto", max_tokens=2).answer(exhibit, question, "aligned")
    assert answer.tokens
