"""The nodes of a Dask cluster. The only module that imports Dask."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import dask.config
import msgspec
from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from tuilab.fleet import node as far
from tuilab.fleet.grid import Address, NodeLost, NodeUnfit
from tuilab.fleet.messages import RESOURCE, Greeting, JobResult, Task
from tuilab.model.errors import InputError, WorkerError
from tuilab.model.sanitize import sanitize, sanitize_line

CONNECT_S = 15.0
SLURM = "slurm"


class DaskGrid:
    """A client of a Dask scheduler. cluster: the queue jobs that this client started; None if it started no
    jobs.
    """

    def __init__(self, client: Any, cluster: Any = None) -> None:
        self._client, self._cluster = client, cluster
        self._leases: dict[str, Future] = {}
        self._taken: dict[str, list[str]] = {}

    @classmethod
    async def open(cls, on: str, jobs: int) -> "DaskGrid":
        """Connect to the scheduler at `on` (`tcp://host:8786`), or start `jobs` jobs in the queue (`slurm`).

        Raises InputError if `on` is neither an address nor `slurm`, and WorkerError if no scheduler answers.
        """
        # By default, Dask retries a missing scheduler forever.
        dask.config.set({"distributed.comm.timeouts.connect": CONNECT_S})
        cluster = await _queue(jobs) if on == SLURM else None
        try:
            client = Client(cluster or on, asynchronous=True, timeout=CONNECT_S)
            try:
                await client
            except BaseException:
                await client.close(timeout=0)
                raise
        except (OSError, TimeoutError) as error:
            raise WorkerError(
                f"no Dask scheduler answers at {on} ({error}); start one there with `dask scheduler`"
            ) from None
        except ValueError as error:
            raise InputError(
                "--on", on, f"an address such as tcp://host:8786, or {SLURM} ({error})"
            ) from None
        return cls(client, cluster)

    async def nodes(self) -> Mapping[str, Address]:
        """Return the scheduler's workers that offer RESOURCE. Raises WorkerError if the scheduler has
        ended.
        """
        try:
            identity = await self._client.scheduler.identity()
        except (OSError, CommClosedError) as error:
            raise WorkerError(f"the Dask scheduler no longer answers: {error}") from None
        return {
            place: Address(place=place, name=sanitize_line(str(about.get("name", "")), 100))
            for place, about in identity["workers"].items()
            if about["resources"].get(RESOURCE, 0) >= 1 and about["status"] == "running"
        }

    async def greet(self, node: Address) -> Greeting:
        future = self._submit(node, far.greet)
        answer = await self._answer(future)
        # A client must hold the future of the greeting, because the node stops its worker once no client
        # holds it.
        self._leases[node.place] = future
        return sanitize(msgspec.json.decode(answer, type=Greeting))

    async def measure(self, node: Address, task: Task) -> JobResult:
        task = msgspec.structs.replace(task, taken=tuple(self._taken.pop(node.place, ())))
        future = self._submit(node, far.measure, msgspec.json.encode(task))
        try:
            result = msgspec.json.decode(await self._answer(future), type=JobResult)
        finally:
            # A collected result must not be recomputed when its node leaves.
            future.release()
        self._taken.setdefault(node.place, []).append(task.request.id)
        return result

    async def stop(self) -> None:
        await self._everywhere(far.stop)

    def on_progress(self, topic: str, listen: Callable[[str, str], None]) -> None:
        def heard(event: tuple[float, list[str]]) -> None:
            listen(*map(str, event[1][:2]))

        self._client.subscribe_topic(topic, heard)

    async def close(self) -> None:
        """End the workers on the nodes, and the queue jobs that this client started."""
        await self._everywhere(far.close, tuple(run for runs in self._taken.values() for run in runs))
        await self._client.close()
        if self._cluster is not None:
            await self._cluster.close()

    async def _everywhere(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            places = list(await self.nodes())
            if places:
                await self._client.run(function, *arguments, workers=places, on_error="ignore")
        except (OSError, CommClosedError, WorkerError):
            pass  # a lost node no longer measures

    def _submit(self, node: Address, function: Callable[..., bytes], *arguments: bytes) -> Future:
        """Submit a function to this node only; the node runs one function at a time."""
        return self._client.submit(
            function,
            *arguments,
            key=f"tuilab-{function.__name__}-{uuid.uuid4().hex}",
            workers=[node.place],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
        )

    async def _answer(self, future: Future) -> bytes:
        try:
            result: bytes = await future
        except (FutureCancelledError, KilledWorker, CommClosedError) as error:
            raise NodeLost(str(error)) from None
        except ModuleNotFoundError as error:
            name = (error.name or "tuilab").partition(".")[0]
            raise NodeUnfit(
                f"{name} is not installed there; install it with `pip install 'tuilab[fleet]'`"
            ) from None
        except Exception as error:
            raise NodeUnfit(f"{type(error).__name__}: {error}") from None
        except asyncio.CancelledError:
            await future.cancel(asynchronous=True)
            raise
        return result


async def _queue(jobs: int) -> Any:
    """Start queue jobs as configured in `jobqueue.yaml`, each with one RESOURCE; return their cluster."""
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        expected = "an installed dask-jobqueue (`pip install dask-jobqueue`), or a scheduler's address"
        raise InputError("--on", SLURM, expected) from None
    extra = ["--resources", f"{RESOURCE}=1"]
    try:
        cluster = SLURMCluster(asynchronous=True, processes=1, worker_extra_args=extra)
    except (ValueError, TypeError) as error:
        expected = f"a queue described in ~/.config/dask/jobqueue.yaml ({error})"
        raise InputError("--on", SLURM, expected) from None
    await cluster
    cluster.scale(jobs=jobs)
    return cluster
