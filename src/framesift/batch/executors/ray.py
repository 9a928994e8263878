"""The Ray executor: Ray Data actors, each of which supervises one worker process as the local pool does.

The worker is a process beside its actor, so that a decoder that crashes or hangs takes down neither the actor nor the
data flow. Ray places actors on machines and GPUs and restarts them when a machine is lost. Decoding and encoding stay
together in the worker, in two threads: frames never travel between machines.
"""

import json
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from framesift._utils.plugins import reason
from framesift._utils.requirements import require
from framesift.batch.executors.base import Executor, Limits, OnEvent, RunAborted, Task, TaskEvent, WorkerSpec
from framesift.batch.executors.local import WorkerPool
from framesift.errors import FramesiftError

# Rows arrive block by block; more blocks than this slow the driver down on very long lists.
MAX_BLOCKS = 20_000
CONNECT_S = 10.0
ACTOR_ENV = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # actors without a GPU keep CUDA_VISIBLE_DEVICES as it is


class RayExecutor(Executor):
    """Runs tasks on a Ray cluster. workers: actors, None for one per GPU or core; address: None for this machine."""

    def __init__(self, workers: int | None, address: str | None) -> None:
        self.workers, self.address = workers, address

    def run(
        self, spec: WorkerSpec, tasks: Sequence[Task], watch: OnEvent, *, limits: Limits, tries: Mapping[str, int]
    ) -> None:
        """Tasks are reported at their end. Those whose actor was lost with its machine are resubmitted."""
        if not tasks:
            return
        ray = require("ray", "ray")
        require("ray.data", "ray")
        started = _connect(ray, self.address)
        pending = {task.name: task for task in tasks}
        try:
            for _ in range(limits.tries):
                for event in self._run_round(ray, spec, list(pending.values()), limits, tries):
                    if not event.is_end or pending.pop(event.task.name, None) is not None:
                        watch(event)
                if not pending:
                    return
        except ray.exceptions.RayError as error:
            remedy = "finished work is saved: run the command again"
            raise FramesiftError(f"the run on Ray was interrupted ({reason(error)}); {remedy}") from error
        finally:
            if started:
                ray.shutdown()
        for task in pending.values():
            lost = f"{task.title}: its Ray actor was lost {limits.tries} times during this task"
            watch(TaskEvent("failed", task, "ray", limits.tries, error=lost))

    def _run_round(
        self, ray: Any, spec: WorkerSpec, tasks: Sequence[Task], limits: Limits, tries: Mapping[str, int]
    ) -> Iterator[TaskEvent]:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False  # the command shows its own
        context.max_errored_blocks = -1  # a lost block is resubmitted in the next round; the others continue
        rows = [{"task": json.dumps({"tries": tries.get(task.name, 0), "task": asdict(task)})} for task in tasks]
        actors, resources = actor_resources(ray.cluster_resources(), self.workers, len(tasks))
        flow = ray.data.from_items(rows, override_num_blocks=min(len(rows), MAX_BLOCKS)).map(
            SupervisorActor,
            fn_constructor_args=(spec.name, dict(spec.settings), asdict(limits)),
            compute=ray.data.ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=1),
            **resources,
        )
        for row in flow.iter_rows():
            if row["aborted"]:
                raise RunAborted(row["aborted"])
            for value in json.loads(row["events"]):
                yield TaskEvent(**{**value, "task": Task(**value["task"])})


class SupervisorActor:
    """A Ray actor: a pool of one worker process, reused from task to task."""

    def __init__(self, name: str, settings: Mapping[str, Any], limits: Mapping[str, Any]) -> None:
        import ray

        prefix = f"ray {(ray.get_runtime_context().get_actor_id() or '')[:6]}"
        self._pool = WorkerPool(WorkerSpec(name, settings), 1, Limits(**limits), prefix)

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        value = json.loads(row["task"])
        task = Task(**value["task"])
        events: list[TaskEvent] = []
        aborted = ""
        try:
            self._pool.run([task], events.append, {task.name: value["tries"]})
        except RunAborted as error:
            events, aborted = [], str(error)
        except FramesiftError as error:  # no worker can start on this machine: the others continue
            events = [TaskEvent("failed", task, "ray", error=str(error))]
        reported = [asdict(event) for event in events if event.kind != "moved"]
        return {"events": json.dumps(reported), "aborted": aborted}


def actor_resources(resources: Mapping[str, float], workers: int | None, tasks: int) -> tuple[int, dict[str, float]]:
    """How many actors, and the resources of each: with GPUs, the cores are divided among the actors that hold one.

    Without GPUs, an actor holds one core.
    """
    cores, gpus = resources.get("CPU", 1.0), resources.get("GPU", 0.0)
    wanted = workers or int(gpus or cores)
    count = max(1, min(wanted, tasks))
    if not gpus:
        return min(count, max(1, int(cores))), {"num_cpus": 1}
    return count, {"num_cpus": max(1.0, float(int(cores / wanted))), "num_gpus": min(1.0, gpus / wanted)}


def is_reachable(address: str) -> bool:
    """Whether something listens at the address; Ray itself would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # "auto" and the like
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def _connect(ray: Any, address: str | None) -> bool:
    """Connect to the cluster, or start one on this machine; returns whether to shut it down afterwards."""
    if ray.is_initialized():
        return False
    if address and not is_reachable(address):
        raise FramesiftError(f"the Ray cluster at {address} can't be reached: check that it runs, and the address")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its log would overwrite the progress bars
    logging.getLogger("ray").setLevel(logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # On this machine the actors import this process's modules; on a cluster framesift is installed on every node.
    env = {} if address else {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": {**ACTOR_ENV, **env}},
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address} can't be reached" if address else "Ray can't start here"
        raise FramesiftError(f"{where} ({reason(error)})") from error
    return True
