"""Packages that are missing, too old or too new."""

import av
import pytest

from framesift._utils import requirements
from framesift._utils.requirements import explain_mismatch, unmet_requirements


@pytest.fixture
def require(monkeypatch):
    """Set what framesift requires; av 18.1.0 is installed, and nothing else."""

    def set_requirements(*lines):
        monkeypatch.setattr(requirements, "requires", lambda _: list(lines))

    monkeypatch.setattr(requirements, "installed_version", {"av": "18.1.0"}.get)
    return set_requirements


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    "use",
    [
        lambda: av.open("a.mp4", no_such_option=1),
        lambda: av.no_such_function(),
        lambda: av.Packet(3).no_such_method(),
        lambda: __import__("av.codec", fromlist=["no_such_name"]).no_such_name,
        lambda: __import__("av.no_such_module"),
    ],
)
def test_too_new_package_is_named_with_the_last_major_version(use, require):
    require("numpy>=1", "av>=16.1")
    error = error_of(use)
    expected = f"av 18.1.0 is installed, which is too new ({error}); expected av>=16.1,<18: pip install 'av>=16.1,<18'"
    assert explain_mismatch(error) == expected


def test_too_old_and_missing_packages_are_named(require):
    require("av>=20", "none-such>=1.2; extra == 'speech'")
    too_old = "av 18.1.0 is installed; expected av>=20: pip install 'av>=20'"
    assert explain_mismatch(error_of(lambda: av.no_such_function())) == too_old
    missing = "none-such is not installed; expected none-such>=1.2: pip install 'none-such>=1.2'"
    assert explain_mismatch(error_of(lambda: __import__("none_such"))) == missing


def test_other_errors_are_not_explained(require):
    require("av>=18", "numpy>=1")
    for use in (
        lambda: av.no_such_function,
        lambda: None.strip,
        lambda: len(3),
        lambda: int("a"),
        lambda: __import__("nil"),
    ):
        assert explain_mismatch(error_of(use)) == ""


def test_unmet_requirements_are_those_of_the_extra_or_of_the_package(require):
    require("av>=19", "none-such", "av>=20; extra == 'x'", "other; extra == 'x'", "more; python_version < '3'")
    assert unmet_requirements() == ["av>=19 (18.1.0 is installed)", "none-such"]
    assert unmet_requirements("x") == ["av>=20 (18.1.0 is installed)", "other"]
