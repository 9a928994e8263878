"""Seeded mutations of files: the same seed gives the same bytes on any machine.

`mutations(kind, data, count, seed)` yields a description and the mutated bytes of a valid file. kind: one of KINDS.
A quarter of the mutations of a structured file are those of its bytes, the others change one value of its records.
"""

import csv
import io
import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

DEPTH = 20_000  # deeper than any parser recurses
# Values that a field may turn out to hold; texts of the second list are written as JSON as they stand.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.5, -0.0, 1e308, 2**31, 2**63, 2**64, -(2**63), 10**30, float("nan"), float("inf"),
    float("-inf"), "", " ", "x", "1", "0:01", "1:02:03.5", "nan", "-inf", "1e400", "1_000", "٣", "²", "½", "A", "None",
    "a\x00b", "a\nb", "\ud800", "ok \udcff", "\U0001f600", "\u202eabc", "\ufeff", "../../../etc/passwd", "/", "http://[",
    "x" * 5000, [], {}, [[]], [{}], [None], ["x"], [1, 2], [1, "2", None], [[0, 1]], [[1]], {"a": 1}, {"": None},
    {"text": "x"}, [float("nan")], list(range(300)), {"a": {"b": {"c": [1, {"d": None}]}}},
)  # fmt: skip
RAW_VALUES = ("9" * 5000, "-" + "9" * 400, "1e999", "[" * DEPTH + "]" * DEPTH, "[" * 300 + "]" * 300, "{", "", "NaN")
YAML_LINES = (
    b"a: &a [*a]", b"? [1, 2]\n: 3", b"!!python/name:os.system x", b"2026-01-01: 1", b"- 1", b"<<: 1", b"\t x", b"1: 2",
    b"x: " + b"[" * 2000, b"x: 0o7_7", b"x: .nan",
)  # fmt: skip
_RAW = "@raw value@"

Rng = random.Random


def mutations(kind: str, data: bytes, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Yield `count` mutations of a valid file of this kind."""
    for k in range(count):
        rng = random.Random(f"{kind} {seed} {k}")  # noqa: S311 (not a secret)
        mutate = mutate_bytes if kind == "bytes" or rng.random() < 0.25 else KINDS[kind]
        name, mutated = mutate(data, rng)
        yield f"{kind} seed {seed} number {k}: {name}", mutated


def mutate_bytes(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change, remove, insert or repeat bytes, a digit or lines, or replace the whole file or its encoding."""
    data = data or b"\0"
    start, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    at = rng.randrange(len(data) + 1)
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 3, 20))):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    inserted = rng.choice(
        (b"\0", b"\0" * 64, b"\xff\xfe", b"\xef\xbb\xbf", b'"', b",", b"\n", b"}", b"[", b"\xed\xa0\x80")
    )
    whole = rng.choice(
        (b"", b"\n", b"null", b"[]", b"{}", b"1", b'"x"', b"\0" * 100, b"\xef\xbb\xbf", b"-", b"a: [", b"*x")
    )
    digit = rng.choice([k for k, byte in enumerate(data) if 48 <= byte <= 57] or [at])
    odd = rng.choice((b"", b"-", b"9" * 400, b"nan", b"1e999", b"\xd9\xa3", b".", b":", b"99:99:99"))
    encoding = rng.choice(("utf-16", "utf-16-be", "utf-32", "cp1251", "shift_jis", "gb18030", "utf-7", "cp037"))
    lines = data.split(b"\n")
    choices = {
        "truncated": data[:at],
        "start removed": data[at:],
        "slice removed": data[:start] + data[end:],
        "slice repeated": data[:end] + data[start:],
        "bits flipped": bytes(flipped),
        f"{inserted!r} inserted": data[:at] + inserted + data[at:],
        "byte order mark": b"\xef\xbb\xbf" + data,
        f"all of it {whole!r}": whole,
        f"{odd!r} in place of a digit": data[:digit] + odd + data[digit + 1 :],
        f"in {encoding}": data.decode("utf-8", "replace").encode(encoding, "replace"),
        "lines shuffled": b"\n".join(rng.sample(lines, len(lines))),
        "line ends removed": data.replace(b"\n", b""),
        "old Mac line ends": data.replace(b"\n", b"\r"),
        "nested": b"[" * DEPTH + data,
        "quotes removed": data.replace(b'"', b"", rng.choice((1, -1))),
    }
    name = rng.choice(list(choices))
    return name, choices[name]


def mutate_json(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change one value of a JSON document, or its place in it."""
    tree = [json.loads(data)]
    name, raw = _mutate_tree(tree, rng)
    return name, _dump_json(tree[0], rng, raw)


def mutate_jsonl(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change one value of one line, or repeat, remove or exchange lines."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    at = rng.randrange(len(lines))
    kind = rng.choice(("value",) * 8 + ("repeated", "removed", "joined", "odd"))
    if kind == "value":
        name, lines[at] = mutate_json(lines[at], rng)
        return f"line {at + 1}: {name}", b"\n".join(lines)
    if kind == "repeated":
        lines.insert(rng.randrange(len(lines)), lines[at])
    elif kind == "removed":
        del lines[at]
    elif kind == "joined":
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    else:
        lines[at] = _dump_json(rng.choice(ODD_VALUES), rng)
    return f"line {at + 1} {kind}", b"\n".join(lines)


def mutate_csv(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change one cell, row or column, or their places."""
    tree: list[Any] = [list(csv.reader(io.StringIO(data.decode(), newline="")))]
    name, raw = _mutate_tree(tree, rng)
    table = tree[0] if isinstance(tree[0], list) else [tree[0]]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=rng.choice(("\n", "\r\n")))
    for row in table:
        cells = row if isinstance(row, list) else [row]
        texts = (cell if isinstance(cell, str) else json.dumps(cell) for cell in cells)
        writer.writerow(text.replace(_RAW, raw) for text in texts)
    return name, out.getvalue().encode("utf-8", "surrogatepass")


def mutate_yaml(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change one value of a YAML document; now and then into what only YAML has."""
    import yaml

    if rng.random() < 0.3:
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        lines[at : at + rng.randrange(2)] = [rng.choice(YAML_LINES)]
        return f"line {at + 1} of YAML's own", b"\n".join(lines)
    tree = [yaml.safe_load(data)]
    name, _ = _mutate_tree(tree, rng)
    return name, yaml.safe_dump(tree[0], allow_unicode=True).encode("utf-8", "surrogatepass")


def mutate_safetensors(data: bytes, rng: Rng) -> tuple[str, bytes]:
    """Change the header of a safetensors file, shapes, types, offsets, names or its length, or a bit of a value."""
    length = int.from_bytes(data[:8], "little")
    kind = rng.random()
    if kind < 0.3:
        changed = bytearray(data)
        changed[at := rng.randrange(8 + length, len(data))] ^= 1 << rng.randrange(8)
        return f"bit of byte {at} of {len(data)}", bytes(changed)
    if kind < 0.5:
        odd = rng.choice((0, length - 1, length + 1, 2**31, 2**63, 2**64 - 1))
        return f"header length {odd}", odd.to_bytes(8, "little") + data[8:]
    name, header = mutate_json(data[8 : 8 + length], rng)
    return name, len(header).to_bytes(8, "little") + header + data[8 + length :]


KINDS: dict[str, Callable[[bytes, Rng], tuple[str, bytes]]] = {
    "bytes": mutate_bytes,
    "json": mutate_json,
    "jsonl": mutate_jsonl,
    "csv": mutate_csv,
    "yaml": mutate_yaml,
    "safetensors": mutate_safetensors,
}


def _mutate_tree(tree: list[Any], rng: Rng) -> tuple[str, str]:
    """Change one value below `tree` in place; its description, and the raw JSON that takes the place of _RAW."""
    places = list(_places(tree))
    holder, key, path = rng.choice(places)
    value = holder[key]
    kind = rng.choice(
        ("odd",) * 6 + ("raw", "removed", "renamed", "swapped", "wrapped", "as text", "repeated", "emptied")
    )
    if kind == "odd":
        holder[key] = rng.choice(ODD_VALUES)
        return f"{path} = {str(holder[key])[:40]!r}", ""
    if kind == "raw":
        holder[key] = _RAW
        return f"{path} = raw", rng.choice(RAW_VALUES)
    if kind == "removed" and holder is not tree:
        del holder[key]
    elif kind == "renamed" and isinstance(holder, dict):
        holder[rng.choice(("x", str(key).upper(), f"{key} ", "", "\ud800"))] = holder.pop(key)
    elif kind == "swapped":
        other, other_key, _ = rng.choice(places)
        # Copies: exchanging a value with one inside it makes no cycle.
        holder[key], other[other_key] = deepcopy(other[other_key]), deepcopy(value)
    elif kind == "as text":
        holder[key] = value if isinstance(value, str) else json.dumps(value)
    elif kind == "repeated" and isinstance(value, list):
        holder[key] = value * rng.choice((2, 200))
    elif kind == "emptied" and isinstance(value, list | dict | str):
        holder[key] = type(value)()
    else:
        kind = "wrapped"
        holder[key] = rng.choice(([value], {"value": value}, [[value]]))
    return f"{path} {kind}", ""


def _places(holder: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Every value below a list or dictionary, as its holder, its key there, and its path."""
    for key, value in list(enumerate(holder) if isinstance(holder, list) else holder.items()):
        place = f"{path}[{key!r}]"
        yield holder, key, place
        if isinstance(value, list | dict):
            yield from _places(value, place)


def _dump_json(value: Any, rng: Rng, raw: str = "") -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if raw or _RAW in text:
        text = text.replace(f'"{_RAW}"', raw)
    if rng.random() < 0.05:  # a key that occurs twice
        text = text.replace("{", '{"id": 1, "schema": [], ', 1)
    return text.encode("utf-8", "surrogatepass")
