"""The search for a video's text with settings by name."""

from framesift.store.store import Store
from framesift.text.finding import AUTO, NONE, FoundEvents, TextSettings
from framesift.text.finding import search_events as search


def search_events(video, *, recognise_speech=True, store=None, progress=None, **settings) -> FoundEvents:
    engine = recognise_speech if isinstance(recognise_speech, str) else AUTO if recognise_speech else NONE
    return search(video, TextSettings(**settings, speech=engine), Store(store), progress=progress)
