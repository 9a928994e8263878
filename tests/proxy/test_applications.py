"""Requests as chat applications send them, in their own words, and what those applications do with the reply."""

import asyncio
import base64
import json
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from helpers.running_server import video_bytes

FILTER = Path(__file__).parents[2] / "examples" / "open_webui_filter.py"
TITLE = "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history."


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


def test_open_webuis_requests_for_titles_pass_unchanged(proxy, upstream):
    body = {"model": "reader-7b", "messages": [{"role": "user", "content": TITLE}], "stream": False, "max_tokens": 1000}
    assert "framesift" not in proxy.post(body).json() and upstream.chats[0].body == body


def test_librechat_sends_videos_as_data_urls(proxy, upstream):
    url = f"data:video/mp4;base64,{base64.b64encode(video_bytes()).decode()}"
    first = {
        "role": "user",
        "content": [{"type": "text", "text": "What is shown?"}, {"type": "video_url", "video_url": {"url": url}}],
    }
    for more in (
        [],
        [{"role": "assistant", "content": "Colours."}, {"role": "user", "content": "Which colour is last?"}],
    ):
        body = {"model": "reader-7b", "user": "65f0", "stream": True, "messages": [first, *more]}
        chunks = [line for line in proxy.post(body).text.splitlines() if line.startswith("data: {")]
        assert all(json.loads(chunk[6:])["object"] == "chat.completion.chunk" for chunk in chunks)
    assert [len(request.pictures(0)) for request in upstream.chats] == [4, 4]
    assert upstream.chats[1].body["messages"][1:] == more and upstream.chats[1].body["user"] == "65f0"
