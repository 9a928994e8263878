"""Requests of chat applications through the proxy: what the upstream gets, and what the client gets back."""

import base64
import io
import json
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import httpx
import openai
import pytest
from PIL import Image

from helpers.running_server import run_server, until, video_bytes
from helpers.strict_server import completion, events
from helpers.upstream import Sent
from helpers.vllm_contract import decode_video
from proxy.conftest import KEY, run_proxy

BOAT = {"type": "video_url", "video_url": {"url": "boat.mp4"}}


def data_part(seconds=4):
    url = f"data:video/mp4;base64,{base64.b64encode(video_bytes(seconds)).decode()}"
    return {"type": "video_url", "video_url": {"url": url}}


def chat(*parts, **more):
    return {"model": "reader-7b", "messages": [{"role": "user", "content": list(parts)}], **more}


def words(text):
    return {"type": "text", "text": text}


def frames_of(reply):
    return [frame["time_s"] for video in reply.framesift["videos"] for frame in video["frames"]]


def test_upstream_gets_frames_in_place_of_the_video_and_the_rest_unchanged(proxy, upstream):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    before = [{"role": "system", "content": "Be brief."}]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [*before, {"role": "user", "content": [picture, BOAT, words("Why was the launch put off?")]}]
    reply = proxy.openai.chat.completions.create(
        model="reader-7b", messages=messages, tools=tools, temperature=0.3, extra_body={"top_k": 5}
    )
    (request,) = upstream.chats
    sent = request.body
    assert {name: sent[name] for name in sent if name != "messages"} == {
        "model": "reader-7b", "tools": tools, "temperature": 0.3, "top_k": 5
    }  # fmt: skip
    assert sent["messages"][0] == before[0] and sent["messages"][1]["content"][0] == picture
    parts = request.parts()[1:]
    assert [part["type"] for part in parts] == ["text", "image_url"] * 4 + ["text"]
    assert parts[-1]["text"] == "Why was the launch put off?" and parts[0]["text"].startswith("Frame 1 [0:00:")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert reply.choices[0].message.content == "It is red." and len(frames_of(reply)) == 4
    assert any("10" in row["reason"] or row["role"] == "ground" for row in reply.framesift["videos"][0]["frames"])


def test_request_without_video_is_passed_byte_for_byte(proxy, upstream):
    content = b'{"messages" : [{"role":"user","content":"h\\u00e9"}], "stream":true,"unknown":[1.0]}'
    whole = b": a comment\r\n\r\n" + b"".join(events(completion("Hello.")))
    upstream.replies.append(Sent([whole[:50], whole[50:]], kind="text/event-stream", headers={"X-Request-Id": "7"}))
    headers = {"content-type": "application/json", "x-framesift-budget": "3", "x-other": "yes", "cookie": "a=b"}
    reply = proxy.http.post("/chat/completions", content=content, headers=headers)
    (request,) = upstream.requests
    assert reply.content == whole and reply.headers["x-request-id"] == "7" and request.content == content
    assert request.headers["x-other"] == "yes"
    assert not {"x-framesift-budget", "cookie"} & set(request.headers)


def test_settings_without_a_video_change_nothing_else(proxy, upstream):
    message = {"role": "user", "content": "Hello."}
    reply = proxy.post({"model": "m", "messages": [message], "framesift": {"links": True}}).json()
    assert upstream.chats[0].body == {"model": "m", "messages": [message]} and reply["framesift"]["videos"] == []
    assert reply["choices"][0]["message"]["content"] == "It is red."


def test_models_unknown_paths_and_queries_are_the_upstreams(proxy, upstream):
    assert [model.id for model in proxy.openai.models.list()] == ["reader-7b"]
    reply = proxy.http.get("/nothing/a%2Fb?x=1")
    assert (reply.status_code, upstream.requests[-1].path) == (404, "/v1/nothing/a%2Fb?x=1")
    assert reply.headers["content-security-policy"] == "default-src 'none'; sandbox"


def test_path_can_not_leave_the_upstreams_api(proxy, upstream):
    assert proxy.http.get("/a/%2e%2e/b").status_code == 404 and upstream.requests == []


def test_streamed_reply_ends_with_a_chunk_that_has_the_frames(proxy):
    chunks = list(proxy.ask(BOAT, stream=True, extra_body={"framesift": {"budget": 2, "links": True}}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.startswith("It is red.\n\nFrames: [0:00:") and len(frames_of(chunks[-1])) == 2
    url = chunks[-1].framesift["videos"][0]["frames"][0]["url"]
    assert Image.open(io.BytesIO(httpx.get(url).content)).format == "JPEG" and url in text


def test_video_is_indexed_once_whatever_it_comes_in(proxy, upstream, tmp_path, monkeypatch):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "film.mp4").write_bytes(video_bytes())
    handler = type("Quiet", (SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    site = ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: handler(*given, directory=tmp_path / "web"))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    jobs, decoded = [], proxy.videos.catalog.index
    monkeypatch.setattr(proxy.videos.catalog, "index", lambda *given: jobs.append(given) or decoded(*given))
    object.__setattr__(proxy.videos.config, "allow_private", True)
    file = proxy.openai.files.create(file=("film.mp4", video_bytes()), purpose="user_data")
    web = {"type": "video_url", "video_url": {"url": f"http://127.0.0.1:{site.server_address[1]}/film.mp4"}}
    for part in (data_part(), {"type": "file", "file": {"file_id": file.id}}, data_part(), web):
        proxy.ask(part, "What is shown first?")
    site.shutdown()
    assert len(jobs) == 1 and [len(request.pictures()) for request in upstream.chats] == [4] * 4
    assert len({request.content for request in upstream.chats}) == 1


def test_follow_up_selects_again_and_does_not_index_again(proxy, upstream, monkeypatch):
    first = proxy.ask(BOAT, "Which boat is red?")
    monkeypatch.setattr(proxy.videos.catalog, "index", None)
    messages = [
        {"role": "user", "content": [BOAT, words("Which boat is red?")]},
        {"role": "assistant", "content": "This one."},
        {"role": "user", "content": "Why has nobody come back?"},
    ]
    more = {"framesift": {"budget": 2}}
    second = proxy.openai.chat.completions.create(model="reader-7b", messages=messages, extra_body=more)
    assert second.framesift["question"] == "Why has nobody come back?" != first.framesift["question"]
    assert (
        any(16 <= time_s <= 18 for time_s in frames_of(second))
        and upstream.chats[-1].body["messages"][1:] == messages[1:]
    )
    assert len(upstream.chats[-1].pictures(0)) == 2


def test_copy_of_a_signed_url_is_not_found_without_the_signature(proxy):
    url = "https://example.org/film.mp4"
    boat = proxy.videos.folders.find("boat.mp4").path
    proxy.videos.downloads.store(f"{url}?sig=1", lambda place: Path(shutil.copy(boat, place)))
    assert proxy.videos.downloads.find(f"{url}?sig=1").name == url and proxy.videos.downloads.find(url) is None


def test_several_videos_share_the_budget(proxy, upstream):
    reply = proxy.openai.chat.completions.create(**chat(BOAT, words("and"), data_part(), words("Which is red?")))
    assert [len(video["frames"]) for video in reply.framesift["videos"]] == [2, 2]
    assert [part.get("text", "image") for part in upstream.chats[0].parts()][4] == "and"


def test_headers_set_budget_method_and_window(proxy):
    headers = {"X-Framesift-Budget": "3", "X-Framesift-Method": "uniform", "X-Framesift-Window": "0:05-0:11"}
    (video,) = proxy.ask(BOAT, extra_headers=headers).framesift["videos"]
    assert video["method"] == "uniform" and len(video["frames"]) == 3
    assert all(5 <= frame["time_s"] <= 11 for frame in video["frames"])


def test_vllm_gets_one_video_with_exact_times(proxy, upstream):
    upstream.owner, upstream.version = "vllm", "0.20.0"
    reply = proxy.ask(BOAT)
    sent = upstream.chats[0].body
    (url,) = [part["video_url"]["url"] for part in upstream.chats[0].parts() if part["type"] == "video_url"]
    frames, times_s = decode_video(url, sent["media_io_kwargs"]["video"])
    assert len(frames) == 4 and times_s == pytest.approx(frames_of(reply), abs=5e-4)


def test_refused_video_is_sent_again_as_images(proxy, upstream):
    upstream.owner, upstream.version = "vllm", "0.20.0"
    refusal = {"error": {"message": "At most 0 video(s) may be provided in one prompt."}}
    upstream.replies.append(Sent([json.dumps(refusal).encode()], 400))
    assert proxy.ask(BOAT).choices[0].message.content == "It is red."
    assert "media_io_kwargs" not in upstream.chats[-1].body and len(upstream.chats[-1].pictures()) == 4


def test_streaming_client_gets_progress_as_comments(proxy, gate):
    lines = []
    with proxy.http.stream("POST", "/chat/completions", json=chat(BOAT, stream=True)) as reply:
        for line in reply.iter_lines():
            lines.append(line)
            if line == ": framesift: indexing 1%":
                gate.set()
    assert reply.headers["content-type"] == "text/event-stream" and ": framesift: indexing 1%" in lines
    assert lines[-2] == "data: [DONE]" and '"framesift": {"question"' in lines[-4]


def test_requests_that_wait_for_an_index_do_not_hold_up_others(proxy, gate, monkeypatch):
    monkeypatch.setattr("framesift.proxy.app.MAX_WATCHING", 1)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(proxy.post, chat(BOAT, words("Which boat?"))) for _ in range(2)]
        until(lambda: proxy.videos.queue.jobs())
        assert proxy.post(chat(words("Hello."))).status_code == 200
        gate.set()
        assert [each.result().status_code for each in waiting] == [200, 200]


def test_error_after_progress_is_an_event(proxy, upstream, gate):
    upstream.replies.append(Sent([b'{"error": {"message": "no room",\n "code": 1}}'], 429))
    with pytest.raises(openai.APIError, match="no room"):
        for _ in opened(proxy.ask(BOAT, stream=True), gate):
            pass


def opened(stream, gate):
    gate.set()
    return stream


def test_waiting_client_may_have_an_answer_from_key_frames(proxy, upstream, gate):
    reply = proxy.ask(BOAT, extra_body={"framesift": {"partial": True}})
    (video,) = reply.framesift["videos"]
    assert "keyframes" in video["partial"] and len(upstream.chats[0].pictures()) == len(video["frames"])
    gate.set()
    until(lambda: proxy.videos.catalog.is_ready(proxy.videos.folders.find("boat.mp4")))
    assert "partial" not in proxy.ask(BOAT, extra_body={"framesift": {"partial": True}}).framesift["videos"][0]


def test_client_that_goes_away_ends_the_indexing(proxy, upstream, gate):
    with proxy.http.stream("POST", "/chat/completions", json=chat(BOAT, stream=True)):
        until(lambda: [job.phase for job in proxy.videos.queue.jobs()] == ["indexing"])
    until(lambda: not proxy.videos.queue.jobs())
    assert upstream.chats == []


def test_indexing_goes_on_for_those_who_still_wait(proxy, gate):
    body = chat(BOAT, words("Which boat?"), stream=True)
    with proxy.http.stream("POST", "/chat/completions", json=body) as staying:
        lines = staying.iter_lines()
        assert next(lines).startswith(": framesift")
        with proxy.http.stream("POST", "/chat/completions", json=body) as leaving:
            next(leaving.iter_lines())
        gate.set()
        assert list(lines)[-2] == "data: [DONE]"


@pytest.mark.parametrize("parts", [[BOAT], []])
@pytest.mark.parametrize("stream", [True, False])
def test_client_that_goes_away_ends_the_request_to_the_upstream(proxy, upstream, parts, stream):
    pieces = list(events(completion("It is red."))) if stream else [b"", json.dumps(completion("Red.")).encode()]
    hold = threading.Event()
    kind = "text/event-stream" if stream else "application/json"
    upstream.replies.append(Sent([piece for piece in pieces if piece], kind=kind, hold=hold))
    body = chat(*parts, words("What?"), stream=stream)
    content = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(content)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(proxy.url).port)) as connection:
        connection.sendall(head.encode() + content)
        until(lambda: upstream.chats)
    assert upstream.closed.wait(60)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("broken.mp4", "'broken.mp4'"),
        ("none.mp4", "is not a video in this server's folders"),
        ("file:///etc/passwd", "is not a video in this server's folders"),
        ("data:video/mp4;base64,AAAA", "is not a video that can be decoded"),
        ("data:video/mp4,AAAA", "the data URL can't be decoded; expected data:video/mp4;base64"),
        ("http://127.0.0.1:9/film.mp4", "an address inside this machine's network"),
        ("http://me:secret@example.org/film.mp4", "an address contains a user or a password"),
    ],
)
def test_bad_video_is_an_error_object_that_names_the_part(proxy, upstream, url, message):
    with pytest.raises(openai.BadRequestError, match=message) as caught:
        proxy.ask({"type": "video_url", "video_url": {"url": url}})
    error = caught.value.response.json()["error"]
    assert error["message"].startswith("messages[0].content[0]: ") and error["type"] == "invalid_request_error"
    assert str(proxy.store) not in error["message"] and "secret" not in error["message"] and upstream.chats == []


def test_too_large_a_video_is_refused(upstream, folder, tmp_path):
    with run_proxy(upstream, folder, tmp_path / "store", download_bytes=1000) as proxy:
        with pytest.raises(openai.BadRequestError, match="larger than 0 MB, this server's limit"):
            proxy.ask(data_part())
        with pytest.raises(openai.APIStatusError, match="--max-upload raises the limit") as caught:
            proxy.openai.files.create(file=("film.mp4", video_bytes()), purpose="user_data")
    assert caught.value.status_code == 413


def test_too_large_a_request_is_refused_with_the_remedy(proxy, monkeypatch):
    monkeypatch.setattr("framesift.server.security.MAX_CHAT_BYTES", 1000)
    reply = proxy.post(chat(data_part()))
    assert reply.status_code == 413 and "send a large video as a file to /v1/files" in reply.json()["error"]["message"]


def test_error_of_the_upstream_passes_and_nothing_is_indexed_again(proxy, upstream, monkeypatch):
    refusal = b'{"error": {"message": "slow down", "type": "rate_limit_error"}, "more": 1}'
    upstream.replies.append(Sent([refusal], 429, headers={"Retry-After": "3"}))
    reply = proxy.post(chat(BOAT, words("Which boat?")))
    assert (reply.status_code, reply.content, reply.headers["retry-after"]) == (429, refusal, "3")
    monkeypatch.setattr(proxy.videos.catalog, "index", None)
    assert proxy.post(chat(BOAT, words("Which boat?"))).status_code == 200


def test_unreachable_upstream_is_a_502(folder, tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and does not listen
        upstream = SimpleNamespace(url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        with run_proxy(upstream, folder, tmp_path / "store") as proxy:
            for body in (chat(BOAT, words("Which boat?")), chat(words("Hello."))):
                reply = proxy.post(body)
                assert reply.status_code == 502 and "can't be reached" in reply.json()["error"]["message"]


@pytest.mark.parametrize("parts", [[BOAT], []])
def test_stream_that_the_upstream_loses_ends_early(proxy, upstream, parts):
    pieces = list(events(completion("It is red.")))[:3]
    upstream.replies.append(Sent(pieces, kind="text/event-stream", cut=True))
    with pytest.raises(httpx.RemoteProtocolError):
        proxy.post(chat(*parts, words("Which boat?"), stream=True))


def test_files_are_kept_as_openai_keeps_them(proxy):
    files = proxy.openai.files
    file = files.create(file=("film.mp4", video_bytes()), purpose="user_data")
    assert (file.filename, file.bytes) == ("film.mp4", len(video_bytes())) == (
        files.retrieve(file.id).filename, len(files.content(file.id).content)
    )  # fmt: skip
    assert [each.id for each in files.list()] == [file.id]
    assert files.delete(file.id).deleted and list(files.list()) == []
    with pytest.raises(openai.NotFoundError, match="upload it again"):
        proxy.ask({"type": "file", "file": {"file_id": file.id}})


def test_other_files_go_to_the_upstream_byte_for_byte(proxy, upstream):
    with pytest.raises(openai.NotFoundError):
        proxy.openai.files.create(file=("batch.jsonl", b"{}\n"), purpose="batch")
    assert upstream.requests[-1].content.count(b"batch.jsonl") == 1 and upstream.requests[-1].path == "/v1/files"
    with pytest.raises(openai.NotFoundError):
        proxy.openai.files.retrieve("file-of-the-upstream")
    assert upstream.requests[-1].path == "/v1/files/file-of-the-upstream"


def test_upload_that_is_no_video_is_refused(proxy):
    with pytest.raises(openai.BadRequestError, match=r"film\.mp4 is not a video that can be decoded"):
        proxy.openai.files.create(file=("film.mp4", b"nothing"), purpose="user_data")


def test_token_is_not_sent_on_and_keys_are_stored_nowhere(upstream, folder, tmp_path, monkeypatch, caplog):
    token = "a-token-of-some-length"  # noqa: S105 (of the test)
    with run_proxy(upstream, folder, tmp_path / "store", token=token) as proxy:
        refused = proxy.post(chat(words("Hello.")))
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "invalid_request_error")
        assert proxy.post(chat(BOAT), headers={"X-Framesift-Token": token}).status_code == 200
        assert upstream.chats[-1].headers["authorization"] == f"Bearer {KEY}"
        monkeypatch.delenv("FRAMESIFT_API_KEY", raising=False)
        for key in ("", "sk-of-this-process"):
            if key:
                monkeypatch.setenv("FRAMESIFT_API_KEY", key)
            assert proxy.post(chat(BOAT), headers={"authorization": f"Bearer {token}"}).status_code == 200
            assert upstream.chats[-1].headers.get("authorization", "Bearer ") == f"Bearer {key}"
    secrets = [KEY.encode(), token.encode(), b"sk-of-this-process"]
    assert not any(token.encode() in str(request.headers).encode() for request in upstream.requests)
    written = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(secret in content for secret in secrets for content in [*written, caplog.text.encode()])


def test_requests_of_other_sites_and_hosts_are_refused(proxy, upstream):
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}):
        reply = proxy.http.get("/models", headers=headers)
        assert reply.status_code == 403 and reply.json()["error"]["message"]
    assert upstream.requests == []


def test_fifty_requests_at_a_time_are_all_answered(proxy, upstream):
    def ask(k):
        reply = proxy.ask(BOAT, f"Which boat is number {k}?", stream=k % 2 == 1)
        if k % 2 == 0:
            return reply.framesift["question"]
        return next(chunk.framesift["question"] for chunk in reply if hasattr(chunk, "framesift"))

    with ThreadPoolExecutor(50) as pool:
        asked = list(pool.map(ask, range(50)))
    assert asked == [f"Which boat is number {k}?" for k in range(50)] and len(upstream.chats) == 50


def test_page_serves_the_same_for_its_reader(upstream, folder, tmp_path):
    from framesift.proxy.app import add_to_page

    with run_server(folder, tmp_path, readers=(f"{upstream.url}#reader-7b",), after=add_to_page) as server:
        reply = server.post("/v1/chat/completions", json=chat(BOAT, words("Which boat is red?")))
        assert reply.json()["choices"][0]["message"]["content"] == "It is red." and reply.json()["framesift"]
        assert server.get("/v1/models").json()["data"][0]["id"] == "reader-7b"
        assert server.get("/api/videos").json()["videos"][0]["name"] == "boat.mp4"
