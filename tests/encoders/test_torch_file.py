"""Tensors of torch's old file format: everything else in such a file is refused."""

import collections
import io
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.encoders.torch_file import MAGIC, PROTOCOL, read_tensors
from framesift.errors import InputError
from helpers.examples import examples

HEADER = [MAGIC, PROTOCOL, {"protocol_version": PROTOCOL, "little_endian": True}]


def write(path, *values, data=b""):
    path.write_bytes(b"".join(pickle.dumps(value, protocol=2) for value in values) + data)
    return path


@pytest.fixture(scope="module")
def saved():
    """A file as torch writes it, and its tensors."""
    torch = pytest.importorskip("torch", reason="torch comes with framesift[siglip]")
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


@pytest.mark.parametrize("place", range(5))
def test_a_call_in_any_of_the_pickles_is_refused_and_not_made(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = [*HEADER, {}, []]
    values[place] = Command()
    with pytest.raises(InputError, match=r"is not a file of tensors alone"):
        read_tensors(write(tmp_path / "weights.pth", *values))
    assert not (tmp_path / "made").exists()


def test_other_kinds_of_file_are_refused_in_one_sentence(tmp_path):
    for data in (b"", b"PK\x03\x04", b"\x80\x02.", b"\x80\x04\x95", os.urandom(64)):
        (tmp_path / "weights.pth").write_bytes(data)
        with pytest.raises(InputError, match="install its package again") as caught:
            read_tensors(tmp_path / "weights.pth")
        assert "\n" not in str(caught.value)


def test_values_other_than_tensors_are_refused(tmp_path):
    for value in ({"x": 1}, [1], "x", {"x": {"y": ()}}):
        with pytest.raises(InputError):
            read_tensors(write(tmp_path / "weights.pth", *HEADER, value, []))


def test_a_tensor_outside_its_storage_is_refused(saved, tmp_path):
    data, _ = saved
    at = data.index(b"K\x05K\x04\x85")  # the offset and the shape of `part`
    (tmp_path / "weights.pth").write_bytes(data[:at] + b"K\x15" + data[at + 2 :])
    with pytest.raises(InputError, match="outside its storage"):
        read_tensors(tmp_path / "weights.pth")


@settings(max_examples=examples(150))
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_damage_gives_tensors_or_one_error(saved, tmp_path_factory, where, byte, cut):
    data, wanted = saved
    at = int(where * len(data))
    path = tmp_path_factory.getbasetemp() / "damaged.pth"
    path.write_bytes(data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :])
    try:
        tensors = read_tensors(path)
    except InputError:
        return
    assert all(isinstance(values, np.ndarray) for values in tensors.values())
    assert sum(values.size for values in tensors.values()) <= len(wanted) * len(data)
