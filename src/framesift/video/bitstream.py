"""What a packet is, read from its first bits: which pictures nobody refers to, and where decoding can start.

Only H.264 and HEVC are looked into; what is not known for sure is taken to be needed.
"""

from collections.abc import Iterator
from typing import NamedTuple

# Where a key picture resets the decoder, so that what follows it in presentation order needs nothing before it.
FRESH_AT_KEYS = frozenset({"vp8", "vp9", "av1", "mpeg1video", "mpeg2video", "mpeg4", "mjpeg", "prores", "dnxhd"})

_H264_SLICES = range(1, 6)
_H264_IDR = 5
_HEVC_PICTURES = range(32)
_HEVC_NEVER_REFERRED_TO = frozenset(range(0, 16, 2))  # the _N types: in their own temporal layer nothing needs them
_HEVC_FRESH = range(16, 22)  # BLA, IDR and CRA
_HEVC_CRA = 21  # the one of them that others stored after it may see past


class Kind(NamedTuple):
    """What a packet's picture is to the others.

    referred_to: others may need this one. fresh: a key picture at which decoding can start. reset: one at which the
    decoder forgets what came before by itself. whole: a key picture that needs no other. layer: HEVC's temporal layer.
    """

    referred_to: bool = True
    fresh: bool = False
    reset: bool = False
    whole: bool = False
    layer: int = 0


class Reader:
    """Tells the kind of a codec's packets."""

    def __init__(self, codec: str, extradata: bytes | None) -> None:
        self._codec = codec
        setup = extradata or b""
        place = {"h264": 4, "hevc": 21}.get(codec)
        # avcC and hvcC begin with a 1 and hold the width of each unit's length; a bare stream has start codes instead.
        self._prefix = (setup[place] & 3) + 1 if place is not None and len(setup) > place and setup[0] == 1 else 0

    def kind(self, data: memoryview, is_key: bool) -> Kind:
        """What the packet `data` holds; is_key: the container calls it a key picture."""
        if self._codec == "h264":
            return self._h264(data, is_key)
        if self._codec == "hevc":
            return self._hevc(data, is_key)
        known = is_key and self._codec in FRESH_AT_KEYS
        return Kind(fresh=known, reset=known, whole=is_key)

    def _h264(self, data: memoryview, is_key: bool) -> Kind:
        referred_to, intra = False, True
        kinds = set()
        for start in self._units(data):
            unit = data[start]
            kind = unit & 31
            if kind not in _H264_SLICES:
                continue
            kinds.add(kind)
            referred_to |= unit & 0x60 != 0
            # A key picture made of P slices is the start of a gradual refresh: not yet whole, so no place to start.
            if is_key and kind != _H264_IDR:
                intra &= _h264_slice_type(data[start + 1 : start + 12]) in {2, 4}
        fresh = is_key and bool(kinds) and intra
        return Kind(referred_to or not kinds, fresh, fresh and kinds == {_H264_IDR}, fresh)

    def _hevc(self, data: memoryview, is_key: bool) -> Kind:
        kinds = set()
        layer = 0
        for start in self._units(data):
            kind = data[start] >> 1 & 63
            if kind in _HEVC_PICTURES and start + 1 < len(data):
                kinds.add(kind)
                layer = (data[start + 1] & 7) - 1
        referred_to = not kinds or not kinds <= _HEVC_NEVER_REFERRED_TO
        fresh = is_key and bool(kinds) and all(kind in _HEVC_FRESH for kind in kinds)
        return Kind(referred_to, fresh, fresh and _HEVC_CRA not in kinds, fresh, layer)

    def _units(self, data: memoryview) -> Iterator[int]:
        """Where each unit of the packet begins, after its length or start code."""
        size = len(data)
        at = 0
        if self._prefix:
            while at + self._prefix < size:
                length = int.from_bytes(data[at : at + self._prefix], "big")
                yield at + self._prefix
                at += self._prefix + length
            return
        text = data.tobytes()
        at = text.find(b"\0\0\1")
        while 0 <= at < size - 3:
            yield at + 3
            at = text.find(b"\0\0\1", at + 3)


def _h264_slice_type(head: memoryview) -> int:
    """The second Exp-Golomb number of a slice's header, folded to 0–4 (2: I); -1 when the bits run out."""
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
