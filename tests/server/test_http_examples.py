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


def test_form_without_a_file_is_an_error(empty_server):
    reply = empty_server.post("/api/uploads", files={"note": (None, "text")})
    assert reply.status_code == 400 and "has no complete file" in reply.json()["detail"]


def test_error_names_the_missing_header(shared_server):
    reply = shared_server.post(f"/api/videos/{shared_server.boat}/select", content=b'{"question": "Who?"}')
    assert reply.json()["detail"] == "The header content-type is missing; expected application/json"


def test_token_with_other_letters_is_accepted_as_bearer(tmp_path):
    token = "schlüssel-日本"  # noqa: S105 (of this test)
    with run_server(None, tmp_path, token=token) as server:
        for value in (token.encode(), b"schl%C3%BCssel-%E6%97%A5%E6%9C%AC"):
            allowed = {"authorization": b"Bearer " + value}
            assert server.get("/api/jobs", headers=allowed).status_code == 200
        refused = server.get("/api/jobs", headers={"authorization": "Bearer ????????????"})
        assert refused.status_code == 401 and "header Authorization" in refused.json()["detail"]
        schema = server.get("/api/openapi.json", headers=allowed).json()
        assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        assert schema["paths"]["/api/jobs"]["get"]["security"] == [{"token": []}]
