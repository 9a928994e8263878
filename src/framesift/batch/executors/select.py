"""Where the work is done: processes of this machine, or a Ray cluster's. Both run the same workers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from framesift._utils.memory import free_memory
from framesift.batch.executors.base import Engine, Limits, Report, Task
from framesift.batch.executors.local import Pool, cores
from framesift.errors import OptionError

# A worker with the offline encoder took 0.6 GiB at its peak on 1080p; this leaves room for 4K and long videos. A model
# that wants more wants --workers.
WORKER_BYTES = 1.5 * 2**30


@dataclass(frozen=True)
class Engines:
    """The engine asked for: how many workers (None: as many as fit), and the address of a Ray cluster."""

    name: Engine = "local"
    workers: int | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(Engine):
            raise OptionError(f"engine is {self.name!r}; expected local or ray")
        if self.workers is not None and (isinstance(self.workers, bool) or self.workers < 1):
            raise OptionError(f"workers is {self.workers}; expected a whole number of at least 1")
        if self.address is not None and self.name != "ray":
            raise OptionError("an address goes with the engine ray")


def run_tasks(
    engines: Engines,
    work: str,
    settings: Mapping[str, Any],
    tasks: Sequence[Task],
    *,
    limits: Limits,
    tries: Mapping[str, int] | None = None,
) -> Iterator[Report]:
    """Do the tasks and report what happens. work: a name of `worker.WORKS`. tries: how many some have had already."""
    if engines.name == "ray":
        from framesift.batch.executors.ray import run_on_ray

        yield from run_on_ray(engines, work, settings, tasks, limits=limits, tries=tries or {})
        return
    workers = min(engines.workers or default_workers(), max(1, len(tasks)))
    with Pool(work, settings, workers=workers, limits=limits) as pool:
        yield from pool.run(tasks, tries=tries)


def default_workers() -> int:
    """One per core, as far as the memory that is free allows."""
    free = free_memory()
    return cores() if free is None else max(1, min(cores(), int(free / WORKER_BYTES)))
