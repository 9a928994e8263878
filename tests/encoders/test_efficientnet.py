"""The network's weights, read from torch's old file format without unpickling; test_offline runs the graph."""

import collections
import io
import os
import pickle

import numpy as np
import pytest
import torch

from framesift.encoders.efficientnet import read_tensors


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
    with pytest.raises(KeyError, match="mkdir"):
        read_tensors(tmp_path / "weights.pth")
    assert not (tmp_path / "made").exists()
