"""The shots of the sample video: a small story about a launch that was put off."""

from dataclasses import dataclass, replace
from typing import Literal

Look = Literal["day", "evening", "night", "archive"]


@dataclass(frozen=True)
class SampleScene:
    """One shot: a photograph of scikit-image, its duration, and the speech over it: (start within it, duration, text).

    title: the text of a title card instead of a photograph. fades: whether it fades in over the shot before.
    crossed_by: a silhouette that moves through the picture.
    """

    photograph: str
    seconds: int
    speech: tuple[tuple[float, float, str], ...] = ()
    look: Look = "day"
    fades: bool = False
    title: str = ""
    crossed_by: str = ""


def shot(photograph: str, seconds: int, text: str = "", *, crossed_by: str = "") -> SampleScene:
    """A shot with one sentence, if any, which starts after a second."""
    speech = ((1.0, min(seconds - 2.0, 5.0), text),) if text else ()
    return SampleScene(photograph, seconds, speech, crossed_by=crossed_by)


def sequence(look: Look, *shots: SampleScene) -> tuple[SampleScene, ...]:
    """Shots of one look, the first of which fades in."""
    return tuple(replace(one, look=look, fades=number == 0) for number, one in enumerate(shots))


COFFEE, CAT, WOMAN, MAN = "coffee.png", "chelsea.png", "astronaut.png", "camera.png"
MOTORCYCLE, OTHER_SIDE, ROCKET = "motorcycle_left.png", "motorcycle_right.png", "rocket.jpg"
WALL, GRASS, GRAVEL, COINS, MOON = "brick.png", "grass.png", "gravel.png", "coins.png", "moon.png"
BOOK, FORMULAS, EYE, GALAXIES = "page.png", "text.png", "retina.jpg", "hubble_deep_field.jpg"

TITLE = "The third attempt"
EXAMPLES = ("Why was the launch put off?", "Where were the coins found?", "What does the cat do?")

SCENES = (
    SampleScene("", 6, title=f"{TITLE}\na day on the ground"),
    *sequence(
        "day",
        shot(COFFEE, 10, "Every morning starts the same way: one cup, no sugar."),
        shot(CAT, 9, "The cat has the window to herself until noon."),
        shot(COFFEE, 7),
        shot(WALL, 6),
        shot(CAT, 10, "She does not care what day it is."),
        shot(BOOK, 10, "I have read this page ten times and still like it."),
        shot(COFFEE, 8),
    ),
    *sequence(
        "day",
        shot(WOMAN, 12, "My sister trained eleven years for six days up there."),
        shot(FORMULAS, 8, "Half of it was mathematics."),
        shot(WOMAN, 9, "Ask her about the noise and she laughs."),
        shot(EYE, 9, "They photograph her eyes before and after every flight."),
        shot(BOOK, 8),
        shot(WOMAN, 10, "The other half was waiting."),
        shot(GALAXIES, 13, "Each of these points is a galaxy of its own."),
        shot(WOMAN, 7),
    ),
    *sequence(
        "day",
        shot(MOTORCYCLE, 10, "I work on engines of another kind."),
        shot(OTHER_SIDE, 8, "This one I took apart twice."),
        shot(GRAVEL, 6),
        shot(MOTORCYCLE, 9, "It still loses oil, but only a little."),
        shot(OTHER_SIDE, 7),
        shot(WALL, 7, "The garage was a stable once."),
        shot(GRASS, 10, "Before the road there were horses here.", crossed_by="horse.png"),
        shot(GRAVEL, 7),
        shot(GRASS, 8, "Трава здесь почти не растёт."),
        shot(MOTORCYCLE, 9),
    ),
    *sequence(
        "archive",
        shot(MAN, 10, "Our father filmed everything, with the same camera."),
        shot(CAT, 7, "Even the cats. This is her grandmother."),
        shot(MAN, 8),
        shot(COINS, 10, "Under the floor of the stable they found the coins."),
        shot(BOOK, 7),
        shot(COINS, 8, "They are in the museum now, all twenty-four."),
        shot(GRASS, 8, crossed_by="horse.png"),
        shot(MOON, 10, "He was seven when they walked on the moon."),
        shot(MAN, 9, "Nobody has been back since seventy-two, he used to say."),
        shot(MOON, 7),
    ),
    *sequence(
        "evening",
        shot(COFFEE, 9, "So now we are here, with a second cup."),
        shot(WOMAN, 9, "She called at noon and sounded calm."),
        shot(FORMULAS, 7),
        shot(GRAVEL, 7),
        shot(CAT, 9, "Кошка всё ещё у окна."),
        shot(MOTORCYCLE, 9, "I rode out to the coast to see it for myself."),
        shot(ROCKET, 6),
        shot(GRASS, 8, "Many others stood in the field with me."),
        shot(GRAVEL, 7),
        SampleScene(MAN, 12, ((4, 6, "The launch was put off because of the wind, for the third time."),)),
        shot(OTHER_SIDE, 9, "So I rode home again, in the dark."),
    ),
    *sequence(
        "night",
        shot(MOON, 14, "From the bridge you could see every crater."),
        shot(GALAXIES, 11, "And behind it all the others."),
        shot(GRAVEL, 7),
        shot(MOTORCYCLE, 9, "The engine ran without a fault, of course."),
        shot(WALL, 7),
        shot(MOON, 9),
        shot(EYE, 8, "My eyes hurt from looking up."),
        shot(CAT, 10, "She had waited at the door, which she would deny."),
        shot(COFFEE, 8),
        shot(GALAXIES, 12),
    ),
    *sequence(
        "day",
        shot(COFFEE, 11, "Next morning: one cup, no sugar."),
        shot(WOMAN, 10, "She said that she sleeps well before a flight."),
        shot(BOOK, 9, "I read the same page to her on the telephone."),
        shot(CAT, 8),
        shot(COINS, 8, "Heads, it flies on Thursday. Tails, on Friday."),
        shot(WALL, 6),
        shot(MOTORCYCLE, 9, "Either way the tank is full."),
        shot(MAN, 10, "And father's camera still works."),
        shot(GRASS, 9, crossed_by="horse.png"),
        shot(CAT, 12, "The cat has the window to herself."),
        shot(MOON, 8),
    ),
    SampleScene("", 6, fades=True, title="The end"),
)
