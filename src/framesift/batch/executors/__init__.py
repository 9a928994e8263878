"""Where batch work runs: this process, local processes or a Ray cluster."""

from typing import get_args

from framesift.batch.executors.base import Engine, Executor
from framesift.errors import OptionError


def make_executor(name: Engine = "local", workers: int | None = None, address: str | None = None) -> Executor:
    """The executor of this name. workers: None for as many as fit; address: of a Ray cluster, None for this machine."""
    if name not in get_args(Engine):
        raise OptionError(f"engine is {name!r}; expected {', '.join(get_args(Engine))}")
    if workers is not None and (isinstance(workers, bool) or workers < 1):
        raise OptionError(f"workers is {workers}; expected a whole number of at least 1")
    if address is not None and name != "ray":
        raise OptionError(f"engine is {name!r}; an address needs the engine ray")
    if name == "ray":
        from framesift.batch.executors.ray import RayExecutor

        return RayExecutor(workers, address)
    if name == "inline":
        from framesift.batch.executors.inline import InlineExecutor

        return InlineExecutor()
    from framesift.batch.executors.local import LocalExecutor

    return LocalExecutor(workers)
