"""Which requests are refused, and the headers of every response."""

import contextlib
import re
from pathlib import Path

import httpx
import pytest

from framesift.cli import main
from framesift.cli.serve import page_address
from framesift.server.app import ASSETS
from framesift.server.security import cookie_name, cookie_value
from helpers.running_server import run_server

PATHS = (
    "/",
    "/video/0123456789abcdef",
    "/assets/video.js",
    "/api/videos",
    "/api/stream",
    "/api/openapi.json",
    "/nothing",
)


@pytest.fixture(scope="module")
def guarded(folder, tmp_path_factory):
    secret = "a long text; with = signs + 100 % & # too"  # noqa: S105
    with run_server(folder, tmp_path_factory.mktemp("guarded"), token=secret) as server:
        yield server


@pytest.mark.parametrize("path", [*PATHS, "/api/videos/{boat}/file"])
def test_unknown_host_name_is_refused_everywhere(shared_server, path):
    headers = {"host": f"evil.example:{shared_server.port}", "range": "bytes=0-9"}
    reply = shared_server.get(path.format(boat=shared_server.boat), headers=headers)
    assert reply.status_code == 403
    assert "evil.example" in reply.json()["detail"]


OWN_HOSTS = ("localhost", "127.0.0.1:8000", "[::1]:8000", "192.168.1.20:8000")
SIMILAR_HOSTS = ("", "127.0.0.1.evil.example", "localhost.evil.example", "[", "127.0.0.1@evil.example")


@pytest.mark.parametrize("host", [*OWN_HOSTS, *SIMILAR_HOSTS])
def test_only_own_host_names_and_ip_addresses_are_accepted(shared_server, host):
    status = 200 if host in OWN_HOSTS else 403
    assert shared_server.get("/", headers={"host": host}).status_code == status


def test_only_the_own_origin_is_accepted(shared_server):
    own = {"origin": shared_server.url, "sec-fetch-site": "same-origin"}
    assert shared_server.get("/api/videos", headers=own).status_code == 200
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", "http://["):
        for path in ("/", "/api/videos", "/api/stream"):
            reply = shared_server.get(path, headers={"origin": origin})
            assert reply.status_code == 403 and reply.json()["detail"], (origin, path)


def test_other_sites_may_link_to_a_page_and_nothing_else(shared_server):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert shared_server.get("/", headers=link).status_code == 200
    assert shared_server.get("/api/videos", headers=link).status_code == 403
    assert shared_server.get("/", headers=link | {"sec-fetch-dest": "iframe"}).status_code == 403
    video = f"/api/videos/{shared_server.boat}/file"
    assert shared_server.get(video, headers={"sec-fetch-site": "same-site"}).status_code == 403
    assert shared_server.post("/api/sample", headers=link).status_code == 403


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_served_without_the_token(guarded, path):
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"framesift_{guarded.port}=wrong"}):
        assert guarded.get(path, headers=headers).status_code == 401


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


def test_token_in_the_printed_address_is_replaced_by_a_cookie(guarded):
    with httpx.Client(base_url=guarded.url, timeout=60) as browser:
        first = browser.get(page_address(guarded.config) + "&q=why")
        assert first.status_code == 303 and first.headers["location"] == "/?q=why"
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and guarded.config.token not in cookie
        assert browser.get("/api/videos").status_code == browser.get("/").status_code == 200


@pytest.mark.parametrize("foreign", ['prefs={"a":1}', "a=b c", "flag", 'x="', "u=\xe9"])
def test_malformed_cookies_of_other_servers_are_ignored(guarded, foreign):
    own = f"{cookie_name(guarded.config)}={cookie_value(guarded.config)}"
    headers = {"cookie": f"{foreign}; {own}".encode("latin-1")}
    assert guarded.get("/api/videos", headers=headers).status_code == 200


def test_unexpected_error_is_a_message_with_all_headers(shared_server, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(shared_server.services.queue, "jobs", fail)
    reply = shared_server.get("/api/jobs")
    assert reply.status_code == 500 and "failed unexpectedly" in reply.json()["detail"]
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_redirect_never_leaves_this_server(guarded):
    reply = httpx.get(f"{guarded.url}//evil.example/", params={"token": guarded.config.token}, timeout=60)
    assert reply.status_code == 303 and reply.headers["location"] == "/evil.example/"


def test_page_without_the_token_has_a_field_for_it(guarded):
    reply = guarded.get("/", headers={"accept": "text/html"})
    assert reply.status_code == 401 and 'name="token"' in reply.text
    assert "script-src" not in reply.headers["content-security-policy"]


def test_unknown_address_is_a_page_for_browsers_and_json_for_programs(shared_server):
    for path, words in (("/nothing", "nothing at this address"), ("/video/x", "no such video")):
        page = shared_server.get(path, headers={"accept": "text/html"})
        assert page.status_code == 404 and 'href="/"' in page.text and words in page.text
    assert shared_server.get("/nothing").json() == {"detail": "There is nothing at this address"}


@pytest.mark.parametrize("path", [*PATHS[:-3], "/api/docs", "/api/openapi.json"])
def test_every_response_has_the_security_headers(shared_server, path):
    reply = shared_server.get(path)
    headers = reply.headers
    assert reply.is_success or path.startswith("/video/")  # of an unknown video
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_pages_contain_no_outside_address_and_no_inline_script(shared_server):
    texts = [shared_server.get(path).text for path in ("/", "/video/0123456789abcdef", "/api/docs")]
    assert not any(re.search(r"<script(?![^>]*src=)|\son\w+=|style=", text) for text in texts)
    names = [path.name for folder in ASSETS.all_directories for path in Path(folder).glob("*.[jc]s*")]
    texts += [shared_server.get(f"/assets/{name}").text for name in names]
    assert not any(re.search(r"https?://", text) for text in texts)


@pytest.mark.parametrize("name", ["../app.py", "..%2Fapp.py", "%2Fetc%2Fpasswd", "page.html", "%00"])
def test_only_assets_are_served(shared_server, name):
    assert shared_server.get(f"/assets/{name}").status_code == 404


def test_large_bodies_are_refused(shared_server):
    question = {"question": "x" * 300_000}
    assert shared_server.post(f"/api/videos/{shared_server.boat}/view", json=question).status_code == 413

    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    assert shared_server.post(f"/api/videos/{shared_server.boat}/view", content=endless()).status_code == 413


def test_port_in_use_and_store_in_use_are_error_messages(shared_server, tmp_path, capsys):
    for line, words in (
        (["--port", str(shared_server.port), "--store", str(tmp_path)], "--port 0"),
        (["--port", "0", "--store", str(shared_server.config.pipeline.index.store)], "another framesift serve uses"),
    ):
        assert main(["serve", *line]) == 2
        assert words in capsys.readouterr().err


def test_open_stream_ends_with_the_server(folder, tmp_path):
    with contextlib.ExitStack() as later:
        with run_server(folder, tmp_path) as server:
            lines = later.enter_context(httpx.stream("GET", f"{server.url}/api/stream", timeout=60)).iter_lines()
            assert next(lines) == "event: jobs"
        assert list(lines)[-1] == ""  # ended, not broken off
