"""Commands on a full disk: one sentence, exit code 1, and every file as before."""

import os
import subprocess
import sys

import pytest

from framesift.cli import main
from framesift.demo import video as demo
from helpers.full_disk import contents, largest_file

pytest.importorskip("resource", reason="limits the size of files, as POSIX systems can")

SEARCH = ["corpus", "search", "coffee", "--encoder", "offline"]


@pytest.fixture(autouse=True)
def stored(clip):
    """What the commands below keep in the store is written while there is space."""
    assert main(["select", str(clip), "-q", "Cold?", "--budget", "2", "--encoder", "offline", "--no-exhibit"]) == 0
    assert main(SEARCH) == 0


def check_full_disk(folder, capsys, *words, sizes=(0, 700, 3000)):
    before = contents(folder)
    for size in sizes:
        capsys.readouterr()
        with largest_file(size):
            code = main([str(word) for word in words])
        *others, sentence = capsys.readouterr().err.splitlines()
        assert (code, sentence[:11]) == (1, "framesift: ") and "can't be written (File too large)" in sentence
        assert not [line for line in others if line.startswith(("framesift: ", "Traceback"))]
        assert contents(folder) == before


def test_answers_and_lists(clip, tmp_path, capsys):
    (tmp_path / "q.txt").write_text("Cold?\n")
    words = [clip, "--questions", tmp_path / "q.txt", "--budget", "2", "--encoder", "offline", "--out", tmp_path / "x"]
    check_full_disk(tmp_path, capsys, "select", *words)
    check_full_disk(tmp_path, capsys, "ask", *words, "--reader", "similarity")


@pytest.mark.slow
def test_demo(clip, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "SCENES", demo.SCENES[:1])
    check_full_disk(tmp_path, capsys, "demo", "--budget", "2")
    assert main(["demo", "--budget", "2"]) == 0
    (tmp_path / "framesift-demo" / "note.txt").write_text("dear")
    check_full_disk(tmp_path, capsys, "demo", "--budget", "2")


def test_search_report(tmp_path, capsys):
    check_full_disk(tmp_path, capsys, *SEARCH, "--report", tmp_path / "hits.html")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_to_a_full_disk(clip, tmp_path):
    select = ["select", clip, "-q", "Cold?", "--budget", "2", "--encoder", "offline", "--out", tmp_path / "x"]
    for words in (["--help"], select):
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "framesift", *map(str, words)]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        sentence = done.stderr.splitlines()[-1]
        assert sentence == "framesift: the output can't be written (No space left on device)"
        assert done.returncode == 1 and "Error" not in done.stderr
    assert (tmp_path / "x" / "report.html").exists()
