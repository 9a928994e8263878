"""Modules of optional extras."""

import os
import subprocess
import sys

import pytest

USES = {
    "onnxruntime": "from framesift._utils.requirements import require; require('onnxruntime', 'offline')",
    "rapidocr": "import numpy; from framesift.text.ocr import load_ocr; load_ocr()(numpy.zeros((64, 64, 3), 'uint8'))",
    "faster_whisper": """
import contextlib
from pathlib import Path
from framesift.text.speech import _Whisper
with contextlib.suppress(Exception):
    _Whisper(Path("no-weights"), None, print)
import onnxruntime  # as faster-whisper does at the first sound
""",
}


@pytest.mark.parametrize("package", ["onnxruntime", "faster_whisper", pytest.param("rapidocr", marks=pytest.mark.slow)])
def test_onnxruntime_writes_nothing_into_the_home_folder(package, tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    home = environment | {"HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", USES[package]], env=home, cwd=tmp_path, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
