"""A recording from moonshine-voice's wheel, and the speech recognised in it."""

import pytest

from framesift.text.speech import recognise
from helpers.sounds import voice, write_sound


@pytest.fixture(scope="module")
def beckett():
    """Ten seconds: "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better." """
    return voice()


@pytest.fixture(scope="module")
def spoken(tmp_path_factory, beckett):
    return recognise(
        write_sound(tmp_path_factory.mktemp("sound") / "voice.wav", beckett), engine="moonshine", language=None
    )
