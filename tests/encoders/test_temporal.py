"""TSPO's network with random weights, against a literal NumPy forward pass, and its two ways of choosing."""

import math

import numpy as np
import pytest

import framesift as fs
from framesift.encoders import temporal
from framesift.errors import FramesiftError

torch = pytest.importorskip("torch", reason="torch comes with framesift[siglip]")
DIM, HEADS, WINDOW = 16, 8, 12


def random_state(seed=0, prefix="temporal_agent.", dim=DIM):
    rng = np.random.default_rng(seed)

    def some(*shape):
        return torch.from_numpy((0.3 * rng.standard_normal(shape)).astype(np.float32))

    state = {"attn.in_proj_weight": some(3 * dim, dim), "attn.in_proj_bias": some(3 * dim)}
    state |= {"attn.out_proj.weight": some(dim, dim), "attn.out_proj.bias": some(dim)}
    state |= {"mlp.0.weight": some(2 * dim, dim), "mlp.0.bias": some(2 * dim)}
    state |= {"mlp.2.weight": some(dim, 2 * dim), "mlp.2.bias": some(dim)}
    return {prefix + name: tensor for name, tensor in state.items()}


def literal(frames, state, prefix="temporal_agent."):
    """One frame and one head at a time, in float64."""
    w = {name.removeprefix(prefix): tensor.numpy().astype(np.float64) for name, tensor in state.items()}
    n, dim = frames.shape
    x = frames.astype(np.float64).copy()
    for i in range(n):
        for d in range(dim):
            angle = i / 10_000 ** ((d - d % 2) / dim)
            x[i, d] += math.cos(angle) if d % 2 else math.sin(angle)
    packed = x @ w["attn.in_proj_weight"].T + w["attn.in_proj_bias"]
    q, k, v = packed[:, :dim], packed[:, dim : 2 * dim], packed[:, 2 * dim :]
    size = dim // HEADS
    seen = np.zeros_like(x)
    for i in range(n):
        start = i // WINDOW * WINDOW
        near = slice(start, min(start + WINDOW, n))
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            powers = np.exp(k[near, part] @ q[i, part] / math.sqrt(size))
            seen[i, part] = powers @ v[near, part] / powers.sum()
    x = x + seen @ w["attn.out_proj.weight"].T + w["attn.out_proj.bias"]
    wide = x @ w["mlp.0.weight"].T + w["mlp.0.bias"]
    wide = np.vectorize(lambda t: t * (1 + math.erf(t / math.sqrt(2))) / 2)(wide)
    return x + wide @ w["mlp.2.weight"].T + w["mlp.2.bias"]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("count", [1, 2, 11, 12, 13, 50])
def test_forward_pass_matches_a_literal_implementation(count):
    state = random_state(count)
    frames = unit(np.random.default_rng(count).standard_normal((count, DIM))).astype(np.float32)
    ours = temporal.TemporalNetwork("random", state).embed(frames)
    np.testing.assert_allclose(ours, literal(frames, state), atol=2e-5)


def test_attention_matches_torch():
    state = random_state()
    frames = unit(np.random.default_rng(0).standard_normal((WINDOW, DIM))).astype(np.float32)
    attention = torch.nn.MultiheadAttention(DIM, HEADS, batch_first=True)
    attention.load_state_dict({k.split("attn.")[1]: v for k, v in state.items() if "attn." in k})
    x = torch.from_numpy(frames + temporal.positions(WINDOW, DIM))
    with torch.no_grad():
        x = x + attention(x[None], x[None], x[None])[0][0]
        first, second = (lambda y, k=k: torch.nn.functional.linear(y, state[f"temporal_agent.mlp.{k}.weight"], state[f"temporal_agent.mlp.{k}.bias"]) for k in (0, 2))  # fmt: skip  # noqa: E501
        expected = x + second(torch.nn.functional.gelu(first(x)))
    np.testing.assert_allclose(temporal.TemporalNetwork("random", state).embed(frames), expected, atol=1e-5)


@pytest.mark.parametrize("choose", ["top", "bins"])
@pytest.mark.parametrize(("count", "budget"), [(1, 1), (9, 4), (100, 8), (100, 32), (10_000, 32)])
def test_selection_follows_the_description(count, budget, choose):
    rng = np.random.default_rng(count)
    frames, query = unit(rng.standard_normal((count, DIM))), unit(rng.standard_normal(DIM))
    state = random_state()
    score = (unit(literal(frames, state)) @ query + frames @ query) / 0.025
    size = min(count, budget)
    bins = [range(k * count // size, (k + 1) * count // size) for k in range(size)]
    best = {"top": np.argsort(-score)[:size].tolist(), "bins": [max(b, key=lambda i: score[i]) for b in bins]}[choose]
    evidence = fs.Evidence(np.arange(count), float(count), frames, query)
    network = temporal.TemporalNetwork("random", state)
    selection = fs.select_frames(evidence, budget=budget, method="tspo", network=network, choose=choose)
    assert selection.indices == sorted(best)


@pytest.mark.parametrize("name", ["agent.safetensors", "agent.pt", "nested.pt"])
def test_checkpoint_formats_are_read(tmp_path, name):
    from safetensors.torch import save_file

    state = random_state()
    if name.endswith("safetensors"):
        save_file(state, tmp_path / name)
    else:
        torch.save({"state_dict": state} if name.startswith("nested") else state, tmp_path / name)
    frames = np.eye(DIM, dtype=np.float32)
    expected = temporal.TemporalNetwork("random", state).embed(frames)
    np.testing.assert_array_equal(temporal.load(tmp_path / name).embed(frames), expected)


def test_file_with_code_is_refused(tmp_path):
    torch.save({"state_dict": random_state, "more": print}, tmp_path / "bad.pt")
    with pytest.raises(FramesiftError, match="can't be read as plain weights; save it as safetensors"):
        temporal.load(tmp_path / "bad.pt")


@pytest.mark.parametrize(
    ("missing", "message"), [("in_proj_bias", "no tensors named like"), ("mlp.2", "has 1 layers of a perceptron")]
)
def test_another_checkpoint_is_refused(missing, message):
    state = {name: tensor for name, tensor in random_state().items() if missing not in name}
    with pytest.raises(fs.InputError, match=message):
        temporal.TemporalNetwork("other", state)


def test_missing_file_and_wrong_dimension_raise(tmp_path):
    evidence = fs.Evidence(range(3), 3.0, np.eye(3), np.ones(3))
    with pytest.raises(fs.InputError, match="tspo needs its trained weights"):
        fs.select_frames(evidence, budget=2, method="tspo")
    network = temporal.TemporalNetwork("random", random_state())
    with pytest.raises(fs.InputError, match="the frames have 3 dimensions, random reads 16"):
        fs.select_frames(evidence, budget=2, method="tspo", network=network)
    with pytest.raises(fs.InputError, match="there is no checkpoint"):
        temporal.load(tmp_path / "none.pt")
