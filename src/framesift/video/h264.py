"""H.264's frame_num, which counts reference frames: a jump means that some of them are missing from the file.

FFmpeg's decoder repeats an earlier frame in place of a missing one and does not report it.
"""

from typing import NamedTuple

# Profiles whose sequence parameters state the chroma format.
_HIGH_PROFILES = frozenset({100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135})
_SEQUENCE, _PICTURE = 7, 8  # types of parameter units
_HEAD_BYTES = 16  # enough for a slice header up to frame_num
_MOST_ZEROS = 32


class _SequenceParameters(NamedTuple):
    frame_num_bits: int
    has_colour_plane: bool
    may_skip: bool  # frame_num may jump although nothing is missing


class Bits:
    """Reads bits and Exp-Golomb numbers from the bytes of a unit, without its escape bytes."""

    def __init__(self, data: bytes) -> None:
        if b"\0\0\3" in data:
            data = data.replace(b"\0\0\3", b"\0\0")
        self._left = 8 * len(data)
        self._value = int.from_bytes(data, "big")

    def read(self, count: int) -> int:
        """The next `count` bits; ValueError at the end of the data."""
        self._left -= count
        if self._left < 0:
            raise ValueError("the unit ends too early")
        value = self._value >> self._left
        self._value &= (1 << self._left) - 1
        return value

    def unsigned(self) -> int:
        """The next Exp-Golomb number."""
        zeros = self._left - self._value.bit_length()
        if zeros > _MOST_ZEROS:
            raise ValueError("the number is too long")
        return self.read(2 * zeros + 1) - 1

    def signed(self) -> int:
        """The next Exp-Golomb number with a sign."""
        code = self.unsigned()
        return (code + 1) // 2 if code % 2 else -(code // 2)


class ReferenceCounter:
    """Follows frame_num from packet to packet."""

    def __init__(self) -> None:
        self._sequences: dict[int, _SequenceParameters] = {}
        self._pictures: dict[int, int] = {}  # picture parameters → their sequence parameters
        self._seen: set[bytes] = set()
        self._last: int | None = None  # of the previous reference frame

    def add_parameters(self, unit: bytes) -> None:
        """Take sequence or picture parameters; anything else, and damaged ones, are ignored."""
        kind = unit[0] & 31 if unit else 0
        if kind not in (_SEQUENCE, _PICTURE) or unit in self._seen:
            return
        try:
            bits = Bits(unit[1:])
            if kind == _SEQUENCE:
                self._sequences.update((_read_sequence(bits),))
            else:
                self._pictures.update(((bits.unsigned(), bits.unsigned()),))
        except ValueError:
            return
        self._seen = {unit} if len(self._seen) > 64 else self._seen | {unit}

    def is_after_loss(self, slice_unit: bytes, *, resets: bool) -> bool:
        """Whether reference frames are missing before the frame with this slice. resets: it starts counting anew."""
        try:
            bits = Bits(slice_unit[1:_HEAD_BYTES])
            bits.unsigned()
            bits.unsigned()
            sequence = self._sequences[self._pictures[bits.unsigned()]]
            if sequence.has_colour_plane:
                bits.read(2)
            number = bits.read(sequence.frame_num_bits)
        except (ValueError, KeyError):
            self._last = None
            return False
        last = self._last
        if slice_unit[0] & 0x60:
            self._last = number
        if resets or last is None or sequence.may_skip:
            return False
        return number not in (last, (last + 1) % (1 << sequence.frame_num_bits))


def _read_sequence(bits: Bits) -> tuple[int, _SequenceParameters]:
    """The number of the parameters and those of them that a slice header needs."""
    profile = bits.read(24) >> 16
    number = bits.unsigned()
    has_colour_plane = False
    if profile in _HIGH_PROFILES:
        chroma = bits.unsigned()
        has_colour_plane = chroma == 3 and bool(bits.read(1))
        bits.unsigned(), bits.unsigned(), bits.read(1)
        if bits.read(1):
            for k in range(12 if chroma == 3 else 8):
                if bits.read(1):
                    _skip_scaling_list(bits, 16 if k < 6 else 64)
    frame_num_bits = bits.unsigned() + 4
    order = bits.unsigned()
    if order == 0:
        bits.unsigned()
    elif order == 1:
        bits.read(1), bits.signed(), bits.signed()
        for _ in range(min(bits.unsigned(), 255)):
            bits.signed()
    bits.unsigned()
    if frame_num_bits > 16:
        raise ValueError("frame_num is too long")
    return number, _SequenceParameters(frame_num_bits, has_colour_plane, bool(bits.read(1)))


def _skip_scaling_list(bits: Bits, size: int) -> None:
    last = following = 8
    for _ in range(size):
        if following:
            following = (last + bits.signed()) % 256
        last = following or last
