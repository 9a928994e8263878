"""Requests as chat applications send them, in their own words, and what those applications do with the reply."""

import asyncio
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

FILTER = Path(__file__).parents[2] / "examples" / "open_webui_filter.py"


def test_open_webui_sends_its_uploads_with_the_function(proxy, upstream, folder, monkeypatch):
    async def get_file_by_id(_):
        return SimpleNamespace(path=str(folder / "boat.mp4"))

    files = ModuleType("open_webui.models.files")
    files.Files = SimpleNamespace(get_file_by_id=get_file_by_id)
    for name in ("open_webui", "open_webui.models"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, files.__name__, files)
    notes = {"type": "file", "id": "2", "name": "notes.txt", "content_type": "text/plain"}
    body = {
        "stream": True,
        "model": "reader-7b",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which boat is red?"}],
        "files": [{"type": "file", "id": "1", "name": "boat.mp4", "content_type": "video/mp4"}, notes],
        "stream_options": {"include_usage": True},
    }  # fmt: skip
    sent = asyncio.run(runpy.run_path(str(FILTER))["Filter"]().inlet(body))
    assert sent.pop("files") == [notes]
    headers = {"X-OpenWebUI-User-Id": "7", "Content-Type": "application/json"}
    lines = [line for line in proxy.post(sent, headers=headers).text.splitlines() if line.startswith("data:")]
    texts = [choice["delta"].get("content", "") for line in lines[:-1] for choice in json.loads(line[5:])["choices"]]
    assert "".join(texts) == "It is red." and lines[-1] == "data: [DONE]"
    (request,) = upstream.chats
    assert request.headers["x-openwebui-user-id"] == "7" and len(request.pictures()) == 4
    assert request.body["stream_options"] == {"include_usage": True}
