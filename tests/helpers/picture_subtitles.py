"""Videos with picture subtitles: PyAV can't encode them, so the packets of PGS and VobSub are written here."""

import struct
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
from PIL import Image, ImageDraw, ImageFont

SIZE = (640, 360)
MILLISECOND = Fraction(1, 1000)
DVB_COLOURS = ((0, 16, 0), (1, 16, 255), (2, 235, 255))  # index, brightness, opacity


def text_picture(text: str) -> np.ndarray:
    """Indexes of a palette: 0 around the text, 1 its outline, 2 the letters."""
    image = Image.new("RGB", (420, 56 + 40 * text.count("\n")))
    font = ImageFont.load_default(30)
    ImageDraw.Draw(image).text((12, 8), text, font=font, fill=(0, 255, 0), stroke_width=2, stroke_fill=(255, 0, 0))
    drawn = np.asarray(image)
    return np.where(drawn[:, :, 1] > 127, 2, np.where(drawn[:, :, 0] > 127, 1, 0)).astype(np.uint8)


def pgs_packet(
    picture: np.ndarray | None, luma: Sequence[int] = (16, 16, 235), alpha: Sequence[int] = (0, 255, 255)
) -> bytes:
    """A display set of PGS with these colours; without a picture it clears the screen."""
    count = 0 if picture is None else 1
    composition = struct.pack(">HHBHBBBB", *SIZE, 0x10, 0, 0x80 * count, 0, 0, count)
    if picture is None:
        return _segment(0x16, composition) + _segment(0x80, b"")
    height, width = picture.shape
    composition += struct.pack(">HBBHH", 0, 0, 0, 100, 280)
    window = struct.pack(">BBHHHH", 1, 0, 100, 280, width, height)
    palette = bytes(2) + b"".join(bytes([k, y, 128, 128, a]) for k, (y, a) in enumerate(zip(luma, alpha, strict=True)))
    pixels = b"".join(_pgs_row(row) for row in picture)
    data = struct.pack(">HBB", 0, 0, 0xC0) + (len(pixels) + 4).to_bytes(3, "big")
    data += struct.pack(">HH", width, height) + pixels
    parts = [(0x16, composition), (0x17, window), (0x14, palette), (0x15, data), (0x80, b"")]
    return b"".join(_segment(kind, part) for kind, part in parts)


def vobsub_packet(picture: np.ndarray, shown_ms: int) -> bytes:
    """A subpicture of a DVD: the rows of both fields in nibbles, then the commands."""
    height, width = picture.shape
    even, odd = (b"".join(_vobsub_row(row) for row in picture[k::2]) for k in (0, 1))
    end = 4 + len(even) + len(odd)
    right, bottom = 100 + width - 1, 280 + height - 1
    area = (100 << 12 | right).to_bytes(3, "big") + (280 << 12 | bottom).to_bytes(3, "big")
    commands = b"\x01\x03\x32\x10\x04\x0f\xf0\x05" + area
    commands += b"\x06" + struct.pack(">HH", 4, 4 + len(even)) + b"\xff"
    stop = end + 4 + len(commands)
    control = struct.pack(">HH", 0, stop) + commands
    control += struct.pack(">HH", shown_ms * 90 // 1024, stop) + b"\x02\xff"
    return b"".join((struct.pack(">HH", end + len(control), end), even, odd, control))


def make_picture_clip(path: Path, codec: str, packets: Sequence[tuple[int, bytes]], *, language: str = "eng") -> Path:
    """A clip of eight seconds with one subtitle track, whose packets start at these milliseconds."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=5)
        video.width, video.height, video.pix_fmt = 64, 36, "yuv420p"
        track = out.add_mux_stream(codec)
        track.time_base = MILLISECOND
        track.metadata["language"] = language
        for k in range(40):
            frame = av.VideoFrame.from_ndarray(np.zeros((36, 64, 3), np.uint8), format="rgb24")
            frame.pts, frame.time_base = k, Fraction(1, 5)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        for start_ms, data in packets:
            packet = av.Packet(data)
            packet.stream, packet.time_base, packet.pts, packet.dts = track, MILLISECOND, start_ms, start_ms
            out.mux(packet)
    return path


def _segment(kind: int, data: bytes) -> bytes:
    return struct.pack(">BH", kind, len(data)) + data


def _runs(row: np.ndarray) -> list[tuple[int, int]]:
    starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
    return [(int(row[a]), b - a) for a, b in pairwise(starts)]


def _pgs_row(row: np.ndarray) -> bytes:
    data = b""
    for colour, length in _runs(row):
        if colour:
            data += struct.pack(">BHB", 0, 0xC000 | length, colour)
        else:
            data += struct.pack(">BH", 0, 0x4000 | length)
    return data + bytes(2)


def _vobsub_row(row: np.ndarray) -> bytes:
    nibbles = ""
    for colour, length in _runs(row):
        while length:
            run = min(length, 255)
            length -= run
            digits = 1 if run < 4 else 2 if run < 16 else 3 if run < 64 else 4
            nibbles += f"{run << 2 | colour:0{digits}x}"
    return bytes.fromhex(nibbles + "0" * (len(nibbles) % 2))


def sup_file(packets: Sequence[tuple[int, bytes]]) -> bytes:
    """The content of a .sup file: each segment with its time in a header of its own."""
    data = b""
    for start_ms, packet in packets:
        at = 0
        while at < len(packet):
            size = 3 + int.from_bytes(packet[at + 1 : at + 3], "big")
            data += b"PG" + struct.pack(">II", start_ms * 90, 0) + packet[at : at + size]
            at += size
    return data


def write_vobsub(path: Path, packets: Sequence[tuple[int, bytes]], language: str = "en") -> Path:
    """An .idx file with the times, and the .sub file beside it with the pictures in MPEG-PS packs of 2048 bytes."""
    index = f"# VobSub index file, v7\nsize: {SIZE[0]}x{SIZE[1]}\nlangidx: 0\n\nid: {language}, index: 0\n"
    data = b""
    for start_ms, packet in packets:
        index += f"timestamp: 00:00:{start_ms // 1000:02}:{start_ms % 1000:03}, filepos: {len(data):09x}\n"
        for at in range(0, len(packet), 1900):
            data += _pack(packet[at : at + 1900], start_ms * 90 if at == 0 else None)
    path.with_suffix(".sub").write_bytes(data)
    path.write_text(index)
    return path


def _pack(payload: bytes, pts: int | None) -> bytes:
    header = b"\0\0\1\xba" + bytes([0x44, 0, 4, 0, 4, 1, 0, 0, 3, 0xF8])
    time = b""
    if pts is not None:
        high, middle, low = pts >> 30, pts >> 15 & 0x7FFF, pts & 0x7FFF
        time = struct.pack(">BHH", 0x21 | high << 1, middle << 1 | 1, low << 1 | 1)
    body = bytes([0x81, 0x80 if time else 0, len(time)]) + time + b"\x20" + payload
    return (header + b"\0\0\1\xbd" + struct.pack(">H", len(body)) + body).ljust(2048, b"\xff")


def dvb_packet(picture: np.ndarray | None, version: int) -> bytes:
    """A display set of DVB; without a picture it clears the screen. One with the version of the last is ignored."""
    page = bytes([10, version << 4 | 0x08])
    if picture is None:
        return _dvb_segments((0x10, page), (0x80, b""))
    height, width = picture.shape
    page += struct.pack(">BBHH", 0, 0, 100, 280)
    region = struct.pack(">BBHHBBBBHHH", 0, 0, width, height, 3 << 5 | 3 << 2, 0, 0, 0, 0, 0, 0)
    colours = b"".join(bytes([k, 0x21, luma, 128, 128, 255 - alpha]) for k, luma, alpha in DVB_COLOURS)
    top, bottom = (b"".join(b"\x12" + _dvb_row(row) + b"\xf0" for row in picture[k::2]) for k in (0, 1))
    pixels = struct.pack(">HBHH", 0, 0, len(top), len(bottom)) + top + bottom
    return _dvb_segments((0x10, page), (0x11, region), (0x12, bytes(2) + colours), (0x13, pixels), (0x80, b""))


def _dvb_segments(*segments: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack(">BBHH", 0x0F, kind, 1, len(data)) + data for kind, data in segments)


def _dvb_row(row: np.ndarray) -> bytes:
    data = b""
    for colour, length in _runs(row):
        for run in [127] * (length // 127) + [length % 127] * (length % 127 > 0):
            if colour and run < 3:
                data += bytes([colour]) * run
            else:
                data += bytes([0, 0x80 | run, colour]) if colour else bytes([0, run])
    return data + bytes(2)
