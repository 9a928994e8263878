"""Where batch work runs: this process, local processes or a Ray cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_args

from framesift._utils.settings import check_count, check_names
from framesift.batch.executors.base import Engine, Executor, Limits, OnBegin, OnEvent
from framesift.errors import OptionError
from framesift.pipeline.config import RECORDS, PipelineConfig


@dataclass(frozen=True)
class Execution:
    """Where a run is executed, within which limits of one task, and who follows it.

    engine: "local" (workers: processes; by default as cores and memory allow), "ray" (address: of a cluster; by default
    this machine) or "inline" (this process). begin is called with the number of tasks to do and of those skipped, watch
    with every `TaskEvent`.
    """

    engine: Engine = "local"
    workers: int | None = None
    address: str | None = None
    limits: Limits = field(default_factory=Limits)
    begin: OnBegin | None = None
    watch: OnEvent | None = None

    def __post_init__(self) -> None:
        if self.engine not in get_args(Engine):
            raise OptionError(f"engine is {self.engine!r}; expected {', '.join(get_args(Engine))}")
        check_count("workers", self.workers)
        if self.address is not None and self.engine != "ray":
            raise OptionError(f"engine is {self.engine!r}; an address needs the engine ray")

    def make_executor(self) -> Executor:
        if self.engine == "ray":
            from framesift.batch.executors.ray import RayExecutor

            return RayExecutor(self.workers, self.address)
        from framesift.batch.executors.local import InlineExecutor, LocalExecutor

        return InlineExecutor() if self.engine == "inline" else LocalExecutor(self.workers)


def split_settings(config: PipelineConfig | None, settings: Mapping[str, Any]) -> tuple[PipelineConfig, Execution]:
    """The configuration with these settings in place of its own, and the settings of the run among them."""
    check_names(settings, Execution, *RECORDS.values())
    own = {f.name: settings[f.name] for f in fields(Execution) if f.name in settings}
    others = {name: value for name, value in settings.items() if name not in own}
    return (config or PipelineConfig()).replace(**others), Execution(**own)
