"""The part of H.264's headers that shows missing reference frames."""

from hypothesis import given
from hypothesis import strategies as st

from framesift.video.bitstream import PacketParser
from framesift.video.h264 import Bits, ReferenceCounter


def golomb(value):
    code = bin(value + 1)[2:]
    return "0" * (len(code) - 1) + code


def to_bytes(bits):
    """The bits as the bytes of a unit, with an escape byte after two zeros where a start code could be read."""
    padded = bits + "1" + "0" * (-(len(bits) + 1) % 8)
    out = bytearray()
    for byte in int(padded, 2).to_bytes(len(padded) // 8, "big"):
        if out[-2:] == b"\0\0" and byte <= 3:
            out.append(3)
        out.append(byte)
    return bytes(out)


def sequence(*, frame_num_bits=4, may_skip=False):
    """Sequence parameters of the baseline profile."""
    bits = golomb(0) + golomb(frame_num_bits - 4) + golomb(2) + golomb(1) + str(int(may_skip))
    return bytes([0x67, 66, 0, 30]) + to_bytes(bits)


PICTURE = bytes([0x68]) + to_bytes(golomb(0) + golomb(0))


def slice_unit(number, *, is_reference=True, frame_num_bits=4):
    return bytes([0x61 if is_reference else 0x01]) + to_bytes(
        golomb(0) + golomb(5) + golomb(0) + f"{number:0{frame_num_bits}b}"
    )


def counter(**options):
    references = ReferenceCounter()
    references.add_parameters(sequence(**options))
    references.add_parameters(PICTURE)
    return references


def losses(references, units):
    return [references.is_after_loss(unit, resets=False) for unit in units]


def test_count_that_wraps_around_has_no_loss():
    assert not any(losses(counter(), [slice_unit(number % 16) for number in range(40)]))


def test_jump_of_the_count_is_a_loss():
    assert losses(counter(), map(slice_unit, (3, 4, 7, 8))) == [False, False, True, False]


def test_loss_counts_until_the_next_reference():
    units = [slice_unit(3), slice_unit(5, is_reference=False), slice_unit(5), slice_unit(6)]
    assert losses(counter(), units) == [False, True, True, False]


def test_reset_is_no_loss():
    references = counter()
    assert not references.is_after_loss(slice_unit(9), resets=False)
    assert not references.is_after_loss(slice_unit(0), resets=True)


def test_streams_that_may_skip_numbers_have_no_loss():
    assert not any(losses(counter(may_skip=True), map(slice_unit, (1, 9, 4))))


def test_nothing_is_reported_without_parameters():
    assert not any(losses(ReferenceCounter(), map(slice_unit, (1, 9, 4))))


@given(st.lists(st.integers(0, 10**6) | st.just(2**24 - 1)))
def test_exp_golomb_numbers_are_read_as_written(values):
    bits = Bits(to_bytes("".join(map(golomb, values)) or "0"))
    assert [bits.unsigned() for _ in values] == values


@given(st.binary(max_size=200), st.lists(st.binary(min_size=1, max_size=60), max_size=8), st.booleans())
def test_any_bytes_are_accepted(setup, packets, is_key):
    parser = PacketParser("h264", setup)
    for data in packets:
        parser.kind(memoryview(data), is_key)
        parser.kind(memoryview(b"\0\0\1" + data), is_key)
