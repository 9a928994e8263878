"""The model that lmms-eval loads by the name framesift: any of its chat models, with exhibits in place of videos.

Only lmms-eval imports this module, when the model is requested.
"""

import copy
from typing import Any

from lmms_eval.api.model import lmms
from lmms_eval.models import get_model

from framesift.bench.lmms import Exhibitor, parse_arguments, wrap
from framesift.errors import OptionError


class Framesift(lmms):  # type: ignore[misc]  # lmms-eval is not typed
    """Creates the chat model named by `inner`, with a changed input and nothing else.

    The result is of the inner model's own class, so that everything lmms-eval does with a model (ranks, devices,
    caches, clean-up) works unchanged.
    """

    is_simple = False

    def __new__(cls, **arguments: Any) -> Any:
        inner, exhibitor, rest = parse_arguments(arguments)
        model = get_model(inner)
        if model.is_simple:
            raise OptionError(f"{inner} is not a chat model of lmms-eval; expected one that takes messages")
        return with_exhibits(model, exhibitor)(**rest)


def with_exhibits(model: type, exhibitor: Exhibitor) -> type:
    """A subclass of the model that replaces the videos in its requests."""

    def wrap_requests(requests: list[Any]) -> list[Any]:
        wrapped = []
        for request in requests:
            context, doc_to_messages, *rest = request.args
            request = copy.copy(request)
            request.arguments = (context, wrap(doc_to_messages, exhibitor), *rest)
            wrapped.append(request)
        return wrapped

    class ExhibitModel(model):  # type: ignore[misc]  # a class known only at run time
        def generate_until(self, requests: list[Any]) -> Any:
            return super().generate_until(wrap_requests(requests))

        def generate_until_multi_round(self, requests: list[Any]) -> Any:
            return super().generate_until_multi_round(wrap_requests(requests))

    ExhibitModel.__name__ = ExhibitModel.__qualname__ = f"{model.__name__}ShownByFramesift"
    return ExhibitModel
