"""The network's graph: built once, kept, and built again where the kept file can't be used."""

import numpy as np
import pytest

from framesift.encoders import efficientnet
from framesift.errors import InputError


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A file of weights, whose graph is its content; `reads` counts how often it is built."""
    path = tmp_path / "weights.pth"
    path.write_bytes(b"first")
    reads = []

    def read_tensors(file):
        reads.append(file)
        return {"content": file.read_bytes()}

    monkeypatch.setattr(efficientnet, "read_tensors", read_tensors)
    monkeypatch.setattr(efficientnet, "build_graph", lambda tensors, source: tensors["content"])

    return path, reads


def test_graph_is_built_once_and_kept(weights, tmp_path):
    path, reads = weights
    folder = tmp_path / "cache"
    assert [efficientnet.load_graph(path, folder) for _ in range(3)] == [b"first"] * 3
    assert len(reads) == 1
    assert len(list(folder.iterdir())) == 1


def test_damaged_graph_is_built_again(weights, tmp_path):
    path, reads = weights
    folder = tmp_path / "cache"
    efficientnet.load_graph(path, folder)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-1], whole[:-1] + b"!", whole[:4]):
        kept.write_bytes(damaged)
        assert efficientnet.load_graph(path, folder) == b"first"
        assert kept.read_bytes() == whole
    assert len(reads) == 5


def test_other_weights_have_a_graph_of_their_own(weights, tmp_path):
    path, _ = weights
    assert efficientnet.load_graph(path, tmp_path / "cache") == b"first"
    path.write_bytes(b"second")
    assert efficientnet.load_graph(path, tmp_path / "cache") == b"second"


def test_folder_that_cannot_be_written_is_no_error(weights, tmp_path, caplog):
    path, _ = weights
    (tmp_path / "cache").write_text("a file")
    with caplog.at_level("INFO"):
        assert efficientnet.load_graph(path, tmp_path / "cache") == b"first"
    assert "not kept" in caplog.text


def test_weights_of_another_network_are_refused():
    for weights in ({}, {"_conv_stem.weight": np.zeros((32, 3, 3, 3))}):
        with pytest.raises(InputError, match="w.pth has not the weights of efficientnet-lite0"):
            efficientnet.build_graph(weights, "w.pth")
