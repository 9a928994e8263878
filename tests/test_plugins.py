"""Selectors, encoders and readers of other packages: one that is broken costs its own name alone."""

import json

import numpy as np
import pytest

import framesift as fs
from framesift._utils.plugins import find_plugins
from framesift.cli import main
from framesift.encoders.registry import encoders, get_encoder
from framesift.errors import OptionError, PluginError
from framesift.readers.base import get_reader

WORKING = '''
import framesift as fs

def last(evidence, budget, *, skip=0):
    """The last frames."""
    indices = range(len(evidence))[-budget - skip : len(evidence) - skip]
    return fs.Selection(tuple(fs.Slot(i, evidence.times_s[i], "context", 0.0) for i in indices), "other", budget)

class Grey:
    """Encodes nothing."""
    name, dim = "grey", 2
    def __init__(self, device="auto"): ...
    def encode_images(self, images): ...
    def encode_texts(self, texts): ...

class Parrot:
    def __init__(self, words="B"): self.words = words
    def answer(self, exhibit, question, text_mode): return fs.Answer(self.words)
'''

# Name of the entry point → its object, and a part of the reason that is given.
BROKEN = {
    "gone": ("no_such_module:thing", "No module named 'no_such_module'"),
    "empty": ("working:missing", "no attribute 'missing'"),
    "exits": ("exits:thing", "SystemExit: 3"),
    "raises": ("raises:thing", "ZeroDivisionError"),
    "number": ("wrong:number", "is of type int"),
    "module": ("wrong", "is of type module"),
    "invalid": ("working last", "can't be loaded"),
    "a b": ("working:last", "a name that is not made of letters"),
}
SOURCES = {
    "working": WORKING,
    "exits": "import sys\nsys.exit(3)",
    "raises": "1 / 0",
    "wrong": "number = 3\ndef narrow(evidence): ...\ndef strict(evidence, budget, *, size): ...",
}


@pytest.fixture
def broken(packages):
    """A package whose plug-ins of all three kinds are broken, and one whose work."""
    lines = "\n".join(f"{name} = {value}" for name, (value, _) in BROKEN.items())
    groups = ("selectors", "encoders", "readers")
    packages.install("bad-package", "\n".join(f"[framesift.{group}]\n{lines}\n" for group in groups), **SOURCES)
    names = {"selectors": "last", "encoders": "Grey", "readers": "Parrot"}
    working = "\n".join(f"[framesift.{group}]\nworks = working:{name}\n" for group, name in names.items())
    packages.install("good-package", working)
    return packages


def evidence(count=6):
    return fs.Evidence(np.arange(count, dtype=float), float(count), np.eye(count), np.ones(count))


# What is listed as the problem of a plug-in, and its use.
KINDS = {
    "selector": (
        lambda name: fs.selectors()[name].problem,
        lambda name: fs.select_frames(evidence(), budget=2, method=name),
    ),
    "encoder": (lambda name: encoders()[name].why_not, get_encoder),
    "reader": (lambda name: fs.readers()[name], get_reader),
}


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("kind", KINDS)
def test_broken_plugins_are_listed_with_the_reason_which_their_use_repeats(kind):
    problem, use = KINDS[kind]
    for name, (_, reason) in BROKEN.items():
        assert reason in problem(name) and not encoders()[name].available, name
        with pytest.raises(PluginError, match="bad-package"):
            use(name)


@pytest.mark.usefixtures("broken")
def test_plugins_beside_broken_ones_work(capsys):
    selection = fs.select_frames(evidence(), budget=2, method="works", skip=1)
    assert (selection.indices, selection.method) == ([3, 4], "works")
    assert fs.select_frames(evidence(), budget=2, method="gcr").method == "gcr"
    assert (encoders()["works"].summary, get_encoder("works").dim) == ("Encodes nothing.", 2)
    assert (fs.readers()["works"], get_reader("works", words="C").words) == ("from good-package", "C")
    with pytest.raises(OptionError, match="works has no option 'volume'; its options are words = 'B'"):
        get_reader("works", volume=3)
    assert main(["selectors"]) == 0
    assert "works            The last frames." in (listing := capsys.readouterr().out)
    assert "gone             can't be used: the selector 'gone' of bad-package can't be loaded (Module" in listing


@pytest.mark.usefixtures("broken")
def test_doctor_names_every_plugin_with_its_reason(capsys, tmp_path):
    assert main(["doctor", "--json", "--store", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)["plugins"]
    problems = {(row["kind"], row["name"]): row["problem"] for row in rows}
    for kind in KINDS:
        assert problems[kind, "works"] == ""
        assert all(reason in problems[kind, name] for name, (_, reason) in BROKEN.items())


@pytest.mark.usefixtures("broken")
def test_index_command_with_a_broken_encoder_is_one_sentence(capsys, tmp_path):
    (tmp_path / "video.mp4").touch()
    assert main(["index", "--encoder", "exits", str(tmp_path / "video.mp4")]) == 2
    message = capsys.readouterr().err
    assert "'exits' of bad-package can't be loaded (SystemExit: 3)" in message and message.count("\n") == 1


def test_selector_with_other_parameters_is_refused(packages):
    entries = "[framesift.selectors]\nnarrow = wrong:narrow\nstrict = wrong:strict"
    packages.install("odd", entries, wrong=SOURCES["wrong"])
    assert "too many positional arguments" in fs.selectors()["narrow"].problem
    assert "'size'" in fs.selectors()["strict"].problem


def test_of_two_plugins_with_one_name_the_first_package_by_name_is_used(packages):
    for package in ("zebra", "antelope"):
        source = {f"of_{package}": f'def run(evidence, budget):\n    """Of the {package}."""'}
        packages.install(package, f"[framesift.selectors]\nmine = of_{package}:run", **source)
    assert fs.selectors()["mine"].summary == "Of the antelope."
    assert [(p.package, p.problem) for p in find_plugins("selector", ())] == [
        ("antelope", ""),
        ("zebra", "the selector 'mine' of zebra has the name of one of antelope, which is used instead"),
    ]


def test_plugin_does_not_replace_a_built_in(packages):
    entries = "[framesift.selectors]\ngcr = working:last\n[framesift.encoders]\nsiglip = working:Grey\n"
    packages.install("thief", entries + "[framesift.readers]\nsimilarity = working:Parrot\n", working=WORKING)
    assert fs.selectors()["gcr"].paper
    assert encoders()["siglip"].summary.startswith("SigLIP SoViT-400m")
    assert "needs no model" in fs.readers()["similarity"]
    assert "has the name of a built-in selector" in find_plugins("selector", {"gcr"})[0].problem


def test_unreadable_entry_points_leave_what_is_built_in(packages, caplog):
    packages.install("torn", "[framesift.selectors]\nno equals sign\n")
    assert "gcr" in fs.selectors()
    assert "the entry points of an installed package are invalid" in caplog.text


def test_older_copy_of_a_package_is_ignored(packages):
    packages.install("mine", "[framesift.selectors]\nlast = working:last\n", working=WORKING)
    packages.install("mine", "[framesift.selectors]\nlast = old:last\n", version="0.9")
    assert len(find_plugins("selector", ())) == 1


def test_object_without_the_members_of_its_kind_is_refused(packages):
    entries = "hollow = hollow:make\nbursts = hollow:burst\n"
    source = "def make(device=''): return 3\ndef burst(device=''): raise SystemExit"
    packages.install("hollow", f"[framesift.encoders]\n{entries}[framesift.readers]\n{entries}", hollow=source)
    with pytest.raises(PluginError, match="the reader 'hollow' of hollow has no answer"):
        get_reader("hollow")
    for call in (get_encoder, get_reader):
        with pytest.raises(PluginError, match=r"'bursts' of hollow can't be created \(SystemExit\)"):
            call("bursts")
