"""The Ray engine: tasks flow through Ray Data's actors, each of which watches one worker as the local pool does.

The worker is a process beside its actor, so that a decoder that crashes or hangs takes down neither the actor nor the
flow. Ray's part is what it is good at: placing actors on machines and GPUs, restarting them when a machine is lost.
Decoding and encoding stay together in the worker, in two threads: pictures never travel between machines.
"""

import json
import logging
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from framesift._utils.optional import require
from framesift.batch.executors.base import Limits, Report, Task
from framesift.batch.executors.local import Pool
from framesift.errors import FramesiftError

if TYPE_CHECKING:
    from framesift.batch.executors.select import Engines

# Rows come back block by block; more blocks than this weigh on the driver of a very long list.
MOST_BLOCKS = 20_000
CONNECT_S = 10.0
QUIET = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # actors without a GPU keep the surroundings' own setting


def run_on_ray(
    engines: "Engines",
    work: str,
    settings: Mapping[str, Any],
    tasks: Sequence[Task],
    *,
    limits: Limits,
    tries: Mapping[str, int],
) -> Iterator[Report]:
    """The reports of every task's last try. Tasks whose actor was lost with its machine go round again."""
    if not tasks:
        return
    ray = require("ray", "ray")
    require("ray.data", "ray")
    started = _connect(ray, engines.address)
    try:
        left = {task.name: task for task in tasks}
        for _ in range(limits.tries):
            had = {name: tries.get(name, 0) for name in left}
            for report in _one_round(ray, engines, work, settings, list(left.values()), limits, had):
                if report.is_end and left.pop(report.task.name, None) is None:
                    continue
                yield report
            if not left:
                return
        for task in left.values():
            error = f"{task.name}: its Ray actor was lost {limits.tries} times while it was worked on"
            yield Report("failed", task, "ray", limits.tries, error=error)
    except ray.exceptions.RayError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise FramesiftError(
            f"the run on Ray broke off ({reason}); what was done so far is kept: run the command again"
        ) from error
    finally:
        if started:
            ray.shutdown()


class Supervised:
    """What an actor is: a pool of one worker, kept from task to task."""

    def __init__(self, work: str, settings: Mapping[str, Any], limits: Mapping[str, Any]) -> None:
        import ray

        name = f"ray {(ray.get_runtime_context().get_actor_id() or '')[:6]}"
        self._pool = Pool(work, settings, workers=1, limits=Limits(**limits), names=name)

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        value = json.loads(row["task"])
        task = Task(value["name"], value["data"])
        try:
            told = list(self._pool.run([task], tries={task.name: value["tries"]}))
        except FramesiftError as error:  # no worker can start here: a sentence, not a stack trace out of Ray
            told = [Report("failed", task, "ray", error=str(error))]
        kept = [asdict(report) for report in told if report.kind != "moved"]
        return {"reports": json.dumps(kept)}


def _one_round(
    ray: Any,
    engines: "Engines",
    work: str,
    settings: Mapping[str, Any],
    tasks: Sequence[Task],
    limits: Limits,
    tries: Mapping[str, int],
) -> Iterator[Report]:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False  # ours is shown
    context.max_errored_blocks = -1  # one that is lost goes round again; the others go on
    rows = [{"task": json.dumps({"name": t.name, "data": dict(t.data), "tries": tries[t.name]})} for t in tasks]
    workers, resources = _shares(ray.cluster_resources(), engines.workers, len(tasks))
    flow = ray.data.from_items(rows, override_num_blocks=min(len(rows), MOST_BLOCKS)).map(
        Supervised,
        fn_constructor_args=(work, dict(settings), asdict(limits)),
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        **resources,
    )
    yield from _reports(flow.iter_rows())


def _reports(rows: Iterable[Mapping[str, str]]) -> Iterator[Report]:
    for row in rows:
        for value in json.loads(row["reports"]):
            yield Report(**{**value, "task": Task(**value["task"])})


def _shares(resources: Mapping[str, float], workers: int | None, tasks: int) -> tuple[int, dict[str, float]]:
    """How many actors, and what each claims: with GPUs, the cores are shared out among the actors that hold one.

    Without, an actor claims one core.
    """
    cores, gpus = resources.get("CPU", 1.0), resources.get("GPU", 0.0)
    wanted = workers or int(gpus or cores)
    count = max(1, min(wanted, tasks))
    if not gpus:
        return min(count, max(1, int(cores))), {"num_cpus": 1}
    return count, {"num_cpus": max(1.0, float(int(cores / wanted))), "num_gpus": min(1.0, gpus / wanted)}


def _answers(address: str) -> bool:
    """Whether anybody listens there; Ray itself would wait for minutes before it says no."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # "auto" and the like
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def _connect(ray: Any, address: str | None) -> bool:
    """Join the cluster, or start one on this machine; whether it is ours to stop."""
    if ray.is_initialized():
        return False
    if address and not _answers(address):
        raise FramesiftError(f"the Ray cluster at {address} can't be reached: check that it runs, and the address")
    # On this machine the actors find the modules we have; on a cluster framesift is installed on every node.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # else it writes over our progress
    logging.getLogger("ray").setLevel(logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    env = {} if address else {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": {**QUIET, **env}},
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        where = f"the Ray cluster at {address} can't be reached" if address else "Ray can't start here"
        raise FramesiftError(f"{where} ({(str(error).splitlines() or ['no reason given'])[0]})") from error
    return True
