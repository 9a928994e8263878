"""The examples of docs/http-api.md, and what other clients than the page send."""

import contextlib
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.running_server import make_video, run_server

DOCUMENT = Path(__file__).parents[2] / "docs" / "http-api.md"


def example(language, server):
    (code,) = re.findall(rf"```{language}\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return code.replace("http://localhost:8000", server.url)


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("bash")), reason="needs bash and curl")
def test_examples_run(empty_server, tmp_path):
    pytest.importorskip("torch")
    make_video(tmp_path / "clip.mp4", 8, subtitles=False)
    script = "set -euo pipefail\n" + example("sh", empty_server)
    subprocess.run([shutil.which("bash"), "-c", script], cwd=tmp_path, check=True, timeout=300)
    assert (tmp_path / "frame.jpg").read_bytes()[:2] == b"\xff\xd8" and (tmp_path / "evidence.zip").exists()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example("python", empty_server), str(DOCUMENT), "exec"), {})  # noqa: S102 (our own page)
    lines = printed.getvalue().splitlines()
    assert len(lines) == 5 and lines[-1].startswith("done ")


def test_trace_is_returned_when_asked_for(shared_server):
    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Who?", "budget": 2}
    short, long = shared_server.post(url, json=body).json(), shared_server.post(url, json=body | {"trace": True}).json()
    assert short["trace"] == {} and long["trace"] and short["frames"] == long["frames"]


def test_full_size_frame_is_as_large_as_the_video(shared_server):
    from PIL import Image

    url, body = f"/api/videos/{shared_server.boat}/select", {"question": "Who?", "budget": 1}
    (frame,) = shared_server.post(url, json=body).json()["frames"]
    video = shared_server.get(f"/api/videos/{shared_server.boat}").json()
    image = Image.open(io.BytesIO(shared_server.get(frame["full_picture"]).content))
    assert image.size == (video["width"], video["height"])


def test_error_names_the_missing_header(shared_server):
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/select", content=b'{"question": "Who?"}')
    assert reply.json()["detail"] == "The header content-type is missing; expected application/json"


def test_schema_states_whether_a_token_is_needed(tmp_path):
    token = "a-token-of-some-length"  # noqa: S105 (of this test)
    with run_server(None, tmp_path, token=token) as server:
        schema = server.get("/api/openapi.json", headers={"authorization": f"bearer {token}"}).json()
        assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        assert schema["paths"]["/api/jobs"]["get"]["security"] == [{"token": []}]
