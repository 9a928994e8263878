"""The model that lmms-eval loads by the name framesift: any of its chat models, with exhibits for videos.

Only lmms-eval imports this module, when the model is asked for.
"""

import copy
from typing import Any

from lmms_eval.api.model import lmms
from lmms_eval.models import get_model

from framesift.bench.lmms import Exhibitor, parse_arguments, wrapped
from framesift.errors import OptionError


class Framesift(lmms):  # type: ignore[misc]  # the harness is not typed
    """Makes the chat model named by `inner`, changed in what it is shown and in nothing else.

    What comes back is of the inner model's own class, so that everything lmms-eval does with a model (ranks, devices,
    caches, clean-up) finds what it expects.
    """

    is_simple = False

    def __new__(cls, **given: Any) -> Any:
        inner, exhibitor, rest = parse_arguments(given)
        model = get_model(inner)
        if model.is_simple:
            raise OptionError(f"{inner} is no chat model of lmms-eval; expected one that takes messages")
        return showing(model, exhibitor)(**rest)


def showing(model: type, exhibitor: Exhibitor) -> type:
    """The model's class, with exhibits in the messages of its requests."""

    def exhibited(requests: list[Any]) -> list[Any]:
        changed = []
        for request in requests:
            context, doc_to_messages, *rest = request.args
            request = copy.copy(request)
            request.arguments = (context, wrapped(doc_to_messages, exhibitor), *rest)
            changed.append(request)
        return changed

    class Showing(model):  # type: ignore[misc]  # a class known at run time alone
        def generate_until(self, requests: list[Any]) -> Any:
            return super().generate_until(exhibited(requests))

        def generate_until_multi_round(self, requests: list[Any]) -> Any:
            return super().generate_until_multi_round(exhibited(requests))

    Showing.__name__ = Showing.__qualname__ = f"{model.__name__}ShownByFramesift"
    return Showing
