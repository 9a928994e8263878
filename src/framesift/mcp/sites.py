"""Videos from the pages of video sites, through yt-dlp if it is installed; only with `--urls sites`.

yt-dlp runs in a process of its own, in which only public addresses can be resolved: its redirects and media servers
are thus checked as well.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

from framesift._utils.addresses import is_public
from framesift._utils.credentials import public_url, scrub
from framesift.errors import FramesiftError, InputError, MissingExtra
from framesift.mcp.config import AgentConfig
from framesift.progress import Progress

NAME = "video"  # of the file: a site's title may be any text


def fetch_from_site(url: str, place: Path, config: AgentConfig, progress: Progress) -> Path:
    """Download the video of a page into a directory, with its subtitles where the site has some."""
    if importlib.util.find_spec("yt_dlp") is None:
        raise MissingExtra(f"{public_url(url)} is a web page; videos of pages need yt-dlp: pip install yt-dlp")
    request = {
        "url": url,
        "folder": str(place),
        "max_bytes": config.download_bytes,
        "language": config.pipeline.language or "en",
        "allow_private": config.allow_private,
    }
    command = [sys.executable, "-P", "-m", "framesift.mcp.sites", json.dumps(request)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as worker:
        try:
            outcome = _follow(worker.stdout, progress)
        finally:
            worker.kill()
    files = [file for file in place.glob(f"{NAME}.*") if file.suffix not in (".vtt", ".part", ".ytdl")]
    if not files:
        raise InputError(f"{public_url(url)} gave no video ({outcome or 'larger than the limit, or live'})")
    return files[0]


def _follow(lines: IO[str] | None, progress: Progress) -> str:
    """Pass the worker's progress on; what it reports at the end."""
    outcome = "yt-dlp ended unexpectedly"
    for line in lines or ():
        message = json.loads(line)
        if "outcome" in message:
            outcome = scrub(str(message["outcome"]))[:300]
        else:
            progress("download", message["done"], message["total"])
    return outcome


def _download(request: dict[str, Any], report: IO[str]) -> str:
    """The worker: run yt-dlp, and report progress as JSON lines; an error message, or nothing."""
    resolve = socket.getaddrinfo

    def resolve_public(*args: Any, **options: Any) -> Any:
        rows = resolve(*args, **options)
        if not all(is_public(str(row[4][0])) for row in rows):
            raise OSError("an address inside this machine's network is not fetched from (--allow-private allows it)")
        return rows

    if not request["allow_private"]:
        socket.getaddrinfo = resolve_public
        sys.modules["curl_cffi"] = None  # type: ignore[assignment]  # it resolves names by itself
    import yt_dlp

    def follow(status: dict[str, Any]) -> None:
        done = status.get("downloaded_bytes") or 0
        total = status.get("total_bytes") or status.get("total_bytes_estimate") or done
        if done > request["max_bytes"]:
            raise FramesiftError(f"larger than {request['max_bytes'] / 1e6:.0f} MB, this server's limit")
        print(json.dumps({"done": done, "total": max(done, total)}), file=report, flush=True)

    options = {
        "quiet": True,
        "no_warnings": True,
        "noprogress": True,
        "noplaylist": True,
        "playlist_items": "1",
        "cachedir": False,
        "allowed_extractors": ["default", "-generic"],  # the generic one fetches anything
        "match_filter": yt_dlp.utils.match_filter_func("!is_live"),
        "max_filesize": request["max_bytes"],
        # One file with picture and sound, so that no other program is needed; FFmpeg would resolve names by itself.
        "format": "b[height<=720][protocol^=http]/b[protocol^=http]/b[height<=720]/b",
        "ffmpeg_location": os.devnull,
        "fixup": "never",
        "writesubtitles": True,
        "writeautomaticsub": True,
        "subtitleslangs": [request["language"]],
        "subtitlesformat": "vtt",
        "outtmpl": {"default": os.path.join(request["folder"], f"{NAME}.%(ext)s")},
        "progress_hooks": [follow],
    }
    try:
        with yt_dlp.YoutubeDL(options) as site:
            site.download([request["url"]])
    except (yt_dlp.utils.YoutubeDLError, FramesiftError, OSError) as error:
        return " ".join(str(error).split())
    return ""


if __name__ == "__main__":
    channel = sys.stdout
    sys.stdout = sys.stderr  # yt-dlp may print
    message = _download(json.loads(sys.argv[1]), channel)
    print(json.dumps({"outcome": message}), file=channel, flush=True)
