"""Who is let in, and what every answer carries."""

import contextlib
import re

import httpx
import pytest

from framesift.cli import main
from framesift.cli.serve import _address
from framesift.errors import OptionError
from framesift.server.config import Settings
from framesift.server.routes.pages import OWN, SHARED
from framesift.server.security import cookie_name, cookie_value
from helpers.running_server import serve

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
def guarded(films, tmp_path_factory):
    secret = "a long text; with = signs + 100 % & # too"  # noqa: S105
    with serve(films, tmp_path_factory.mktemp("guarded"), token=secret) as served:
        yield served


@pytest.mark.parametrize("path", [*PATHS, "/api/videos/{boat}/file"])
def test_a_strange_host_name_is_refused_everywhere(home, path):
    headers = {"host": f"evil.example:{home.port}", "range": "bytes=0-9"}
    reply = home.get(path.format(boat=home.boat), headers=headers)
    assert reply.status_code == 403
    assert "evil.example" in reply.json()["detail"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "192.168.1.20:8000"])
def test_names_of_this_machine_and_addresses_in_digits_are_let_in(home, host):
    assert home.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["", "127.0.0.1.evil.example", "localhost.evil.example", "[", "127.0.0.1@evil.example"]
)
def test_host_names_that_only_look_right_are_refused(home, host):
    assert home.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
@pytest.mark.parametrize("path", ["/", "/api/videos", "/api/stream"])
def test_other_origins_are_refused(home, origin, path):
    assert home.get(path, headers={"origin": origin}).status_code == 403


def test_the_own_origin_is_let_in(home):
    assert home.get("/api/videos", headers={"origin": home.url, "sec-fetch-site": "same-origin"}).status_code == 200


def test_other_sites_may_link_to_a_page_and_nothing_else(home):
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert home.get("/", headers=link).status_code == 200
    assert home.get("/api/videos", headers=link).status_code == 403
    assert home.get("/", headers=link | {"sec-fetch-dest": "iframe"}).status_code == 403
    assert home.get(f"/api/videos/{home.boat}/file", headers={"sec-fetch-site": "same-site"}).status_code == 403
    assert home.post("/api/sample", headers=link).status_code == 403


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_served(guarded, path):
    for headers in ({}, {"authorization": "Bearer wrong"}, {"cookie": f"framesift_{guarded.port}=wrong"}):
        assert guarded.get(path, headers=headers).status_code == 401


def test_the_token_opens_by_header(guarded):
    good = {"authorization": f"Bearer {guarded.settings.token}"}
    assert guarded.get("/api/videos", headers=good).status_code == 200


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(guarded):
    with httpx.Client(base_url=guarded.url) as browser:
        first = browser.get("/", params={"token": guarded.settings.token, "q": "why"})
        assert first.status_code == 303 and first.headers["location"] == "/?q=why"
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and guarded.settings.token not in cookie
        assert browser.get("/api/videos").status_code == 200
        assert browser.get("/").status_code == 200


@pytest.mark.parametrize("foreign", ['prefs={"a":1}', "a=b c", "flag", 'x="', "u=\xe9"])
def test_cookies_of_other_servers_do_not_hide_ours(guarded, foreign):
    own = f"{cookie_name(guarded.settings)}={cookie_value(guarded.settings)}"
    headers = {"cookie": f"{foreign}; {own}".encode("latin-1")}
    assert guarded.get("/api/videos", headers=headers).status_code == 200


def test_the_printed_address_opens_the_page_whatever_the_token(guarded):
    printed = _address(guarded.settings)
    reply = httpx.get(printed)
    assert reply.status_code == 303 and reply.headers["location"] == "/"


def test_an_origin_that_is_no_address_is_refused_in_a_sentence(home):
    reply = home.get("/api/videos", headers={"origin": "http://["})
    assert reply.status_code == 403 and reply.json()["detail"]


def test_an_error_nobody_foresaw_is_a_sentence_with_all_headers(home, monkeypatch):
    def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(home.house.queue, "jobs", fail)
    reply = home.get("/api/jobs")
    assert reply.status_code == 500 and "went wrong" in reply.json()["detail"]
    assert reply.headers["x-content-type-options"] == "nosniff"


def test_the_redirect_never_leaves_this_server(guarded):
    reply = httpx.get(f"{guarded.url}//evil.example/", params={"token": guarded.settings.token})
    assert reply.status_code == 303 and reply.headers["location"] == "/evil.example/"


def test_a_page_without_the_token_offers_a_field_for_it(guarded):
    reply = guarded.get("/", headers={"accept": "text/html"})
    assert reply.status_code == 401 and 'name="token"' in reply.text
    assert "script-src" not in reply.headers["content-security-policy"]


def test_an_address_with_nothing_behind_it_has_a_way_back_for_people_and_json_for_programs(home):
    page = home.get("/nothing", headers={"accept": "text/html"})
    assert page.status_code == 404 and 'href="/"' in page.text
    assert home.get("/nothing").json() == {"detail": "There is nothing at this address"}


@pytest.mark.parametrize("path", [*PATHS[:-3], "/api/docs", "/api/openapi.json"])
def test_every_answer_carries_the_policy(home, path):
    headers = home.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_pages_name_no_outside_address_and_hold_no_inline_script(home):
    texts = [home.get(path).text for path in ("/", "/video/0123456789abcdef", "/api/docs")]
    assert not any(re.search(r"<script(?![^>]*src=)|\son\w+=|style=", text) for text in texts)
    texts += [home.get(f"/assets/{name}").text for name in (*OWN, *SHARED)]
    assert not any(re.search(r"https?://", text) for text in texts)


@pytest.mark.parametrize("name", ["../app.py", "..%2Fapp.py", "report.js", "page.html", "%00", "library.html"])
def test_only_listed_assets_are_served(home, name):
    assert home.get(f"/assets/{name}").status_code == 404


def test_large_bodies_are_refused_before_they_are_read(home):
    question = {"question": "x" * 300_000}
    assert home.post(f"/api/videos/{home.boat}/view", json=question).status_code == 413

    def endless():
        for _ in range(100):
            yield b"x" * 10_000

    assert home.post(f"/api/videos/{home.boat}/view", content=endless()).status_code == 413


def test_a_wider_host_needs_a_token(capsys):
    with pytest.raises(OptionError, match="--token"):
        Settings(host="0.0.0.0")  # noqa: S104
    assert Settings(host="0.0.0.0", token="x").token  # noqa: S104, S106
    assert main(["serve", "--host", "0.0.0.0", "--port", "0"]) == 2  # noqa: S104
    assert "--token auto" in capsys.readouterr().err


def test_a_port_in_use_and_a_missing_folder_are_sentences(home, tmp_path, capsys):
    assert main(["serve", "--port", str(home.port), "--store", str(tmp_path)]) == 2
    assert "--port 0" in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_a_second_server_on_one_library_is_refused(home, tmp_path, capsys):
    assert main(["serve", "--port", "0", "--store", str(home.settings.store)]) == 2
    assert "another framesift serve uses the library" in capsys.readouterr().err


def test_a_second_server_on_one_folder_of_uploads_is_refused(tmp_path, capsys):
    with serve(None, tmp_path / "one", uploads=tmp_path / "up"):
        line = ["serve", "--port", "0", "--store", str(tmp_path / "two"), "--uploads", str(tmp_path / "up")]
        assert main(line) == 2
        assert "for its uploads" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["--port", "70000"], "from 0 to 65535"),
        (["--token", "ab\udcff"], "no text"),
        (["--host", "x" * 300], "can't listen"),
        (["--event-encoder", "nope"], "'nope'"),
        (["--speech", "nope"], "'nope'"),
    ],
)
def test_options_that_cannot_be_are_sentences_at_the_start(tmp_path, capsys, line, words):
    if "--host" in line:
        line = [*line, "--token", "secret"]
    assert main(["serve", "--port", "0", "--store", str(tmp_path), *line]) == 2
    assert words in capsys.readouterr().err


def test_an_open_stream_ends_with_the_server(films, tmp_path):
    with contextlib.ExitStack() as later:
        with serve(films, tmp_path) as served:
            lines = later.enter_context(httpx.stream("GET", f"{served.url}/api/stream")).iter_lines()
            assert next(lines) == "event: jobs"
        assert list(lines)[-1] == ""  # ended, not broken off
