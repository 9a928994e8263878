"""vLLM's own loader on the requests that the reader sends: the decoded frames, and their times to the millisecond.

`make test-vllm` runs this on vLLM's wheel, installed without its dependencies, or on a checkout: VLLM_SOURCE=DIR. Only
the files that load media are executed, with stand-ins for the rest of vLLM, and the method that computes the times of
Qwen3-VL's marks.
"""

import ast
import importlib.util
import sys
import tempfile
import types
from pathlib import Path

import numpy as np

import framesift as fs
from framesift.readers.openai import OpenAIReader
from helpers.clips import make_clip
from helpers.strict_server import StrictServer

LOADED = ("vllm.multimodal.image", "vllm.multimodal.media.base", "vllm.multimodal.media.image")
TIMES_S = [0.2, 0.4, 3.4, 11.8, 12.0, *(12.2 + 0.2 * k for k in range(31)), 19.8]  # more than vLLM keeps by default


class _StandIn(types.ModuleType):
    """A module in which every name is an empty class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load_media_io(source):
    """vLLM's VideoMediaIO and ImageMediaIO, from its own files."""
    others = ["vllm", "vllm.logger", "vllm.utils", "vllm.utils.serial_utils", "vllm.utils.sparse_utils"]
    others += ["vllm.multimodal", "vllm.multimodal.media", "torch", "pybase64", "vllm.envs", "vllm.multimodal.video"]
    for name in others:
        if name not in ("torch", "pybase64") or importlib.util.find_spec(name) is None:
            sys.modules[name] = _StandIn(name)
    sys.modules["vllm"].envs = sys.modules["vllm.envs"]
    sys.modules["vllm.envs"].VLLM_MAX_IMAGE_PIXELS = 0
    sys.modules["vllm.envs"].VLLM_VIDEO_LOADER_BACKEND = "opencv"
    sys.modules["vllm.logger"].init_logger = lambda _: None
    sys.modules["vllm.multimodal.video"].VIDEO_LOADER_REGISTRY = types.SimpleNamespace(load=lambda _: None)
    if isinstance(sys.modules["pybase64"], _StandIn):
        import base64

        sys.modules["pybase64"] = base64
    for name in (*LOADED, "vllm.multimodal.media.video"):
        spec = importlib.util.spec_from_file_location(name, source / f"{name.replace('.', '/')}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["vllm.multimodal.media.video"].VideoMediaIO, sys.modules[LOADED[-1]].ImageMediaIO


def method_of(source, path, name):
    """A method of a file of vLLM that uses no other code, without the imports of the file."""
    tree = ast.parse((source / path).read_text(encoding="utf-8"))
    (node,) = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    for argument in node.args.args:
        argument.annotation = None
    namespace = {}
    exec(compile(ast.Module([node], []), path, "exec"), namespace)  # noqa: S102 (a method of vLLM itself)
    return namespace[name]


def request_for(model, video):
    """What the reader sends to a vLLM with this model."""
    slots = tuple(fs.Slot(k, time_s, "context", 0.1) for k, time_s in enumerate(TIMES_S))
    exhibit = fs.exhibit(video, fs.Selection(slots, "uniform", len(slots)))
    with StrictServer(models=(model,)) as server:
        server.version = "0.20.0"
        answer = OpenAIReader(server.url).answer(exhibit, fs.Question("Why?", ["x", "y"]), "aligned")
        assert answer.frames_as == "video"
        return server.requests[-1], server.video(), exhibit


def main(source):
    video_io, image_io = load_media_io(source)
    with tempfile.TemporaryDirectory() as folder:
        clip = make_clip(Path(folder) / "clip.mp4", size=(160, 96))
        for model in ("Qwen2.5-VL-7B", "gemma-4-E4B-it", "Qwen3-VL-8B"):
            request, (frames, times_s), exhibit = request_for(model, clip)
            url = request["messages"][0]["content"][0]["video_url"]["url"]
            options = video_io.merge_kwargs(None, request["media_io_kwargs"]["video"])
            loaded, metadata = video_io(image_io(), **options).load_base64("video/jpeg", url.partition(",")[2])
            np.testing.assert_array_equal(loaded, frames)  # the strict server decodes as vLLM does
            own_s = [index / metadata["fps"] for index in metadata["frames_indices"]]
            assert own_s == times_s and metadata["do_sample_frames"] is False
            assert metadata["duration"] == exhibit.info.duration_s
            selected_s = [round(time_s, 3) for time_s in exhibit.selection.times_s]
            if model.startswith("Qwen3"):
                timestamps = method_of(source, "vllm/model_executor/models/qwen3_vl.py", "_calculate_timestamps")
                own_s = timestamps(None, metadata["frames_indices"], metadata["fps"], 2)
            assert own_s == selected_s, (own_s, selected_s)
            print(f"{model}: {len(loaded)} frames of {loaded.shape[2]} × {loaded.shape[1]}, times equal")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
