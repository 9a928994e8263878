"""What docs/security.md promises: addresses with credentials are rejected, and keys reach their server only."""

import json
import logging

import fsspec
import pyarrow.parquet as parquet
import pytest

from framesift import corpus
from framesift._utils.credentials import check_reader_address, parse_address, public_url, reject_login
from framesift.batch.results import read_results
from framesift.cli import main
from framesift.errors import FramesiftError, InputError, OptionError
from framesift.pipeline.config import PipelineConfig
from framesift.readers.base import get_reader
from framesift.readers.openai import OpenAIReader
from helpers.batch_videos import install_encoder, make_video

PASSWORD, KEY = "hunter2-password", "swordfish-key"
ENVIRONMENT_KEY = "sk-environment-0123456789"
QUESTION = {"id": "q", "video": "v.mp4", "question": "Red?", "options": ["yes", "no"], "answer": "B"}
WITH_CREDENTIALS = (
    f"http://me:{PASSWORD}@host:8000/v1#m",
    f"http://{PASSWORD}@host/v1",
    f"http://host/v1?key={KEY}",
    f"http://host/v1?api-version=1&token={KEY}#m",
    f"http://host/v1#m?api_key={KEY}",
    f"http://me:12/{PASSWORD}@host/v1",
    f"http://me:12?{PASSWORD}@host/v1",
    f"http://me%3A{PASSWORD}%40host/v1",
    f"me:{PASSWORD}@host/v1",
    f"ftp://me:{PASSWORD}@host/v1",
    f"//me:{PASSWORD}@host/v1",
    f"local:http://me:{PASSWORD}@host/v1",
)


@pytest.fixture
def site(tmp_path, tmp_path_factory, monkeypatch):
    """A directory with a video and a question about it; everything the commands write goes below it."""
    monkeypatch.syspath_prepend(str(install_encoder(tmp_path_factory.mktemp("site"))))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESIFT_STORE", str(tmp_path / "store"))
    make_video(tmp_path / "v.mp4")
    (tmp_path / "q.jsonl").write_text(json.dumps(QUESTION) + "\n")
    return tmp_path


def test_address_with_credentials_is_rejected_with_the_variable_to_use():
    for address in WITH_CREDENTIALS:
        for use in (check_reader_address, parse_address, get_reader, OpenAIReader):
            with pytest.raises(InputError, match="environment variable FRAMESIFT_API_KEY") as caught:
                use(address)
            assert PASSWORD not in str(caught.value) and KEY not in str(caught.value)


def test_address_without_credentials_is_accepted():
    for name in ("similarity", "local:/models/a@b?c#d", "http://[::1]:8000/v1#org/model@2", "https://host/@org/v1/"):
        check_reader_address(name)
    address = parse_address("HTTPS://Host:80/v1/?api-version=2#org/m")
    assert (address.url, address.server, address.model) == ("https://host:80/v1", "https://host:80", "org/m")
    assert address.query == {"api-version": "2"}
    for malformed in ("host/v1", "http://host:port/v1", "http://host:0/v1", "http://[::1/v1", "http:///v1"):
        assert parse_address(malformed) is None


def test_settings_with_credentials_are_rejected():
    videotree = {"method": "videotree", "options": {"model": WITH_CREDENTIALS[2]}}
    for settings in ({"reader": WITH_CREDENTIALS[0]}, {"namer": WITH_CREDENTIALS[0]}, videotree):
        with pytest.raises(InputError, match="contains a user, a password or query"):
            PipelineConfig(**settings)


def test_every_command_rejects_credentials_and_stores_none(site, capfd):
    encoder = ["--encoder", "test-encoder"]
    for words in (
        ["ask", "v.mp4", "-q", "Red?", *encoder, "--reader", "{}"],
        ["bench", "q.jsonl", "--methods", "uniform", *encoder, "--readers", "{}"],
        ["select", "v.mp4", "-q", "Red?", "--method", "videotree", "--set", "model={}"],
        ["corpus", "ask", "--questions", "q.jsonl", "--results", "r", "--workers", "1", "--reader", "{}"],
        ["select", "v.mp4", "-q", "Red?", "--method", "t-star", "--set", "namer={}"],
        ["serve", "--port", "0", *encoder, "--reader", "{}"],
        ["proxy", "--port", "0", *encoder, "--upstream", "{}"],
    ):
        for address in WITH_CREDENTIALS[::4]:
            code = main([word.format(address) for word in words])
            output = "".join(capfd.readouterr())
            assert code == 2 and output and PASSWORD not in output and KEY not in output, words[0]
    files = [path for path in site.rglob("*") if path.is_file()]
    assert not (site / "r").exists() and not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def test_mistyped_command_does_not_repeat_a_secret(site, capfd):
    for words in (
        ["--budget", f"http://me:{PASSWORD}@host/v1"],
        ["--budget", f"--readers=A=https://me:{PASSWORD}@h/v1"],
        ["--budget", f"s3://K:{PASSWORD}@b/v"],
        ["--budget", f"http://host/v1?key={KEY}"],
        ["--api-key", KEY],
        ["-q", "Red?", "--reader", "http://127.0.0.1:9/v1#m", "--set", f"key_variable={KEY}"],
    ):
        assert main(["ask", "v.mp4", "--encoder", "test-encoder", *words]) == 2
        output = "".join(capfd.readouterr())
        assert PASSWORD not in output and KEY not in output


def test_reader_option_that_holds_a_secret_is_rejected():
    with pytest.raises(OptionError, match="api_key .* use an environment variable") as caught:
        get_reader("http://host/v1#m", api_key=KEY)
    assert KEY not in str(caught.value)


def test_key_that_a_server_repeats_in_an_error_is_in_no_file_output_or_log(site, server, monkeypatch, capfd, caplog):
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # it would take the log away from caplog
    monkeypatch.setenv("FRAMESIFT_API_KEY", ENVIRONMENT_KEY)
    caplog.set_level(logging.DEBUG)
    server.echo = 400
    reader, common = f"{server.url}#reader-7b", ["--encoder", "test-encoder"]
    for arguments in (
        ["ask", "v.mp4", "-q", "Red?", "--budget", "2", "--out", "x", "--reader", reader],
        ["bench", "q.jsonl", "--budgets", "2", "--methods", "uniform", "--out", "results", "--readers", reader],
        ["corpus", "ask", "--questions", "q.jsonl", "--results", "r", "--workers", "1", "--reader", reader],
    ):
        assert main([*arguments, *common]) == 1
    assert server.credentials[-1][0] == f"Bearer {ENVIRONMENT_KEY}"
    output = "".join(capfd.readouterr()) + caplog.text
    assert "because Bearer …" in output and ENVIRONMENT_KEY not in output
    assert not [path for path in site.rglob("*") if path.is_file() and ENVIRONMENT_KEY.encode() in path.read_bytes()]


def test_server_hides_a_key_that_the_reader_repeats(site, server, monkeypatch):
    from helpers.running_server import run_server

    monkeypatch.setenv("FRAMESIFT_API_KEY", ENVIRONMENT_KEY)
    server.echo = 400
    with run_server(site, site / "state", readers=(f"{server.url}#reader-7b",)) as running:
        video = running.index("v.mp4")
        request = {"question": "Red?", "budget": 2, "reader": running.get("/api/choices").json()["readers"][0]}
        reply = running.post(f"/api/videos/{video}/ask", json=request).text
        assert "because" in reply and ENVIRONMENT_KEY not in reply
        refusal = running.post(f"/api/videos/{video}/ask", json=request | {"reader": WITH_CREDENTIALS[0]})
        assert refusal.status_code == 400 and PASSWORD not in refusal.text


@pytest.mark.parametrize("url", ["memory://me:{}@bucket/v.mp4", "s3://K:a/{}@bucket/v.mp4", "https://{}@h/v"])
def test_video_urls_with_a_password_are_rejected(site, url):
    questions, options = site / "q.jsonl", {"engine": "inline", "store": site / "store"}
    questions.write_text(json.dumps(QUESTION | {"video": url.format(PASSWORD)}) + "\n")
    for call in (
        lambda: corpus.index([url.format(PASSWORD)], encoder="test-encoder", **options),
        lambda: corpus.select(questions, results=site / "r", **options),
    ):
        with pytest.raises(FramesiftError, match="contains a user or a password") as caught:
            call()
        assert PASSWORD not in str(caught.value)


def test_video_urls_without_a_password_are_accepted():
    for url in (
        "abfs://container@account.dfs/v.mp4",
        "sftp://me@host/v.mp4",
        "https://host:80/a@b.mp4",
        "s3://b/a@b:c",
    ):
        reject_login(url)


def test_signature_of_a_video_url_is_stored_and_shown_nowhere(site, tmp_path_factory, capfd):
    url = f"memory://bucket/v.mp4?id=7&X-Amz-Signature={KEY}"
    fsspec.filesystem("memory").pipe(url.removeprefix("memory:/"), (site / "v.mp4").read_bytes())
    options = {"engine": "inline", "encoder": "test-encoder", "store": site / "store"}
    (runs,) = {corpus.index([url, url.replace("v.mp4", "none.mp4")], **options).manifest for _ in range(2)}
    rows = corpus.index([url], **options).rows
    assert [(row["path"], row["status"]) for row in rows] == [("memory://bucket/v.mp4?id=7", "kept")]
    questions = tmp_path_factory.mktemp("input") / "q.jsonl"
    questions.write_text(json.dumps(QUESTION | {"video": url}) + "\n" + json.dumps(QUESTION | {"video": url + "2"}))
    assert corpus.select(questions, results=site / "results", method="uniform", budget=2, **options).failed == 0
    assert {row.video_id for row in read_results(site / "results").rows} == {"memory://bucket/v.mp4?id=7"}
    files = {path.name: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    files |= {"manifest": str(parquet.read_table(runs).to_pylist()).encode()}
    files |= {"output": "".join(capfd.readouterr()).encode()}
    assert not [name for name, data in files.items() if KEY.encode() in data or KEY in name]


def test_url_of_a_video_keeps_what_identifies_it():
    for url, expected in (
        ("https://host:80/a%3F.mp4?v=1&token=x&Expires=3#t=4", "https://host:80/a%3F.mp4?v=1#t=4"),
        ("https://host/a@b.mp4?v=me@x", "https://host/a@b.mp4?v=me@x"),
        ("s3://bucket/a@b.mp4?sig=x", "s3://bucket/a@b.mp4"),
        ("/videos/a:b@c?key=d.mp4", "/videos/a:b@c?key=d.mp4"),
    ):
        assert public_url(url) == expected
