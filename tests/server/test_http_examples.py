"""The examples of docs/http-api.md."""

import contextlib
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.running_server import video_bytes

DOCUMENT = Path(__file__).parents[2] / "docs" / "http-api.md"


def example(language, server):
    (code,) = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return code.replace("http://localhost:8000", server.url)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs bash and curl")
def test_examples_run(empty_server, tmp_path):
    (tmp_path / "clip.mp4").write_bytes(video_bytes(8))
    script = "set -euo pipefail\n" + example("sh", empty_server)
    subprocess.run([shutil.which("bash"), "-c", script], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "frame.jpg").read_bytes()[:2] == b"\xff\xd8" and (tmp_path / "evidence.zip").exists()
    assert json.loads((tmp_path / "like.json").read_text())[0]["strength"] == 1
    assert len(json.loads((tmp_path / "asked.json").read_text())["frames"]) == 4
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example("python", empty_server), str(DOCUMENT), "exec"), {})  # noqa: S102 (our own page)
    lines = printed.getvalue().splitlines()
    assert len(lines) == 5 and lines[-1].startswith("done ")
