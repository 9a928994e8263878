"""Arrays as the payload of an entry: the format safetensors, which is imported when it is used."""

from framesift.errors import StoreError
from framesift.types.vectors import Array


def pack_arrays(**arrays: Array) -> bytes:
    """The arrays as bytes."""
    from safetensors.numpy import save

    return save(arrays)


def unpack_arrays(payload: bytes) -> dict[str, Array]:
    """The arrays of packed bytes, by name; StoreError if they are damaged."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(payload)
    except SafetensorError as error:
        raise StoreError(str(error)) from None
