"""Compares two environments. They are equal, or one op takes TIMES times as long in the second environment.

`python -m tests.environments.turns TRIALS [TIMES [BUDGET]]` prints the claims of each trial. Without TIMES,
both environments are tuilab's own.
"""

import asyncio
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from tuilab.interpreter import environments
from tuilab.lab import Lab
from tuilab.model.result import EnvironmentPair
from tuilab.model.scenario import BudgetName

OWN = """
import tensorflow as tf

def inverse(n: int = 128):
    "An op of one thread and of little memory: what it takes depends least on what else the machine does."
    x = tf.random.stateless_uniform((n, n), seed=(1, 2)) + n * tf.eye(n)
    return lambda: tf.linalg.inv(x)
"""

SLOWED = """
import importlib.util, sys, time

class Slowed:
    "Every eager tf.linalg.inv of this environment takes {times} times as long as it would."

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.util.find_spec(name)
        sys.meta_path.insert(0, cls)  # so that a mere lookup finds it too
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            plain = module.linalg.inv

            def inv(*args, **named):
                begun = time.perf_counter()
                out = plain(*args, **named)
                until = begun + {times} * (time.perf_counter() - begun)
                while time.perf_counter() < until:
                    pass
                return out

            module.linalg.inv = inv

        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Slowed)
"""


def slowed(folder: Path, times: float) -> Path:
    """Create an environment with tuilab's own TensorFlow in which eager inverses take `times` times as
    long; return the environment's folder.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (site / "sitecustomize.py").write_text(SLOWED.format(times=times))
    return folder


async def trials(
    number: int, second: str, folder: Path, budget: BudgetName = "quick"
) -> AsyncIterator[EnvironmentPair]:
    """Compare tuilab's own environment (`first`) with the environment `second`, `number` times; yield
    each result.
    """
    file = folder / "own.py"
    file.write_text(OWN)
    both = environments(["first=.", f"second={second}"])
    async with Lab(hosts=[one.name for one in both], environments=both) as lab:
        settings = (await lab.settings(f"{file}:inverse")).with_arms(
            devices=("CPU",), modes=("eager", "graph")
        )
        for _ in range(number):
            result = await lab.measure(settings, budget=budget)
            assert result.status == "ok", result.message
            (pair,) = result.environments
            yield pair


async def _main(number: int, times: float = 0.0, budget: BudgetName = "quick") -> None:
    with tempfile.TemporaryDirectory() as scratch:
        second = str(slowed(Path(scratch, "slowed"), times)) if times else "."
        claimed = 0
        async for pair in trials(number, second, Path(scratch), budget):
            claimed += any(row.differs for row in pair.arms)
            rows = [f"{r.arm} {r.ratio:.3f} {r.ci95}{' DIFFERS' * r.differs}" for r in pair.arms]
            print("; ".join(rows), "|", pair.sentences[0], flush=True)
        print(f"a difference is claimed in {claimed} of {number}")


if __name__ == "__main__":
    number, *rest = sys.argv[1:]
    asyncio.run(_main(int(number), *map(float, rest[:1]), *rest[1:]))  # type: ignore[arg-type]
