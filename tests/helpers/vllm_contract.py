"""What vLLM 0.20 documents for a video of JPEG frames, as a strict check and a decoder.

Written from its documentation and checked against its own loader by `make test-vllm`.
"""

import base64
import io

import numpy as np
from PIL import Image

DEFAULT_NUM_FRAMES = 32
KNOWN = {"fps", "frames_indices", "total_num_frames", "duration", "do_sample_frames", "num_frames"}


class ContractError(ValueError):
    """What a strict server refuses."""


def decode_video(url, options):
    """The frames (N, H, W, 3) and their times in seconds, as vLLM hands them to the model."""
    head, _, data = url.partition(",")
    if head != "data:video/jpeg;base64":
        raise ContractError(f"video URL {head[:40]}")
    if set(options) - KNOWN:
        raise ContractError(f"media_io_kwargs {sorted(set(options) - KNOWN)}")
    sent = data.split(",")
    frames = [_decode_jpeg(part) for part in sent[: options.get("num_frames", DEFAULT_NUM_FRAMES)]]
    if len(frames) != len(sent):
        raise ContractError(f"num_frames keeps {len(frames)} of {len(sent)} frames")
    if len({frame.shape for frame in frames}) != 1:
        raise ContractError("frames of a video must have one size")
    indices, total = options["frames_indices"], options["total_num_frames"]
    if not isinstance(indices, list) or any(type(index) is not int for index in indices):
        raise ContractError("frames_indices must be a list of integers")
    if len(indices) != len(frames):
        raise ContractError("frames_indices length must match number of frames sent")
    if type(total) is not int or total < len(frames) or total <= max(indices):
        raise ContractError("total_num_frames must be >= number of frames sent, and beyond every index")
    if options["duration"] < 0 or options["do_sample_frames"] is not False:
        raise ContractError("duration or do_sample_frames")
    return np.stack(frames), [index / float(options["fps"]) for index in indices]


def _decode_jpeg(text):
    picture = Image.open(io.BytesIO(base64.b64decode(text, validate=True)))
    if (picture.format, picture.mode) != ("JPEG", "RGB"):
        raise ContractError("frame format")
    return np.asarray(picture)
