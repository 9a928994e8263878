"""Packages that are missing or too old."""

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


def test_error_is_explained_by_a_package_that_is_too_old_or_missing(require):
    require("av>=20", "none-such>=1.2", "other; extra == 'x'")
    assert explain_mismatch(AttributeError("no_such")) == (
        "no_such; framesift needs av>=20 (18.1.0 is installed), none-such: pip install -U framesift"
    )
    require("av>=18")
    assert explain_mismatch(AttributeError("no_such")) == ""


def test_unmet_requirements_are_those_of_the_extra_or_of_the_package(require):
    require("av>=19", "none-such", "av>=20; extra == 'x'", "other; extra == 'x'", "more; python_version < '3'")
    assert unmet_requirements() == ["av>=19 (18.1.0 is installed)", "none-such"]
    assert unmet_requirements("x") == ["av>=20 (18.1.0 is installed)", "other"]
