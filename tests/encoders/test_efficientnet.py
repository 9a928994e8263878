"""The network's weights, read from torch's old file format without unpickling; test_offline runs the graph."""

import collections
import io
import os
import pickle

import numpy as np
import pytest
import torch

from framesift.encoders.efficientnet import build_graph, read_tensors
from framesift.errors import InputError


@pytest.fixture(scope="module")
def saved():
    """A file as torch writes it, and its tensors."""
    values = torch.arange(24, dtype=torch.float32)
    tensors = collections.OrderedDict(
        whole=values.reshape(2, 3, 4), turned=values.reshape(4, 6).T, part=values[5:9], count=torch.tensor(7)
    )
    tensors._metadata = {"": {"version": 1}}
    file = io.BytesIO()
    torch.save(tensors, file, _use_new_zipfile_serialization=False)
    return file.getvalue(), {name: tensor.numpy() for name, tensor in tensors.items()}


def test_tensors_are_those_that_torch_saved(saved, tmp_path):
    data, wanted = saved
    (tmp_path / "weights.pth").write_bytes(data)
    tensors = read_tensors(tmp_path / "weights.pth")
    assert list(tensors) == list(wanted)
    for name, values in wanted.items():
        assert tensors[name].dtype == values.dtype
        np.testing.assert_array_equal(tensors[name], values)


class Command:
    def __reduce__(self):
        return os.mkdir, ("made",)


def test_a_call_in_the_file_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.pth").write_bytes(pickle.dumps(Command(), protocol=2) * 5)
    with pytest.raises(InputError, match="has not the weights"):
        build_graph(tmp_path / "weights.pth")
    assert not (tmp_path / "made").exists()


def test_other_and_damaged_files_are_refused_in_one_sentence(saved, tmp_path):
    data, _ = saved
    at = data.index(b"K\x05K\x04\x85")  # the offset and the shape of `part`
    outside = data[:at] + b"K\x15" + data[at + 2 :]
    cut = [data[: k * len(data) // 20] for k in range(20)]
    for content in (b"PK\x03\x04", b"\x80\x02.", b"\x80\x02." * 5, outside, data, *cut):
        (tmp_path / "weights.pth").write_bytes(content)
        with pytest.raises(InputError, match="weights.pth has not the weights of efficientnet-lite0") as caught:
            build_graph(tmp_path / "weights.pth")
        assert "\n" not in str(caught.value)
