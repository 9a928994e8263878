"""Packet types from the bitstream: which frames are not references, where decoding can start, and overwritten data.

Only H.264 and HEVC headers are parsed; anything uncertain counts as a reference.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Codecs whose keyframes reset the decoder: later frames in presentation order need nothing before them.
CLOSED_AT_KEYFRAMES = frozenset({"vp8", "vp9", "av1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg", "prores", "dnxhd"})

# Codecs in whose frames no long run of zeros occurs, because it would contain a start code; at the end of a unit zeros
# are padding. Those without start codes have such runs, but none at the beginning, where the header is.
_WITHOUT_ZEROS = frozenset({"h264", "hevc", "mpeg1video", "mpeg2video", "mpeg4"})
_HEADER_FIRST = frozenset({"vp8", "vp9", "av1"})
ZEROS = bytes(32)
_ZEROS_WITHIN = re.compile(rb"\0{32}[^\0\1]")

_H264_SLICE_TYPES = range(1, 6)
_H264_IDR = 5
_HEVC_FRAME_TYPES = range(32)
_HEVC_UNREFERENCED = frozenset(range(0, 16, 2))  # the _N types: not referenced within their temporal layer
_HEVC_RANDOM_ACCESS = frozenset(range(16, 22))  # BLA, IDR and CRA
_HEVC_CRA = 21  # frames stored after a CRA may reference frames before it


_Unit = tuple[int, int]


class PacketKind(NamedTuple):
    """How a packet's frame relates to the others.

    is_reference: other frames may need it. is_random_access: a keyframe at which decoding can start. resets_decoder:
    one after which the decoder drops its earlier references. is_intra: a keyframe that needs no other frame. layer:
    HEVC's temporal layer.
    """

    is_reference: bool = True
    is_random_access: bool = False
    resets_decoder: bool = False
    is_intra: bool = False
    layer: int = 0


class PacketParser:
    """Classifies the packets of one stream."""

    def __init__(self, codec: str, extradata: bytes | None) -> None:
        self._codec = codec
        setup = extradata or b""
        offset = {"h264": 4, "hevc": 21}.get(codec)
        # avcC and hvcC start with 1 and hold the size of the length prefix; Annex B streams have start codes instead.
        self._has_units = offset is not None
        self._prefix = (setup[offset] & 3) + 1 if offset is not None and len(setup) > offset and setup[0] == 1 else 0

    def parse(self, data: bytes, is_key: bool) -> tuple[PacketKind, bool]:
        """Classify a packet, and tell whether it is damaged; is_key: the container marks it as a keyframe."""
        units = list(self._units(data)) if self._has_units else []
        frames = [unit for unit in units if self._is_frame(data[unit[0]])]
        return self._kind(data, [start for start, _ in frames], is_key), self._is_damaged(data, units, frames)

    def _is_damaged(self, data: bytes, units: list[_Unit], frames: list[_Unit]) -> bool:
        """Whether no decoder can decode the bytes: a run of zeros within a frame, or units that do not fit the packet.

        Lost parts of files that were copied or downloaded are zeros.
        """
        # The highest bit of a unit is 0.
        if self._prefix and not all(i < end <= len(data) and data[i] < 0x80 for i, end in units):
            return True
        if self._codec in _HEADER_FIRST:
            return data.startswith(ZEROS)
        if self._codec not in _WITHOUT_ZEROS or ZEROS not in data:
            return False
        if not self._has_units:
            return _ZEROS_WITHIN.search(data) is not None
        return any(_ZEROS_WITHIN.search(data, i, end) for i, end in frames)

    def _is_frame(self, head: int) -> bool:
        """Whether a NAL unit that starts with this byte is of a frame; other units may hold anything."""
        return head & 31 in _H264_SLICE_TYPES if self._codec == "h264" else head >> 1 & 63 in _HEVC_FRAME_TYPES

    def _kind(self, data: bytes, frames: list[int], is_key: bool) -> PacketKind:
        """Classify a packet by the first bytes of its frames' units."""
        if self._codec == "h264":
            return self._h264(data, frames, is_key)
        if self._codec == "hevc":
            return self._hevc(data, frames)
        known = is_key and self._codec in CLOSED_AT_KEYFRAMES
        return PacketKind(is_random_access=known, resets_decoder=known, is_intra=is_key)

    def _h264(self, data: bytes, slices: list[int], is_key: bool) -> PacketKind:
        is_reference = not slices or any(data[i] & 0x60 for i in slices)
        is_idr = {data[i] & 31 for i in slices} == {_H264_IDR}
        starts = is_idr  # containers may not mark an IDR frame
        if is_key and not is_idr:
            # A keyframe made of P slices starts a gradual refresh: not yet complete, so decoding can't start there.
            heads = [data[i + 1 : i + 12] for i in slices if data[i] & 31 != _H264_IDR]
            starts = bool(slices) and all(_h264_slice_type(head) in {2, 4} for head in heads)
        return PacketKind(is_reference, starts, is_idr, starts)

    def _hevc(self, data: bytes, frames: list[int]) -> PacketKind:
        frames = [i for i in frames if i + 1 < len(data)]
        kinds = {data[i] >> 1 & 63 for i in frames}
        layer = (data[frames[-1] + 1] & 7) - 1 if frames else 0
        starts = bool(kinds) and kinds <= _HEVC_RANDOM_ACCESS
        return PacketKind(
            not kinds or not kinds <= _HEVC_UNREFERENCED, starts, starts and _HEVC_CRA not in kinds, starts, layer
        )

    def _units(self, data: bytes) -> Iterator[_Unit]:
        """Yield the start and end of each NAL unit, without its length prefix or start code."""
        size = len(data)
        at = 0
        if self._prefix:
            while at + self._prefix < size:
                start = at + self._prefix
                at = start + int.from_bytes(data[at:start], "big")
                yield start, at
            return
        at = data.find(b"\0\0\1")
        while 0 <= at < size - 3:
            start = at + 3
            at = data.find(b"\0\0\1", start)
            yield start, at if at >= 0 else size


def _h264_slice_type(head: bytes) -> int:
    """The second Exp-Golomb number of a slice header, modulo 5 (2: I slice)."""
    bits = "".join(f"{byte:08b}" for byte in head)
    value = 0
    for _ in range(2):
        zeros, _, rest = bits.partition("1")
        value, bits = int("1" + rest[: len(zeros)], 2) - 1, rest[len(zeros) :]
    return value % 5
