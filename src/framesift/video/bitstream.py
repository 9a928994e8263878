"""Packet types from the bitstream: which frames are not references, where decoding can start, and overwritten data.

Only H.264 and HEVC headers are parsed; anything uncertain counts as a reference.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from framesift.video.h264 import ReferenceCounter

# Codecs whose keyframes reset the decoder: later frames in presentation order need nothing before them.
CLOSED_AT_KEYFRAMES = frozenset({"vp8", "vp9", "av1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg", "prores", "dnxhd"})

# Codecs in whose frames no long run of zeros occurs, because it would contain a start code; at the end of a unit zeros
# are padding. Those without start codes have such runs, but none at the beginning, where the header is.
_WITHOUT_ZEROS = frozenset({"h264", "hevc", "mpeg1video", "mpeg2video", "mpeg4"})
_HEADER_FIRST = frozenset({"vp8", "vp9", "av1"})
_ZEROS = bytes(32)
_ZEROS_WITHIN = re.compile(rb"\0{32}[^\0\1]")

_H264_SLICE_TYPES = range(1, 6)
_H264_IDR = 5
_H264_PARAMETERS = range(7, 9)
_MOST_PARAMETER_BYTES = 1024
_HEVC_FRAME_TYPES = range(32)
_HEVC_UNREFERENCED = frozenset(range(0, 16, 2))  # the _N types: not referenced within their temporal layer
_HEVC_RANDOM_ACCESS = range(16, 22)  # BLA, IDR and CRA
_HEVC_CRA = 21  # frames stored after a CRA may reference frames before it


class PacketKind(NamedTuple):
    """How a packet's frame relates to the others.

    is_reference: other frames may need it. is_random_access: a keyframe at which decoding can start. resets_decoder:
    one after which the decoder drops its earlier references. is_intra: a keyframe that needs no other frame. layer:
    HEVC's temporal layer. is_after_loss: reference frames are missing before it (H.264).
    """

    is_reference: bool = True
    is_random_access: bool = False
    resets_decoder: bool = False
    is_intra: bool = False
    layer: int = 0
    is_after_loss: bool = False


class PacketParser:
    """Classifies the packets of one stream."""

    def __init__(self, codec: str, extradata: bytes | None) -> None:
        self._codec = codec
        setup = extradata or b""
        offset = {"h264": 4, "hevc": 21}.get(codec)
        # avcC and hvcC start with 1 and hold the size of the length prefix; Annex B streams have start codes instead.
        self._prefix = (setup[offset] & 3) + 1 if offset is not None and len(setup) > offset and setup[0] == 1 else 0
        self._references = ReferenceCounter()
        if codec == "h264":
            for unit in _parameter_units(setup) if self._prefix else setup.split(b"\0\0\1"):
                self._references.add_parameters(unit)

    def is_damaged(self, data: memoryview) -> bool:
        """Whether no decoder can decode the bytes: a run of zeros within a frame, or units that do not fit the packet.

        Lost parts of files that were copied or downloaded are zeros.
        """
        if self._prefix and not self._units_fit(data):
            return True
        if self._codec in _HEADER_FIRST:
            return data[: len(_ZEROS)] == _ZEROS
        if self._codec not in _WITHOUT_ZEROS:
            return False
        # A run of that length contains a word of zeros at a multiple of 8 bytes, for which the search is faster.
        if np.frombuffer(data, np.uint64, len(data) // 8).all():
            return False
        text = data.tobytes()
        if self._codec not in ("h264", "hevc"):
            return _ZEROS_WITHIN.search(text) is not None
        return any(
            _ZEROS_WITHIN.search(text, start, end) for start, end in self._units(data) if self._is_frame(data[start])
        )

    @staticmethod
    def ends_in_zeros(data: memoryview) -> bool:
        """Whether the last bytes are zeros: padding, or a lost part that goes on in the next packet."""
        return data[-len(_ZEROS) :] == _ZEROS

    def _is_frame(self, head: int) -> bool:
        """Whether a NAL unit that starts with this byte is of a frame; other units may hold anything."""
        return head & 31 in _H264_SLICE_TYPES if self._codec == "h264" else head >> 1 & 63 in _HEVC_FRAME_TYPES

    def _units_fit(self, data: memoryview) -> bool:
        at, size = 0, len(data)
        while at + self._prefix < size:
            length = int.from_bytes(data[at : at + self._prefix], "big")
            at += self._prefix + length
            if not length or at > size or data[at - length] & 0x80:  # the highest bit of a unit is 0
                return False
        return True

    def kind(self, data: memoryview, is_key: bool) -> PacketKind:
        """Classify a packet; is_key: the container marks it as a keyframe."""
        if self._codec == "h264":
            return self._h264(data, is_key)
        if self._codec == "hevc":
            return self._hevc(data)
        known = is_key and self._codec in CLOSED_AT_KEYFRAMES
        return PacketKind(is_random_access=known, resets_decoder=known, is_intra=is_key)

    def _h264(self, data: memoryview, is_key: bool) -> PacketKind:
        is_reference, intra = False, True
        kinds = set()
        first_slice = b""
        for start, _ in self._units(data):
            unit = data[start]
            kind = unit & 31
            if kind in _H264_PARAMETERS:
                self._references.add_parameters(data[start : start + _MOST_PARAMETER_BYTES].tobytes())
            if kind not in _H264_SLICE_TYPES:
                continue
            kinds.add(kind)
            first_slice = first_slice or data[start : start + 16].tobytes()
            is_reference |= unit & 0x60 != 0
            # A keyframe made of P slices starts a gradual refresh: not yet complete, so decoding can't start there.
            if is_key and kind != _H264_IDR:
                intra &= _h264_slice_type(data[start + 1 : start + 12]) in {2, 4}
        # Containers may not mark an IDR frame.
        is_random_access = bool(kinds) and intra if is_key else kinds == {_H264_IDR}
        is_after_loss = bool(first_slice) and self._references.is_after_loss(first_slice, resets=_H264_IDR in kinds)
        return PacketKind(
            is_reference or not kinds,
            is_random_access,
            is_random_access and kinds == {_H264_IDR},
            is_random_access,
            is_after_loss=is_after_loss,
        )

    def _hevc(self, data: memoryview) -> PacketKind:
        kinds = set()
        layer = 0
        for start, _ in self._units(data):
            kind = data[start] >> 1 & 63
            if kind in _HEVC_FRAME_TYPES and start + 1 < len(data):
                kinds.add(kind)
                layer = (data[start + 1] & 7) - 1
        is_reference = not kinds or not kinds <= _HEVC_UNREFERENCED
        starts = bool(kinds) and all(kind in _HEVC_RANDOM_ACCESS for kind in kinds)
        return PacketKind(is_reference, starts, starts and _HEVC_CRA not in kinds, starts, layer)

    def _units(self, data: memoryview) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each NAL unit, without its length prefix or start code."""
        size = len(data)
        at = 0
        if self._prefix:
            while at + self._prefix < size:
                start = at + self._prefix
                at = start + int.from_bytes(data[at:start], "big")
                yield start, at
            return
        text = data.tobytes()
        at = text.find(b"\0\0\1")
        while 0 <= at < size - 3:
            start = at + 3
            at = text.find(b"\0\0\1", start)
            yield start, at if at >= 0 else size


def _parameter_units(setup: bytes) -> Iterator[bytes]:
    """Yield the parameter units of an avcC record: the sequence parameters, then the picture parameters."""
    at = 5
    for mask in (31, 255):
        count = setup[at] & mask if at < len(setup) else 0
        at += 1
        for _ in range(count):
            length = int.from_bytes(setup[at : at + 2], "big")
            yield setup[at + 2 : at + 2 + length]
            at += 2 + length


def _h264_slice_type(head: memoryview) -> int:
    """The second Exp-Golomb number of a slice header, modulo 5 (2: I slice); -1 if the data ends too early."""
    bits = "".join(f"{byte:08b}" for byte in head)
    at = 0
    value = -1
    for _ in range(2):
        one = bits.find("1", at)
        end = one + 1 + (one - at)
        if one < 0 or end > len(bits):
            return -1
        value = int(bits[one:end], 2) - 1
        at = end
    return value % 5
