"""The network's weights, read from torch's old file format without unpickling; test_offline runs the graph."""

import collections
import os
import pickle

import numpy as np
import pytest
import torch

from framesift.encoders.efficientnet import read_tensors


def test_tensors_are_those_that_torch_saved(tmp_path):
    values = torch.arange(24, dtype=torch.float32)
    saved = collections.OrderedDict(
        whole=values.reshape(2, 3, 4), turned=values.reshape(4, 6).T, part=values[5:9], count=torch.tensor(7)
    )
    saved._metadata = {"": {"version": 1}}
    torch.save(saved, tmp_path / "weights.pth", _use_new_zipfile_serialization=False)
    tensors = read_tensors(tmp_path / "weights.pth")
    assert list(tensors) == list(saved)
    for name, values in saved.items():
        assert tensors[name].dtype == values.numpy().dtype
        np.testing.assert_array_equal(tensors[name], values.numpy())


class Command:
    def __reduce__(self):
        return os.mkdir, ("made",)


def test_a_call_in_the_file_is_not_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.pth").write_bytes(pickle.dumps(Command(), protocol=2) * 5)
    with pytest.raises(KeyError, match="mkdir"):
        read_tensors(tmp_path / "weights.pth")
    assert not (tmp_path / "made").exists()
