"""The sample video in half a minute: the first shot, the rocket, and why it did not start."""

from framesift.demo.story import SCENES, SampleScene


def short_story() -> tuple[SampleScene, ...]:
    rocket = next(number for number, scene in enumerate(SCENES) if scene.photograph == "rocket.jpg")
    return (SCENES[1], *SCENES[rocket : rocket + 4])
