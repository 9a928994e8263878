"""Whether a file is shorter than its container's structure says, from sizes in its headers; no packet is read."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

# MPEG-TS packets as broadcast, with the time codes of Blu-ray and camcorders, and with error correction; the offset of
# the sync byte in each.
_TS_PACKETS = ((188, 0), (192, 4), (204, 0))
_TS_SYNC = 0x47
_TS_CHECKED = 5  # sync bytes that must be in place

_MP4_BOXES = frozenset(
    (
        b"ftyp",
        b"styp",
        b"moov",
        b"moof",
        b"mdat",
        b"free",
        b"skip",
        b"wide",
        b"sidx",
        b"mfra",
        b"udta",
        b"uuid",
        b"emsg",
    )
)
# Some writers of AVI count a few headers twice.
_RIFF_SLACK = 1024


def is_incomplete(path: str) -> bool:
    """Whether the file ends before a packet or a box that it starts; False for formats without sizes."""
    with suppress(OSError, struct.error), open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(16)
        if head[4:8] in _MP4_BOXES:
            return any(end > size for end in _box_ends(file, size))
        if head[:4] == b"RIFF":
            return int.from_bytes(head[4:8], "little") + 8 > size + _RIFF_SLACK
        return _ts_remainder(file, size) != 0
    return False


def _box_ends(file: BinaryIO, size: int) -> Iterator[int]:
    """Yield the end of each box at the top level of an MP4 file, up to the first that is unknown or not complete."""
    at = 0
    while at + 8 <= size:
        file.seek(at)
        length, kind = struct.unpack(">I4s", file.read(8))
        if length == 1:
            (length,) = struct.unpack(">Q", file.read(8))
        if kind not in _MP4_BOXES or length < 8:  # 0: up to the end of the file
            return
        at += length
        yield at


def _ts_remainder(file: BinaryIO, size: int) -> int:
    """The bytes of an MPEG-TS file after its last complete packet."""
    file.seek(0)
    head = file.read(_TS_CHECKED * 204)
    for length, offset in _TS_PACKETS:
        if len(head) >= _TS_CHECKED * length and all(head[offset + k * length] == _TS_SYNC for k in range(_TS_CHECKED)):
            return size % length
    return 0
