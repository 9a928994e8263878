"""Modules of optional extras."""

import os
import subprocess
import sys


def test_onnxruntime_writes_nothing_into_the_home_folder(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    code = "from framesift._utils.optional import require; require('onnxruntime', 'offline')"
    subprocess.run([sys.executable, "-c", code], env=environment | {"HOME": str(tmp_path)}, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
