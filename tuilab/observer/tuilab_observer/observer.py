"""Observes one process in one thread. The program's own threads only record events."""

from __future__ import annotations

import os
import sys

from .calls import Calls
from .datasets import Datasets
from .eager import Eager
from .facts import Facts
from .functions import Functions
from .graphs import Graphs
from .own import Own, Thread
from .places import places
from .process import Process, Settings
from .sampling import Sampler
from .windows import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .account import Account

FLUSH_S, ACCOUNT_S = 0.25, 1.0
MOST_TRACES = 200


class Observer:
    """The observer of one process.

    module: the TensorFlow module. wanted: tuilab's request to capture a tf.function at its next call.
    """

    def __init__(self, module: Any, settings: Settings, account: Account) -> None:
        folder = os.path.dirname(os.path.abspath(module.__file__)) + os.sep
        places.add_library(folder)
        process = self.process = Process(module, settings)
        self.calls, self.facts = Calls(), Facts(process)
        self.functions = Functions(process, self.calls, account)
        self.eager = Eager(process, self.functions)
        self.datasets = Datasets(process, self.functions, self.eager, account)
        self.sampler = Sampler(process, self.functions, self.eager, self.datasets, self.facts, account)
        graphs = Graphs(process, self.functions)
        self.windows = Windows(
            process, self.functions, self.eager, self.datasets, self.sampler, graphs, folder
        )
        self.wanted: Any = None
        self.account, self._accounted, self._used = account, 0.0, 0.0
        self._delays: dict[int, float] = {}
        self._thread = Thread(self._run)

    # Methods called from the program's threads

    def start(self) -> None:
        self._thread.start()

    def end(self, patience: float) -> None:
        try:
            self.account.ended = Own.now()
            self.process.leaving.set()
            self.windows.leave()
            if self._thread.join(patience):
                self.process.channel.sender = Own.thread()
                self.account.sample(None)
                self.flush(last=True)
                self.process.channel.send("end", now=Own.now(), cpu=Own.cpu())
            self.process.channel.close()
        except Exception:
            pass

    # Methods called from the observing thread

    def _run(self) -> None:
        self.process.channel.sender = Own.thread()
        try:
            self._hello()
            flushed, due = Own.now(), None
            while not self.account.wait(self.process.leaving):
                if not self.process.channel.open:
                    return
                self.sampler.sample()
                self.wanted = self.process.channel.request() or self.wanted
                if Own.now() - flushed >= FLUSH_S:
                    self.flush()
                    flushed = Own.now()
                    due = self.windows.due(due)
                    if due is not None and Own.now() >= due:
                        self.windows.window(self.flush)
                        due = self.windows.after()
        except Exception as error:
            self.process.fault(error)
        self._used = Own.thread_cpu()

    def _hello(self) -> None:
        self.process.channel.send(
            "hello",
            pid=self.process.pid,
            parent=os.getppid(),
            script=getattr(sys.modules.get("__main__"), "__file__", None) or "",
            folder=os.getcwd(),
            executable=sys.executable,
            python="%d.%d.%d" % sys.version_info[:3],
            tensorflow=self.process.tf.__version__,
            processors=len(getattr(os, "sched_getaffinity", lambda _: ())(0)) or os.cpu_count() or 0,
            began=self.process.settings.began,
            now=Own.now(),
            clock=Own.clock(),
            environment=self.process.settings.environment,
        )

    def flush(self, last: bool = False) -> None:
        functions, datasets, sampler = self.functions, self.datasets, self.sampler
        calls, functions.calls = functions.calls, []
        waits, datasets.waits = datasets.waits, []
        samples, sampler.samples = sampler.samples, {}
        stacks, sampler.stacks = sampler.stacks, {}
        traced, functions.traced = functions.traced, {}
        for number, traces in traced.items():
            self.process.channel.send("traces", number=number, traces=traces[:MOST_TRACES])
        if calls or waits or samples:
            self.process.channel.send(
                "steps",
                now=Own.now(),
                cpu=Own.cpu(),
                delayed=self._delayed(),
                calls=calls,
                waits=waits,
                samples=[[*key, count] for key, count in samples.items()],
                stacks=list(stacks.items()),
                iterators=datasets.iterators,
                made=list(functions.remade.items()),
                makers=[[*key, count] for key, count in sampler.makers.items()],
                reads=[[*key, *row] for key, row in list(self.eager.reads.items())],
                fed=[[number, *row] for number, row in list(functions.fed.items())],
                tapes=[[*key, *row] for key, row in list(self.eager.tapes.items())],
                copied=[[*key, *row] for key, row in list(self.eager.copied.items())],
                compiled=[[number, *row] for number, row in list(functions.compiled.items())],
            )
        self.facts.send(last)
        if last or Own.now() - self._accounted >= ACCOUNT_S:
            self._accounted = Own.now()
            self._send_account(last)

    def _send_account(self, last: bool) -> None:
        self.process.channel.send(
            "account",
            rows=[[*row, seconds] for row, seconds in self.account.take()],
            calls=[[*key, *row] for key, row in list(self.calls.rows.items())],
            wall=Own.now() - self.account.began,
            watching=self._used + self.sampler.meanwhile.used + (0.0 if last else Own.thread_cpu()),
            cpu=Own.cpu(),
            final=last,
        )

    def _delayed(self) -> float:
        """Return the seconds for which the thread that runs the steps has waited for a processor, since the
        first call of this method; 0 if unknown.
        """
        try:
            with Own.open("/proc/self/task/%d/schedstat" % self.process.task) as file:
                found = int(file.read().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0
        return found - self._delays.setdefault(self.process.task, found)
