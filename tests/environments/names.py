"""Generates the checker's list of differences between TensorFlow versions. Reads the names of each version in
an environment that has this version.

`python -m tests.environments.names` writes the shipped file. Run it again when a version is added or the
shipped table changes to another version.
"""

import asyncio
import re
from pathlib import Path

from tests.environments import build
from tuilab.documents.api import tables
from tuilab.documents.api.tables import pack, shipped
from tuilab.documents.api.versions import BEFORE, FILE, Difference, Versions
from tuilab.lab import Lab
from tuilab.lab.opening import asked_names
from tuilab.model.api import ApiTable, Signature
from tuilab.model.environment import Environment
from tuilab.model.files import SHARED, write_bytes

_KERAS = re.compile(r"(?:tf\.)?keras\b|tf\.(?:losses|metrics|optimizers|initializers)\b")
# names from Python, protobuf or absl
_NOT_ITS_OWN = re.compile(
    r"tf\.test\.TestCase\.|tf\.types\.experimental\.FunctionType\.|.*\.RegisterExtension$"
)
_ENUMERATION = ("value", "names", "module", "qualname")


def asked(folder: Path) -> ApiTable:
    async def ask() -> ApiTable:
        own = Environment(python=str(folder / "bin" / "python"), folder=str(folder))
        async with Lab(environments=(own,)) as lab:
            return await asked_names(lab)

    return asyncio.run(ask())


def difference(base: ApiTable, other: ApiTable, only_gone: bool = False) -> Difference:
    """Return how the version `other` differs from `base`: added names, removed names and changed signatures.
    only_gone: omit the signatures, and the members of classes and of removed modules.
    """
    here, there = ({*table.names, *table.modules} for table in (other, base))
    if only_gone:
        gone = here - there
        kept = {
            name
            for name in gone
            if (above := name.rpartition(".")[0]) not in gone
            and not above.rpartition(".")[2][:1].isupper()  # methods are called through their objects
            and not _NOT_ITS_OWN.match(name)
        }
        return Difference(
            version=other.version, more=tuple(sorted(kept)), less=tuple(sorted(filter(counts, there - here)))
        )
    signatures = {
        name: signature
        for name, signature in other.signatures.items()
        if counts(name) and (name not in there or _differs(signature, base.signatures.get(name)))
    }
    return Difference(
        version=other.version,
        more=tuple(sorted(filter(counts, here - there))),
        less=tuple(sorted(filter(counts, there - here))),
        signatures=signatures,
    )


def _differs(one: Signature, other: Signature | None) -> bool:
    """Return True if the signatures differ. Ignores enumerations and C methods, whose signatures depend
    on the Python version.
    """
    enumerations = [s for s in (one, other) if s and s.parameters[: len(_ENUMERATION)] == _ENUMERATION]
    return other is not None and one != other and not enumerations


def counts(name: str) -> bool:
    """Return True if TensorFlow itself, not Python or another library, defines this name."""
    return not _KERAS.match(name) and not _NOT_ITS_OWN.match(name)


def main() -> None:
    base = shipped()
    every = [difference(base, asked(build.environment(BEFORE)), only_gone=True)]
    every += [difference(base, asked(build.environment(each))) for each in (build.OLDEST, *build.BETWEEN)]
    target = Path(tables.__file__).parent / "data" / FILE
    write_bytes(target, pack(Versions(tuple(every))), SHARED)
    for each in every:
        print(
            f"{each.version}: {len(each.more)} more, {len(each.less)} less, {len(each.signatures)} signatures"
        )
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
