"""What a search found, as one HTML file with a thumbnail of each hit in it."""

import html
import os
from collections.abc import Sequence
from pathlib import Path

from framesift._utils.text import clock, printable
from framesift.batch.search import Hit
from framesift.errors import FramesiftError

SIDE = 240  # shorter side of a thumbnail
QUALITY = 80

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #222 }}
ol {{ list-style: none; padding: 0; display: grid; gap: 1rem }}
ol {{ grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)) }}
li {{ border: 1px solid #ddd; border-radius: 6px; overflow: hidden }}
img, .none {{ width: 100%; aspect-ratio: 16 / 9; object-fit: contain; background: #111; display: block }}
.none {{ color: #ccc; display: grid; place-items: center }}
p {{ margin: .5rem .75rem; overflow-wrap: anywhere }} small {{ color: #595959 }}
</style>
<h1>{title}</h1><p>{count} of the whole store, best first.</p><ol>
{hits}
</ol></html>
"""


def write_report(text: str, hits: Sequence[Hit], path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all. A video that is no longer there is shown without its picture."""
    file = Path(path)
    title = html.escape(f"“{printable(text)}”")
    count = f"{len(hits)} second{'' if len(hits) == 1 else 's'}"
    page = _PAGE.format(title=title, count=count, hits="\n".join(_item(hit) for hit in hits))
    temporary = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(page, encoding="utf-8", errors="replace")
        temporary.replace(file)
    except OSError as error:
        raise FramesiftError(f"{file} can't be written ({error.strerror or error})") from error
    return file


def _item(hit: Hit) -> str:
    name, when = html.escape(printable(hit.video)), html.escape(clock(hit.time_s))
    url = _thumbnail(hit)
    picture = f'<img src="{url}" alt="{name} at {when}">' if url else '<div class="none">the video is not here</div>'
    said = f"<p>{html.escape(printable(hit.event.text))}</p>" if hit.event is not None else ""
    scores = {"picture": hit.relevance, "words": hit.event_relevance}
    told = ", ".join(f"{what} {score:.3f}" for what, score in scores.items() if score is not None)
    return f"<li>{picture}<p><b>{when}</b> {name}</p>{said}<p><small>{told}</small></p></li>"


def _thumbnail(hit: Hit) -> str:
    """The picture on screen at the hit's second as a URL; empty where it can't be had."""
    from PIL import Image

    from framesift.rendering.thumbnails import data_url
    from framesift.video.frames import fetch

    if "://" in hit.video:
        return ""
    try:
        times_s = [hit.time_s if hit.relevance is not None else _on_screen(hit)]
        _, picture = next(iter(fetch(hit.video, times_s, short_side=SIDE)))
    except (FramesiftError, StopIteration):
        return ""
    return data_url(Image.fromarray(picture), quality=QUALITY)


def _on_screen(hit: Hit) -> float:
    """Words begin at any time: the picture on screen then is the last that begins at or before it."""
    from framesift.video.timeline import read_timeline

    timeline = read_timeline(hit.video)
    times_s = [timeline.time_s(int(packet)) for packet in timeline.shown]
    return max((time_s for time_s in times_s if time_s <= hit.time_s), default=times_s[0])
