"""Local readers: models of images and text with a chat template, through transformers.

Weights are read from local safetensors files; nothing is downloaded, and no code of a checkpoint is run.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from framesift._utils.credentials import LOCAL
from framesift._utils.requirements import is_installed, require
from framesift._utils.settings import check_count
from framesift._utils.text import suggestion
from framesift.encoders.base import pick_device, read_config
from framesift.encoders.siglip import HUB_NAME, no_progress_bar, weights_folder
from framesift.errors import MissingExtra, OptionError, ReaderError, UnknownName
from framesift.readers import llava
from framesift.readers.answers import answer_about, reply_limit
from framesift.readers.local_inputs import ProcessorInputs
from framesift.readers.prompts import Prompt, compose
from framesift.readers.time_formats import TimeFormat, native_time_format, resolve_time_format
from framesift.types import Answer, Question

if TYPE_CHECKING:
    from framesift.rendering.exhibit import Exhibit

EXTRA = "siglip"
CHECKPOINTS = {
    "qwen2.5-vl-7b": "Qwen/Qwen2.5-VL-7B-Instruct",
    "llava-onevision-7b": "llava-hf/llava-onevision-qwen2-7b-ov-hf",
    "llava-video-7b": "lmms-lab/LLaVA-Video-7B-Qwen2",
    "qwen3-vl-2b": "Qwen/Qwen3-VL-2B-Instruct",
    "qwen3-vl-4b": "Qwen/Qwen3-VL-4B-Instruct",
    "qwen3-vl-8b": "Qwen/Qwen3-VL-8B-Instruct",
    "internvl3-8b": "OpenGVLab/InternVL3-8B-hf",
    "internvl3.5-8b": "OpenGVLab/InternVL3_5-8B-HF",
    "gemma4-e2b": "google/gemma-4-E2B-it",
    "gemma4-e4b": "google/gemma-4-E4B-it",
    "smolvlm2-2.2b": "HuggingFaceTB/SmolVLM2-2.2B-Instruct",
}
OLDEST = (5, 18)  # of transformers; before, images could not be prepared without torchvision
FRAME_MAX_PIXELS = 602_112  # of a frame of Qwen's, as in the paper
GEMMA_TOKENS = (70, 140, 280, 560, 1120)  # the numbers of tokens a frame that Gemma 4 was trained with


@dataclass(eq=False)
class LocalReader:
    """Runs a model on this machine: a name of CHECKPOINTS, a directory, or a downloaded hub name.

    Frames are images, each after its own time; those of LLaVA are one video. frame_max_pixels: the largest size of a
    frame (Qwen). frame_tokens: the most tokens of a frame (Gemma 4). device: auto, cpu, cuda, cuda:1, mps;
    device_map="auto" distributes the model over all GPUs. times: whether the frames' times are in the prompt;
    time_format: see `time_formats`.
    """

    source: str
    max_tokens: int | None = None
    frame_max_pixels: int = FRAME_MAX_PIXELS
    frame_tokens: int = GEMMA_TOKENS[0]
    device: str = "auto"
    device_map: str | None = None
    preset: str = "longvideobench"
    times: bool = True
    time_format: TimeFormat = "auto"
    concurrency = 1  # a GPU runs one generation at a time

    def __post_init__(self) -> None:
        if self.frame_tokens not in GEMMA_TOKENS:
            raise OptionError(
                f"frame_tokens is {self.frame_tokens!r}; expected one of {', '.join(map(str, GEMMA_TOKENS))}"
            )
        check_count("max_tokens", self.max_tokens)
        if self.device_map and not is_installed("accelerate"):
            raise MissingExtra(f"device_map={self.device_map!r} needs accelerate: pip install accelerate")
        self.name = f"{LOCAL}{self.source}"
        self._torch, self._transformers = require("torch", EXTRA), require("transformers", EXTRA)
        version = self._transformers.__version__
        if Version(version).release < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise MissingExtra(
                f"transformers is {version}; local readers need {oldest} or later: pip install -U transformers"
            )
        device = pick_device(self._torch, self.device)
        folder = find_folder(self.source)
        config = read_config(folder / "config.json")
        # LLaVA-Video has the model type of other models, but its name says what it is.
        self._family_names = CHECKPOINTS.get(self.source, self.source), str(config.get("model_type", ""))
        with no_progress_bar(self._transformers):
            self.model, self.inputs = self._load(folder, config, device)
        self._lock = Lock()

    def answer(self, exhibit: "Exhibit", question: Question, text_mode: str) -> Answer:
        started = time.perf_counter()
        time_format = resolve_time_format(self.time_format, *self._family_names, times=self.times)
        prompt = compose(exhibit, question, text_mode, preset=self.preset, time_format=time_format)
        limit = reply_limit(question, self.max_tokens)
        frames = len(prompt.images)
        try:
            with self._lock, self._torch.inference_mode():
                inputs = self.prepare(prompt)
                prompt_tokens = inputs["input_ids"].shape[1]
                self._check_length(prompt_tokens + limit, frames)
                reply, tokens, is_truncated = self._generate(inputs, limit)
        except self._torch.cuda.OutOfMemoryError as error:
            raise ReaderError(
                f"{frames} frames do not fit into the GPU's memory with {self.name}: select fewer (--budget), "
                "downscale them (frame_max_pixels), or distribute the model with device_map='auto'"
            ) from error
        return answer_about(
            exhibit,
            question,
            reply,
            truncated_after=limit if is_truncated else None,
            tokens=prompt_tokens + tokens,
            seconds=time.perf_counter() - started,
            reader=self.name,
            text_mode=text_mode,
            time_format=time_format,
            frames_as=self.inputs.frames_as,
        )

    def prepare(self, prompt: Prompt) -> dict[str, Any]:
        """Build the model's inputs for a prompt, on its device."""
        device, dtype = self.model.device, self.model.dtype
        return {
            name: tensor.to(device, dtype if tensor.is_floating_point() else None)
            for name, tensor in self.inputs.build(prompt).items()
        }

    def _generate(self, inputs: dict[str, Any], limit: int) -> tuple[str, int, bool]:
        """The reply, its tokens, and whether it was ended by their limit."""
        own = self.model.generation_config.eos_token_id
        ends = [self.inputs.tokenizer.eos_token_id, *(own if isinstance(own, list) else [own])]
        ends = [end for end in dict.fromkeys(ends) if end is not None]
        # Overrides the checkpoint's sampling settings, of which transformers would warn that they are unused.
        greedy = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        generated = self.model.generate(
            **inputs, **greedy, max_new_tokens=limit, eos_token_id=ends, pad_token_id=ends[0]
        )[0][inputs["input_ids"].shape[1] :]
        is_truncated = len(generated) >= limit and int(generated[-1]) not in ends
        return self.inputs.tokenizer.decode(generated, skip_special_tokens=True), len(generated), is_truncated

    def _check_length(self, tokens: int, frames: int) -> None:
        """Reject a prompt beyond the model's context, where it generates nonsense without an error."""
        config = self.model.config
        most = getattr(config.get_text_config(), "max_position_embeddings", tokens)
        if tokens > most:
            raise ReaderError(
                f"{frames} frames are {tokens} tokens and {self.name} accepts {most}: select fewer frames (--budget)"
            )

    def _load(
        self, folder: Path, config: dict[str, Any], device: str
    ) -> tuple[Any, ProcessorInputs | llava.LlavaInputs]:
        """The model, and what builds its inputs."""
        # float32 on a CPU, where half precision is slow; bfloat16 is what the models were trained in.
        dtype = self._torch.float32 if device == "cpu" and not self.device_map else self._torch.bfloat16
        options = {"dtype": dtype} | ({"device_map": self.device_map} if self.device_map else {})
        kind = str(config.get("model_type"))
        inputs: ProcessorInputs | llava.LlavaInputs
        if kind == llava.KIND or llava.is_original(config):
            # Converted to this architecture, LLaVA-Video differs in the line breaks of a video, as only its name tells.
            breaks_rows = native_time_format(self._family_names[0]) == "llava-video"
            model, inputs = llava.load(self._transformers, folder, config, breaks_rows=breaks_rows, options=options)
        else:
            inputs = ProcessorInputs(self._transformers, folder, kind, (self.frame_max_pixels, self.frame_tokens))
            loader = self._transformers.AutoModelForImageTextToText
            model = loader.from_pretrained(folder, use_safetensors=True, local_files_only=True, **options)
        return (model if self.device_map else model.to(device)).eval(), inputs


def find_folder(source: str) -> Path:
    """Return the directory with a checkpoint's config and all its safetensors files."""
    wanted = CHECKPOINTS.get(source, source)
    if not Path(wanted).is_dir() and not HUB_NAME.fullmatch(wanted):
        expected = f"expected one of {', '.join(CHECKPOINTS)}, a directory or a hub name"
        raise UnknownName(f"there is no local reader {source!r}; {suggestion(source, CHECKPOINTS, expected)}")
    return weights_folder(wanted)
