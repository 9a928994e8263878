"""What can be asked of the server, one module per kind of question."""

from typing import Annotated

from fastapi import Depends, HTTPException, Path, Request

from framesift.serve.app import House
from framesift.serve.files import Film


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


InHouse = Annotated[House, Depends(_house)]
VideoId = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The id a video has in the library.")]


def _film(video: VideoId, house: InHouse) -> Film:
    film = house.shelf.get(video)
    if film is None:
        raise HTTPException(404, "There is no such video in the library")
    return film


OnShelf = Annotated[Film, Depends(_film)]
