"""Files of a checkpoint: its JSON, and quick digests of its weights."""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from framesift._utils.json import load_json
from framesift._utils.optional import require
from framesift._utils.records import shown
from framesift.errors import InputError

BLOCKS = 32  # read from each file, evenly spaced, including both ends
BLOCK_BYTES = 16 * 1024


def read_config(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint, such as config.json; InputError if it is none."""
    config = load_json(path.read_bytes(), str(path), "a checkpoint's settings")
    if not isinstance(config, dict):
        raise InputError(f"{path} is {shown(config)}; expected a checkpoint's settings")
    return config


def files_digest(paths: Iterable[Path]) -> bytes:
    """Digest of the names, sizes and evenly spaced blocks of files: any retraining changes it, at constant cost."""
    digest = blake2b(digest_size=16)
    for path in paths:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        last = max(size - BLOCK_BYTES, 0)
        with path.open("rb") as file:
            for start in sorted({last * k // (BLOCKS - 1) for k in range(BLOCKS)}):
                file.seek(start)
                digest.update(file.read(BLOCK_BYTES))
    return digest.digest()


def load_network(model: Path | bytes) -> Any:
    """A session of onnxruntime on the CPU; InputError if the file can't be loaded.

    It has one thread, and callers run it in several: an operator shared by several threads waits for the slowest, which
    on a busy machine can take ten times as long.
    """
    onnxruntime = require("onnxruntime", "offline")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's classes have no base of their own
        raise InputError(f"{model!s:.200} can't be loaded ({error}); install its package again") from None
