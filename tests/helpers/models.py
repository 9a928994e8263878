"""What selectors look things up with: a model that replies by rule, a network, a detector, the lookup of a question."""

import hashlib
from itertools import pairwise

import numpy as np

import framesift as fs
from framesift.types import Lookup
from helpers.detector_scenes import ColourDetector

QUESTION = fs.Question("Who opens the door?", ["the man", "the dog"])


class RuleModel:
    """Replies with the first entry of `replies` whose key is in the text of the message; records every message.

    A reply may be a function of that text. Without a matching entry the reply is a sentence that names the message.
    """

    name = "rules"

    def __init__(self, **replies):
        self.replies = replies
        self.messages = []

    def __call__(self, parts):
        self.messages.append(parts)
        text = text_of(parts)
        for key, reply in self.replies.items():
            if f'"{key}"' in text:
                return reply(text) if callable(reply) else reply
        return f"A scene like {digest(parts) % 1000}."

    def asked(self, key):
        """The texts of the messages that ask for this key."""
        return [text for text in map(text_of, self.messages) if f'"{key}"' in text]

    @property
    def described(self):
        """How many messages were one frame to describe."""
        return sum(len(parts) == 2 and isinstance(parts[1], np.ndarray) for parts in self.messages)


def text_of(parts):
    return "\n".join(part for part in parts if isinstance(part, str))


def random_replies(text):
    """A reply with valid and invalid values under every key that selectors read, by the text alone."""
    rng = np.random.default_rng(digest([text]))
    frames = [{"segment": int(rng.integers(0, 8)), "description": f"thing {k}"} for k in range(rng.integers(0, 6))]
    edges = np.sort(rng.uniform(-2, 40, rng.integers(0, 30))).tolist()
    sessions = [
        {"start": a, "end": b, "topic": "t", "keyframes": rng.uniform(a, b + 1, 5).tolist()} for a, b in pairwise(edges)
    ]
    fields = {"relevance": rng.integers(0, 5, rng.integers(0, 40)).tolist(), "confidence": int(rng.integers(0, 5))}
    fields |= {"frames": frames, "sessions": sessions, "answer": "B"}
    return str(fields).replace("'", '"')


def random_model():
    return RuleModel(**dict.fromkeys(("relevance", "confidence", "frames", "sessions", "answer"), random_replies))


def make_lookup(dim, question=QUESTION, **parts):
    """A lookup for a question whose texts have vectors by their digest."""

    def encode_texts(texts):
        return np.array([np.random.default_rng(digest([text])).standard_normal(dim) for text in texts])

    return Lookup(question=question, encode_texts=encode_texts, **parts)


class HalfNegated:
    """A network that negates the second half of every vector."""

    name = "half-negated"

    def embed(self, frames):
        return frames * np.where(np.arange(frames.shape[1]) < frames.shape[1] // 2, 1, -1)


def options_for(method, model=None):
    """The options that a selector can't do without."""
    given = {"detector": ColourDetector(), "network": HalfNegated(), "lengths": 10.0, "model": model or random_model()}
    return {name: given[name] for name in fs.selectors()[method].options if name in given}


def digest(parts):
    data = b"|".join(part.encode() if isinstance(part, str) else np.asarray(part).tobytes() for part in parts)
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
