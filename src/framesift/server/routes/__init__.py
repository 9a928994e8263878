"""What can be asked of the server, one module per kind of question."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Annotated, TypeVar

from fastapi import Depends, HTTPException, Path, Request

from framesift.errors import FramesiftError
from framesift.server.app import House
from framesift.server.catalog import plain
from framesift.server.files import Film
from framesift.server.frame_images import Busy

T = TypeVar("T")


async def told(future: "Future[T]") -> T:
    """What a future gives. When the server closes before it does, the asker gets a sentence; others may still wait."""
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        raise Busy("the server is closing; ask again when it runs") from None


async def apart(film: Film, work: Callable[[], T]) -> T:
    """Do what may take long in a thread of its own: it takes no other request's, and does not keep the server from
    ending. Its errors name the video as the page does.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # whatever it is, it belongs to who asked
            plain_kind = isinstance(error, Exception) and not isinstance(error, StopIteration)
            future.set_exception(error if plain_kind else RuntimeError(repr(error)))

    threading.Thread(target=run, name="framesift-question", daemon=True).start()
    try:
        return await told(future)
    except FramesiftError as error:
        raise type(error)(plain(error, film)) from error


async def _house(request: Request) -> House:
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
