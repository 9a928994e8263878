"""The parts of a chat message: text, JPEG images, and vLLM's video of JPEG frames with exact times."""

import base64
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from framesift.readers.prompts import Prompt

if TYPE_CHECKING:
    from PIL.Image import Image

    from framesift.rendering.exhibit import Exhibit

MessagePart = dict[str, Any]
# The name under which a server takes the id of an image, so that it processes a repeated one once: vLLM's or SGLang's.
IdField = Literal["uuid", "content_hash"]
# vLLM computes a frame's time as its index, a whole number, divided by the rate: milliseconds keep any time.
INDICES_PER_SECOND = 1000


def picture_parts(prompt: Prompt, jpegs: Sequence[bytes], id_field: IdField | None) -> Iterator[MessagePart]:
    """Yield each frame as an image after its caption, then the text."""
    encoded = iter(jpegs)
    for part in prompt.interleaved():
        yield _text(part) if isinstance(part, str) else _image(next(encoded), id_field)


def video_parts(text: str, jpegs: Sequence[bytes], options: Mapping[str, Any], *, has_id: bool) -> list[MessagePart]:
    """The frames as one video for vLLM, and the text. options: those of `video_options`; has_id: send its uuid."""
    depth = options["num_frames"] // len(jpegs)
    frames = [_base64(jpeg) for jpeg in jpegs for _ in range(depth)]
    part: MessagePart = {"type": "video_url", "video_url": {"url": f"data:video/jpeg;base64,{','.join(frames)}"}}
    if has_id:
        # vLLM keeps the times with the frames it has processed, so that they are part of the id.
        digest = hashlib.blake2b(json.dumps(options, sort_keys=True).encode(), digest_size=16)
        for jpeg in jpegs:
            digest.update(len(jpeg).to_bytes(8, "big") + jpeg)
        part["uuid"] = digest.hexdigest()
    return [part, _text(text)]


def video_options(exhibit: "Exhibit", *, depth: int = 1) -> dict[str, Any]:
    """vLLM's `media_io_kwargs["video"]` for the frames of an exhibit. depth: how often each frame is repeated.

    Without `num_frames` vLLM keeps the first 32 frames; with `do_sample_frames` it would choose among them again.
    """
    indices = [round(time_s * INDICES_PER_SECOND) for time_s in exhibit.selection.times_s for _ in range(depth)]
    duration_s = float(exhibit.info.duration_s)
    return {
        "fps": float(INDICES_PER_SECOND),
        "frames_indices": indices,
        "total_num_frames": max(round(duration_s * INDICES_PER_SECOND), max(indices) + 1, len(indices)),
        "duration": duration_s,
        "do_sample_frames": False,
        "num_frames": len(indices),
    }


def encode_jpeg(image: "Image", *, quality: int, longest_side: int | None) -> bytes:
    """Encode as JPEG, downscaled to `longest_side`, never upscaled. No chroma subsampling: it blurs small text."""
    from PIL import Image as Pillow

    scale = 1.0 if longest_side is None else min(1.0, longest_side / max(image.size))
    if scale < 1.0:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Pillow.Resampling.LANCZOS)
    file = io.BytesIO()
    image.convert("RGB").save(file, "JPEG", quality=quality, subsampling=0)
    return file.getvalue()


def _text(text: str) -> MessagePart:
    return {"type": "text", "text": text}


def _image(jpeg: bytes, id_field: IdField | None) -> MessagePart:
    part: MessagePart = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{_base64(jpeg)}"}}
    if id_field == "uuid":
        part["uuid"] = hashlib.blake2b(jpeg, digest_size=16).hexdigest()
    elif id_field == "content_hash":
        part["image_url"]["content_hash"] = f"sha256:{hashlib.sha256(jpeg).hexdigest()}"
    return part


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
