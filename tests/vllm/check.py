"""vLLM's own loader on the requests that the reader sends, and the plug-in: frames, and times to the millisecond.

`make test-vllm` runs this on vLLM's wheel, installed without its dependencies, or on a checkout: VLLM_SOURCE=DIR. Only
the files that load media and plug-ins are executed, with stand-ins for the rest of vLLM, and the method that computes
the times of Qwen3-VL's marks.
"""

import ast
import importlib.machinery
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

MEDIA = ("image", "media.base", "media.image", "media.video", "video")
LOADED = {f"vllm.{name}" for name in ("plugins", "utils.registry", *(f"multimodal.{each}" for each in MEDIA))}
TIMES_S = [0.2, 0.4, 3.4, 11.8, 12.0, *(12.2 + 0.2 * k for k in range(31)), 19.8]  # more than vLLM keeps by default


class _StandIn(types.ModuleType):
    """A module in which every name is an empty class."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder:
    """Finds the files of vLLM that are executed, and a stand-in for every other module of it."""

    def __init__(self, source):
        self.source = source

    def find_spec(self, name, path=None, target=None):
        if name in LOADED:
            file = self.source / name.replace(".", "/")
            file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
            return importlib.util.spec_from_file_location(name, file)
        is_missing = name == "pybase64" and importlib.machinery.PathFinder.find_spec(name) is None
        if name.partition(".")[0] == "vllm" or is_missing:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        if spec.name == "pybase64":
            return importlib.import_module("base64")
        return _StandIn(spec.name)

    def exec_module(self, module):
        pass


def load_media_io(source):
    """vLLM's VideoMediaIO and ImageMediaIO, from its own files, with the plug-ins that it finds."""
    sys.meta_path.insert(0, _Finder(source))
    import vllm.envs
    import vllm.logger

    vllm.envs.VLLM_MAX_IMAGE_PIXELS = vllm.envs.VLLM_MAX_MEDIA_REQUEST_DECODE_BYTES = 0
    vllm.envs.VLLM_VIDEO_LOADER_BACKEND, vllm.envs.VLLM_PLUGINS = "framesift", ["framesift"]
    vllm.logger.init_logger = lambda _: None
    from vllm.multimodal.media.image import ImageMediaIO
    from vllm.multimodal.media.video import VideoMediaIO
    from vllm.plugins import load_general_plugins

    load_general_plugins()
    return VideoMediaIO, ImageMediaIO


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
        check_plugin(clip, video_io, image_io)


def check_plugin(clip, video_io, image_io):
    """The frames and times of the plug-in are those that are selected here, for every model."""
    from vllm.multimodal import video as loaders

    own_loader = getattr(loaders, "get_video_loader_backend_for_processor", lambda _: None)
    assert own_loader("Qwen3VLVideoProcessor") is None  # so that the variable decides
    options = video_io.merge_kwargs({"fps": 2}, {"question": "Where is the boat?", "num_frames": 6})
    frames, metadata = video_io(image_io(), **options).load_bytes(clip.read_bytes())
    found = fs.select(clip, "Where is the boat?", budget=6, overlay="none", device="cpu")
    np.testing.assert_array_equal(frames, np.stack([np.asarray(image) for image in found.images()]))
    assert [index / metadata["fps"] for index in metadata["frames_indices"]] == [round(s, 3) for s in found.times_s]
    source = types.SimpleNamespace(total_frames_num=9, original_fps=3.0, duration=3.0)
    assert metadata.keys() == loaders.VideoLoader.create_hf_metadata(source, [0], "opencv").keys()
    print(f"plug-in: {len(frames)} frames for a question, metadata as vLLM's own loaders give them")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
