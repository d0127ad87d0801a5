"""Counts how many of a hundred seeded changes the quick tests detect: `python -m tests.mutation`."""

import argparse
import tempfile
from pathlib import Path

from tests.mutation.changes import seeded
from tests.mutation.trial import Copy, load, save

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Print each change when it is tried, and at the end the changes that no test detected."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--reach", type=Path, help="where the lines that tests run are kept between calls")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(ROOT, Path(folder))
        if asked.reach is not None and asked.reach.exists():
            reach = load(asked.reach)
        else:
            reach = copy.reach()
            if asked.reach is not None:
                save(reach, asked.reach)
        left = []
        chosen = seeded(ROOT, asked.seed, asked.number)
        for number, change in enumerate(chosen, 1):
            noticed = copy.notices(change, reach)
            left += [] if noticed else [change]
            print(f"{number:3} {change}  {noticed or 'SURVIVES'}", flush=True)
        print(f"{len(chosen) - len(left)} of {len(chosen)} noticed", *left, sep="\n")


if __name__ == "__main__":
    main()
