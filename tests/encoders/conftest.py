"""Pictures and tiny checkpoints that several files of this folder use."""

import numpy as np
import pytest

from helpers import tiny_checkpoints


@pytest.fixture(scope="session")
def images():
    """Five uint8 images of different shapes."""
    rng = np.random.default_rng(0)
    sizes = [(48, 64), (64, 48), (32, 32), (90, 40), (50, 50)]
    return [rng.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in sizes]


@pytest.fixture(scope="session", params=["siglip", "siglip2", "clip"])
def family(request):
    return request.param


@pytest.fixture(scope="session")
def checkpoint(family, tmp_path_factory):
    """A folder as the hub would give it."""
    folder = tmp_path_factory.mktemp(family)
    tiny_checkpoints.SAVE[family](folder)
    return folder
