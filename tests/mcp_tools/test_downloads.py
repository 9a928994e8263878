"""Videos by URL: http(s) files into the cache, never from private addresses unless allowed."""

import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

import framesift as fs
from framesift._utils.addresses import RefusedAddress, allowed_addresses, is_public, is_routable
from framesift.errors import InputError
from framesift.library.downloads import Downloads
from framesift.library.session import Call
from framesift.mcp.replies import JpegImage
from framesift.mcp.session import AgentConfig, AgentSession
from framesift.mcp.tools import call_tool
from framesift.progress import ignore_progress


@pytest.fixture(scope="module")
def address(folder, tmp_path_factory):
    """A server on this machine with a video, redirects, a page, and a file that is no video."""
    web = tmp_path_factory.mktemp("web")
    shutil.copy(folder / "boat.mp4", web / "clip.mp4")
    (web / "text.mp4").write_text("x")
    (web / "page.html").write_text("<html>")

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith("/to/"):
                return super().do_GET()
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=web)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def downloads(tmp_path):
    return Downloads(tmp_path / "downloads", AgentConfig(allow_private=True))


def test_file_is_downloaded_once(downloads, address):
    url = f"{address}/clip.mp4"
    reported = []
    downloads.fetch(url, lambda *row: reported.append(row))
    copy = downloads.find(url)
    assert copy.path.name == "clip.mp4" and copy.url == url
    assert reported[-1][1] == copy.path.stat().st_size
    assert downloads.videos() == [copy]
    assert downloads.find(f"{url}?other") is None


def test_watch_by_url_lists_and_searches_the_copy(address, site, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(site)
    pipeline = fs.PipelineConfig(encoder="colours", speech="none", store=tmp_path)
    session = AgentSession(AgentConfig(pipeline=pipeline, allow_private=True))
    url = f"{address}/clip.mp4"
    answer = call_tool(session, "watch", {"video": url, "question": "What is red?", "budget": 2}, Call())
    assert f"<data>{url}</data>" in answer.text and sum(isinstance(part, JpegImage) for part in answer.parts) == 2
    assert f"<data>{url}</data> 0:12 (12 s), indexed" in call_tool(session, "list_videos", {}, Call()).text
    assert url in call_tool(session, "search_library", {"text": "red"}, Call()).text


def test_redirect_is_followed_and_counted(downloads, address):
    downloads.fetch(f"{address}/to//to//clip.mp4", ignore_progress)
    assert downloads.find(f"{address}/to//to//clip.mp4").path.stat().st_size
    with pytest.raises(InputError, match="more than 5 redirects"):
        downloads.fetch(f"{address}{'/to/' * 9}/clip.mp4", ignore_progress)


def test_what_is_no_video_leaves_nothing_behind(downloads, address):
    for path, expected in (("/text.mp4", "not a video"), ("/none", "status 404"), ("/page.html", "is a web page")):
        with pytest.raises(InputError, match=expected):
            downloads.fetch(address + path, ignore_progress)
    assert not downloads.folder.exists() or list(downloads.folder.iterdir()) == []


def test_file_over_the_limit_is_refused(tmp_path, address):
    small = Downloads(tmp_path, AgentConfig(allow_private=True, download_bytes=1000))
    with pytest.raises(InputError, match="this server's limit"):
        small.fetch(f"{address}/clip.mp4", ignore_progress)


def test_private_address_is_refused_also_behind_a_redirect(tmp_path, address, monkeypatch):
    guarded = Downloads(tmp_path, AgentConfig())
    with pytest.raises(RefusedAddress, match="--allow-private"):
        guarded.fetch(f"{address}/clip.mp4", ignore_progress)
    # A public host that redirects into the network: the first address passes, the second is checked again.
    checked = []

    def first_is_public(host, *rules):
        checked.append(host)
        return ["127.0.0.1"] if len(checked) == 1 else allowed_addresses(host, *rules)

    monkeypatch.setattr("framesift._utils.addresses.allowed_addresses", first_is_public)
    with pytest.raises(RefusedAddress):
        guarded.fetch(f"{address}/to/{address}/clip.mp4", ignore_progress)
    assert len(checked) == 2


@given(st.ip_addresses())
def test_only_global_addresses_are_public(address):
    if not address.is_global or address.is_multicast:
        assert not is_public(str(address))


def test_addresses_that_lead_inside_are_not_public():
    inside = ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "169.254.169.254", "fe80::1%eth0", "100.64.0.1"]
    assert not any(map(is_public, inside))
    assert all(map(is_public, ["93.184.215.14", "2606:4700::6810:84e5"]))
    assert not any(map(is_routable, ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1%eth0", "224.0.0.1", "x"]))
    assert all(map(is_routable, ["127.0.0.1", "::1", "10.0.0.1", "93.184.215.14"]))


def test_other_urls_are_refused(downloads):
    with pytest.raises(InputError, match="a user or a password"):
        downloads.check_allowed("http://user:key@example.com/x")
    for url in ("http:///x", "http://[::1"):
        with pytest.raises(InputError):
            downloads.fetch(url, ignore_progress)
    with pytest.raises(InputError, match="--urls none"):
        Downloads(downloads.folder, AgentConfig(urls="none")).check_allowed("http://example.com/a.mp4")


def test_least_recently_used_copies_are_removed(tmp_path, address, monkeypatch):
    monkeypatch.setattr("framesift.library.downloads.CACHE_COUNT", 1)
    size = 10_000_000
    kept = Downloads(tmp_path, AgentConfig(allow_private=True, download_bytes=size))
    kept.fetch(f"{address}/clip.mp4", ignore_progress)
    first = kept.find(f"{address}/clip.mp4").path
    object.__setattr__(kept.config, "download_bytes", first.stat().st_size + 100)
    kept.fetch(f"{address}/to//clip.mp4", ignore_progress)
    assert kept.find(f"{address}/clip.mp4") is None and kept.find(f"{address}/to//clip.mp4") is not None
