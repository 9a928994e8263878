"""Encoders: images and texts as vectors of one space, compared by their cosine."""

from framesift.encoders.base import encode_long_texts
from framesift.encoders.registry import get_encoder

__all__ = ["encode_long_texts", "get_encoder"]
