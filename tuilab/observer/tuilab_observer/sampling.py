"""Samples the Python stack of the thread that runs the steps."""

from __future__ import annotations

from .own import Flag, Own, Thread
from .places import is_own, site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from .account import Account
    from .datasets import Datasets
    from .eager import Eager
    from .facts import Facts
    from .functions import Functions
    from .process import Process

MOST_SITES, MOST_FRAMES = 2_000, 40
BETWEEN, BEFORE = -1, -3
"""Negative values in a sample, which replace a call's index: the sample was taken between two calls, or
before the first step.
"""


class Meanwhile:
    """Samples the account from another thread while the observing thread is busy.

    On a busy host, closing a window takes a second. Without samples, that second would count for the line
    that runs next. used: processor seconds that the sampling took.
    """

    _enough: Flag
    _thread: Thread

    def __init__(self, account: Account) -> None:
        self.account, self.used = account, 0.0

    def __enter__(self) -> None:
        self._enough, self._thread = Flag(), Thread(self._run)
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._enough.set()
        self._thread.join(1.0)

    def _run(self) -> None:
        enough = self._enough
        while not self.account.wait(enough):
            self.account.look()
        self.used += Own.thread_cpu()


class Sampler:
    """Takes samples of the Python stacks.

    samples, stacks: the samples and stacks since the last message. makers: for each line that another thread
    ran, the number of samples since observing began.
    """

    def __init__(
        self,
        process: Process,
        functions: Functions,
        eager: Eager,
        datasets: Datasets,
        facts: Facts,
        account: Account,
    ) -> None:
        self.account, self.meanwhile = account, Meanwhile(account)
        self.process, self.functions, self.eager = process, functions, eager
        self.datasets, self.facts = datasets, facts
        self.samples: dict[tuple[str, int, str, str, int], int] = {}
        self.stacks: dict[tuple[tuple[str, int], ...], int] = {}
        self.makers: dict[tuple[str, int, str], int] = {}
        self._eager = 0

    @property
    def eager_s(self) -> float:
        return self._eager * self.account.pause

    def sample(self, late: bool = False) -> None:
        """Record the current lines of the main thread and of the thread that runs the steps."""
        frames = self.account.frames()
        main, frame = frames.get(self.account.main), frames.pop(self.process.thread_of_steps, None)
        where = site(frame)
        while frames:
            maker = site(frames.popitem()[1])
            if maker is not None and (len(self.makers) < MOST_SITES or maker[:3] in self.makers):
                self.makers[maker[:3]] = self.makers.get(maker[:3], 0) + 1
        started = self.functions.totals or self.eager.tapes or self.datasets.batches
        inside = self.functions.in_call if started else BEFORE
        key = (*(where or ("", 0, "", "")), BETWEEN if inside is None else inside)
        if len(self.samples) < MOST_SITES or key in self.samples:
            self.samples[key] = self.samples.get(key, 0) + 1
        if self.facts.opened and inside in (None, BEFORE):
            self._look_for_ops(frame)
        self.account.sample(main, late)

    def _look_for_ops(self, frame: FrameType | None) -> None:
        """Record whether the thread that runs the steps is executing an individual op, and which user lines
        led to the op.
        """
        stack: list[tuple[str, int]] = []
        eager = False
        for _ in range(MOST_FRAMES):
            if frame is None:
                break
            code = frame.f_code
            if is_own(code.co_filename):
                stack.append((code.co_filename, frame.f_lineno))
            elif not stack:
                eager = eager or (frame.f_globals.get("__name__") or "").startswith("tensorflow.")
            frame = frame.f_back
        if not stack or not eager:
            self._eager = max(0, self._eager - 2)
            return
        self._eager += 1
        key = tuple(reversed(stack))
        if len(self.stacks) < MOST_SITES or key in self.stacks:
            self.stacks[key] = self.stacks.get(key, 0) + 1
