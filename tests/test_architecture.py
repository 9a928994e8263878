"""The import graph of the package, lazy imports included, and the names defined in it, read from the source."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import framesift
from framesift.pipeline.config import RECORDS

ROOT = Path(framesift.__file__).parent

# From low to high: a module imports from its own layer or a lower one. `framesift/__init__.py` is above them all.
LAYERS = (
    ("errors", "_utils"),
    ("types", "progress"),
    ("video",),
    ("encoders",),
    ("store",),
    ("indexing", "text"),
    ("selection",),
    ("rendering",),
    ("readers",),
    ("pipeline",),
    ("search", "batch", "demo"),
    ("library",),
    ("bench",),
    ("server", "mcp", "corpus", "vllm_loader"),
    ("proxy",),
    ("cli", "__main__"),
)
LAYER_OF = {area: level for level, areas in enumerate(LAYERS) for area in areas}
MOST_DECLARED_AGAIN = 30  # by name; most mean something else, as the fps of a file
IMPORTED_BY_SELECTION = {"selection", "types", "errors", "_utils"}


def test_no_module_imports_from_a_higher_layer():
    assert [(a, b) for a, b in sorted(import_graph()) if layer(a) < layer(b)] == []


def test_no_import_cycles():
    after = defaultdict(set)
    for a, b in import_graph():
        after[a].add(b)
    TopologicalSorter(after).prepare()  # a cycle is an error that lists its modules


def test_selection_imports_only_types_errors_and_utils():
    edges = [edge for edge in sorted(import_graph()) if area(edge[0]) == "selection"]
    assert [edge for edge in edges if area(edge[1]) not in IMPORTED_BY_SELECTION] == []


def test_no_two_classes_or_type_aliases_share_a_name():
    homes = defaultdict(list)
    for module, path in modules().items():
        for name in type_names(path):
            homes[name.lstrip("_")].append(module)
    shared = {name: places for name, places in homes.items() if len(places) > 1}
    assert shared == {}


def test_functions_outside_selection_have_at_most_eight_parameters():
    wide = {
        f"{module}.{node.name}"
        for module, node in functions()
        if area(module) != "selection" and len({arg.arg for arg in arguments(node)} - {"self", "cls"}) > 8
    }
    assert wide == set()


def test_settings_are_declared_once():
    homes = {record.__module__ for record in RECORDS.values()}
    names = {field.name for record in RECORDS.values() for field in fields(record)}
    again = []
    for module, node in functions():
        given = node.args
        named = [*given.posonlyargs, *given.args]
        values = [*zip(named[len(named) - len(given.defaults) :], given.defaults, strict=True)]
        values += [pair for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True) if pair[1] is not None]
        again += [f"{module}.{node.name}: {arg.arg}" for arg, value in values if arg.arg in names and is_own(value)]
    for module, path in modules().items():
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not (module in homes and node.name.endswith("Settings")):
                lines = [line for line in node.body if isinstance(line, ast.AnnAssign) and line.value is not None]
                again += [f"{module}.{node.name}: {ast.unparse(line.target)}" for line in lines if is_own(line.value)]
    outside = [text for text in again if area(text.partition(":")[0]) != "selection" and text.split(": ")[1] in names]
    assert len(outside) <= MOST_DECLARED_AGAIN, "\n".join(outside)


def is_own(default: ast.expr) -> bool:
    """Whether a default has a value of its own: not that of a settings' record, and not "nothing was given"."""
    if isinstance(default, ast.Constant) and default.value in (None, ""):
        return False
    return not ast.unparse(default).startswith(tuple(f"{record.__name__}." for record in RECORDS.values()))


def test_graph_includes_lazy_imports():
    graph = import_graph()
    assert ("framesift", "framesift.indexing.index") in graph  # the stub of the package
    assert ("framesift.corpus", "framesift.search.search") in graph  # a table and a prefix
    assert ("framesift.selection.registry", "framesift.selection.sift") in graph  # import_module with an f-string
    assert any(area(a) == "cli" and area(b) == "pipeline" for a, b in graph)  # inside functions


@cache
def modules() -> dict[str, Path]:
    """Module name → file."""
    names = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("framesift", *path.relative_to(ROOT).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def parse(path: Path) -> ast.Module:
    stub = path.with_suffix(".pyi")  # of the package: the names that it loads when they are used
    return ast.parse((stub if stub.exists() else path).read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(parse(path)))


@cache
def import_graph() -> frozenset[tuple[str, str]]:
    """Every (importing module, imported module); that a module runs its packages' `__init__` is left out."""
    edges = {(name, target) for name, path in modules().items() for target in imported(name, nodes(path))}
    return frozenset((a, b) for a, b in edges if a != b)


def imported(name: str, parts: list[ast.AST]) -> Iterator[str]:
    texts = [node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for node in parts:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            for alias in node.names:
                targets = (f"{node.module}.{alias.name}", str(node.module))
                yield from [target for target in targets if target in modules()][:1]
        elif isinstance(node, ast.Call) and called(node).endswith("import_module"):
            # A name put together from a prefix and a table: every text of the file that completes it.
            prefix = constant_prefix(node.args[0], name)
            yield from (prefix + text for text in texts if prefix and prefix + text in modules())
    # A module named whole, as in "framesift.batch.worker:Work"; the package around this module is only a prefix.
    for text in texts:
        target = text.partition(":")[0]
        if target in modules() and not f"{name}.".startswith(f"{target}."):
            yield target


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def constant_prefix(argument: ast.expr, name: str) -> str:
    """What an f-string begins with, before its first part that varies; empty for anything else."""
    text = ast.unparse(argument)
    return text[2:-1].replace("{__name__}", name).partition("{")[0] if isinstance(argument, ast.JoinedStr) else ""


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for module, path in modules().items():
        yield from ((module, n) for n in nodes(path) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def type_names(path: Path) -> Iterator[str]:
    """Classes at any depth, and type aliases and type variables at the top."""
    yield from (node.name for node in nodes(path) if isinstance(node, ast.ClassDef))
    for node in parse(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (target.id for target in targets if isinstance(target, ast.Name))
            yield from (found for found in names if re.fullmatch(r"_*[A-Z]([a-z]\w*)?", found))


def area(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def layer(module: str) -> int:
    return LAYER_OF[area(module)] if "." in module else len(LAYERS)
