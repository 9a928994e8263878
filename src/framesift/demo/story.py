"""The shots of the sample video: a small story about a launch that was put off."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TITLE = "The third attempt"
TITLE_CARD = "title"  # in place of a photograph
EXAMPLES = ("Why was the launch put off?", "Where were the coins found?", "What does the cat do?")

# The look of a sequence, then its shots: the photograph, seconds, when something is said, if not after a second, and
# what; or the text of a title card.
STORY = """
day
title 6 The third attempt / a day on the ground

day
coffee.png 10 Every morning starts the same way: one cup, no sugar.
chelsea.png 9 The cat has the window to herself until noon.
coffee.png 7
brick.png 6
chelsea.png 10 She does not care what day it is.
page.png 10 I have read this page ten times and still like it.
coffee.png 8

day
astronaut.png 12 My sister trained eleven years for six days up there.
text.png 8 Half of it was mathematics.
astronaut.png 9 Ask her about the noise and she laughs.
retina.jpg 9 They photograph her eyes before and after every flight.
page.png 8
astronaut.png 10 The other half was waiting.
hubble_deep_field.jpg 13 Each of these points is a galaxy of its own.
astronaut.png 7

day
motorcycle_left.png 10 I work on engines of another kind.
motorcycle_right.png 8 This one I took apart twice.
gravel.png 6
motorcycle_left.png 9 It still loses oil, but only a little.
motorcycle_right.png 7
brick.png 7 The garage was a stable once.
horse.png 10 Before the road there were horses here.
gravel.png 7
grass.png 8 Трава здесь почти не растёт.
motorcycle_left.png 9

archive
camera.png 10 Our father filmed everything, with the same camera.
chelsea.png 7 Even the cats. This is her grandmother.
camera.png 8
coins.png 10 Under the floor of the stable they found the coins.
page.png 7
coins.png 8 They are in the museum now, all twenty-four.
horse.png 8
moon.png 10 He was seven when they walked on the moon.
camera.png 9 Nobody has been back since seventy-two, he used to say.
moon.png 7

evening
coffee.png 9 So now we are here, with a second cup.
astronaut.png 9 She called at noon and sounded calm.
text.png 7
gravel.png 7
chelsea.png 9 Кошка всё ещё у окна.
motorcycle_left.png 9 I rode out to the coast to see it for myself.
rocket.jpg 6
grass.png 8 Many others stood in the field with me.
gravel.png 7
camera.png 12 (4-10) The launch was put off because of the wind, for the third time.
motorcycle_right.png 9 So I rode home again, in the dark.

night
moon.png 14 From the bridge you could see every crater.
hubble_deep_field.jpg 11 And behind it all the others.
gravel.png 7
motorcycle_left.png 9 The engine ran without a fault, of course.
brick.png 7
moon.png 9
retina.jpg 8 My eyes hurt from looking up.
chelsea.png 10 She had waited at the door, which she would deny.
coffee.png 8
hubble_deep_field.jpg 12

day
coffee.png 11 Next morning: one cup, no sugar.
astronaut.png 10 She said that she sleeps well before a flight.
page.png 9 I read the same page to her on the telephone.
chelsea.png 8
coins.png 8 Heads, it flies on Thursday. Tails, on Friday.
brick.png 6
motorcycle_left.png 9 Either way the tank is full.
camera.png 10 And father's camera still works.
horse.png 9
chelsea.png 12 The cat has the window to herself.
moon.png 8

day
title 6 The end
"""
_SHOT = re.compile(r"^(\S+) (\d+)(?: \((\d+)-(\d+)\))? ?(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class SampleScene:
    """One shot: a photograph of scikit-image, or TITLE_CARD, its duration, and what is said, or written on the card.

    said_s: the start and end of the speech within it.
    """

    photograph: str
    seconds: int
    text: str
    said_s: tuple[float, float]
    look: str


def _sequence(look: str, shots: str) -> Iterator[SampleScene]:
    """Yield the shots of one look."""
    for photograph, seconds, start, end, text in _SHOT.findall(shots):
        said_s = float(start or 1), float(end or min(int(seconds) - 1, 6))
        yield SampleScene(photograph, int(seconds), text, said_s, look)


SCENES = tuple(scene for part in STORY.strip().split("\n\n") for scene in _sequence(*part.split("\n", 1)))
