"""ONNX files written and read without the onnx package; onnxruntime reads and runs what is written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framesift.encoders.onnx_file import Graph, read_tensors
from framesift.errors import InputError
from helpers.examples import examples


def small_graph():
    graph = Graph("small")
    x = graph.input("x", np.float32, "n", 300)
    weights = graph.constant(np.arange(600, dtype=np.float32).reshape(300, 2) / 600)
    graph.add(
        "MatMul", graph.add("Transpose", graph.add("Transpose", x, perm=(1, 0)), perm=(1, 0)), weights, output="y"
    )
    graph.add("Cast", graph.constant(np.array([-128, 127], np.int8)), output="z", to=7)
    graph.output("y", np.float32, "n", 2)
    graph.output("z", np.int64, 2)
    return graph.to_bytes()


def test_onnxruntime_runs_a_written_graph():
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime comes with framesift[offline]")
    session = onnxruntime.InferenceSession(small_graph(), providers=["CPUExecutionProvider"])
    x = np.ones((5, 300), np.float32)
    y, z = session.run(["y", "z"], {"x": x})
    np.testing.assert_allclose(y, x @ np.arange(600).reshape(300, 2) / 600, rtol=1e-5)
    assert z.tolist() == [-128, 127]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("graph") / "small.onnx"


def test_written_tensors_are_read_back(file):
    file.write_bytes(small_graph())
    matrix, pair = read_tensors(file).values()
    np.testing.assert_array_equal(matrix, np.arange(600, dtype=np.float32).reshape(300, 2) / 600)
    assert (pair.dtype, pair.tolist()) == (np.int8, [-128, 127])


@settings(max_examples=examples(150))
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), cut=st.booleans())
def test_damage_gives_tensors_or_one_error(file, where, byte, cut):
    data = small_graph()
    at = int(where * len(data))
    file.unlink(missing_ok=True)  # a file that is still mapped keeps its content
    file.write_bytes(data[:at] if cut else data[:at] + bytes([byte]) + data[at + 1 :])
    try:
        tensors = read_tensors(file)
    except InputError:
        return
    assert sum(values.nbytes for values in tensors.values()) <= len(data)


def test_other_kinds_of_file_are_refused_in_one_sentence(tmp_path):
    for data in (b"", b"{}", b"\x80\x02.", b"\x3a\xff\xff\xff\xff\x0f"):
        (tmp_path / "small.onnx").write_bytes(data)
        with pytest.raises(InputError, match="small.onnx is not an ONNX file"):
            read_tensors(tmp_path / "small.onnx")
