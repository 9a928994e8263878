"""TSPO's network with random weights, against a literal NumPy forward pass, and its two ways of choosing."""

import math

import numpy as np
import pytest
import torch

import framesift as fs
from framesift.encoders import temporal

DIM, HEADS = 16, 8


def random_state(seed=0, prefix="selector.", dim=DIM):
    """The tensors of the published checkpoint: the network's, a layer it does not use, and some of CLIP's."""
    rng = np.random.default_rng(seed)

    def some(*shape):
        return torch.from_numpy((0.3 * rng.standard_normal(shape)).astype(np.float32))

    layers = (*(f"temporal.{layer}" for layer in ("Self_q", "Self_k", "Self_v", "ffn_o")), "mlp.0", "mlp.2")
    state = {f"{prefix}{layer}.weight": some(dim, dim) for layer in layers}
    state |= {f"{prefix}{layer}.bias": some(dim) for layer in layers}
    clip = "vision_model.encoder.layers.0."
    return {f"{clip}self_attn.q_proj.weight": some(4, 4), f"{clip}mlp.fc1.weight": some(8, 4)} | state


def literal(frames, state, prefix="selector."):
    """One frame and one head at a time, in float64."""
    w = {name.removeprefix(prefix): tensor.numpy().astype(np.float64) for name, tensor in state.items()}
    n, dim = frames.shape
    x = frames.astype(np.float64).copy()
    for i in range(n):
        for d in range(dim):
            angle = i / n / 10_000 ** ((d - d % 2) / dim)
            x[i, d] += math.cos(angle) if d % 2 else math.sin(angle)
    q, k, v = (x @ w[f"temporal.Self_{p}.weight"].T + w[f"temporal.Self_{p}.bias"] for p in "qkv")
    size = dim // HEADS
    seen = np.zeros_like(x)
    for i in range(n):
        near = slice(max(0, i - 6), min(n, i + 6))
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            powers = np.exp(k[near, part] @ q[i, part] / math.sqrt(size))
            seen[i, part] = powers @ v[near, part] / powers.sum()
    wide = np.maximum(seen @ w["mlp.0.weight"].T + w["mlp.0.bias"], 0.0)
    return frames + wide @ w["mlp.2.weight"].T + w["mlp.2.bias"]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("count", [1, 2, 12, 13, 1100])
def test_forward_pass_matches_a_literal_implementation(count):
    state = random_state(count)
    frames = (10 * unit(np.random.default_rng(count).standard_normal((count, DIM)))).astype(np.float32)
    ours = temporal.TemporalNetwork("random", state).embed(frames)
    np.testing.assert_allclose(ours, literal(frames, state), atol=1e-4)


@pytest.mark.parametrize("choose", ["top", "bins"])
@pytest.mark.parametrize(("count", "budget"), [(1, 1), (9, 4), (100, 32)])
def test_selection_follows_the_description(count, budget, choose):
    rng = np.random.default_rng(count)
    frames, query = 3 * rng.standard_normal((count, DIM)), unit(rng.standard_normal(DIM))
    state = random_state()
    score = (unit(literal(frames, state)) @ query + unit(frames) @ query) / 0.025
    size = min(count, budget)
    centres = [round(k * (count - 1) / max(size - 1, 1)) for k in range(size)]
    nearest = np.abs(np.arange(count)[:, None] - centres).argmin(axis=1)
    bins = [np.flatnonzero(nearest == k) for k in range(size)]
    best = {"top": np.argsort(-score)[:size].tolist(), "bins": [max(b, key=lambda i: score[i]) for b in bins]}[choose]
    evidence = fs.Evidence(np.arange(count), float(count), frames, query)
    network, lengths = temporal.TemporalNetwork("random", state), np.linalg.norm(frames, axis=1)
    selection = fs.select_frames(
        evidence, budget=budget, method="tspo", network=network, choose=choose, lengths=lengths
    )
    assert selection.indices == sorted(best)


def test_a_safetensors_file_or_its_folder_is_read(tmp_path):
    from safetensors.torch import save_file

    state = random_state(prefix="multiModal_align.")
    save_file(state, tmp_path / "model.safetensors")
    frames = np.eye(DIM, dtype=np.float32)
    expected = temporal.TemporalNetwork("random", state).embed(frames)
    for path in (tmp_path / "model.safetensors", tmp_path):
        np.testing.assert_array_equal(temporal.load(path).embed(frames), expected)


def test_another_checkpoint_is_refused():
    state = random_state()
    for missing in ("temporal.Self_q.weight", "temporal.Self_v.bias", "mlp.2.weight"):
        other = {name: tensor for name, tensor in state.items() if not name.endswith(missing)}
        with pytest.raises(fs.InputError, match="other has no tensor .*; expected a checkpoint of TSPO's network"):
            temporal.TemporalNetwork("other", other)
    other = state | {"selector.mlp.0.weight": torch.zeros(3, DIM)}
    with pytest.raises(fs.InputError, match=r"mlp.0.weight of other has shape \(3, 16\); expected \(16, 16\)"):
        temporal.TemporalNetwork("other", other)


RANDOM = {"network": temporal.TemporalNetwork("random", random_state())}


@pytest.mark.parametrize(
    ("dim", "options", "message"),
    [
        (DIM, {}, "tspo needs its trained weights"),
        (DIM, RANDOM, "tspo needs the lengths of CLIP's image vectors"),
        (DIM, RANDOM | {"lengths": 0}, "lengths is 0; expected a number above 0, or 3 of them"),
        (DIM, RANDOM | {"lengths": [1.0, 2.0]}, "expected a number above 0, or 3 of them"),
        (DIM, RANDOM | {"lengths": "long"}, "expected a number above 0, or 3 of them"),
        (3, RANDOM | {"lengths": 10}, "the frames have 3 dimensions, random reads 16"),
    ],
)
def test_missing_network_lengths_and_a_wrong_dimension_are_errors(dim, options, message):
    evidence = fs.Evidence(range(3), 3.0, np.eye(3, dim), np.ones(dim))
    with pytest.raises(fs.InputError, match=message):
        fs.select_frames(evidence, budget=2, method="tspo", **options)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bad.safetensors", "can't be read as safetensors .*; save or download it again"),
        ("none.pt", "there is no checkpoint"),
    ],
)
def test_missing_or_damaged_file_is_an_error(tmp_path, name, message):
    (tmp_path / "bad.safetensors").write_bytes(b"no weights")
    with pytest.raises(fs.InputError, match=message):
        temporal.load(tmp_path / name)
