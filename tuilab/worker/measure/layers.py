"""Computes the arithmetic, the bytes and the share of the kernel time of each layer of a model."""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from tuilab.model.models import LayerWork
from tuilab.model.ops import LOOPS, PRODUCTS
from tuilab.model.roofline import Work
from tuilab.profile.sums import Sums
from tuilab.worker.measure.counting import Counted, Part
from tuilab.worker.measure.work import arithmetic_of

Tree = Mapping[str, Any]
"""Layers by name: the kind of each layer, or the subtree of a nested model."""

MOST = 2_000
_CALLS = re.compile(r"(?:Stateful)?PartitionedCall(?:_\d+)?")
_ASIDE = ("gradient_tape", "ConstantFolding", "ArithmeticOptimizer")
"""Scopes that TensorFlow adds around a layer's op names."""
_LOSS = "compile_loss"
_IN_LOOP = re.compile(r"(?:^|/)while(?:_\d+)?(?:_grad)?/")
"""Matches a scope of `tf.while_loop` or of its gradient."""
_AGAIN = re.compile(r"_\d+$")
_FUSED = ("_Fused", "_Mkl", "_OneDnn")
_UPDATES = (
    "AssignSubVariableOp",
    "AssignAddVariableOp",
    "ResourceApply",
    "ResourceScatter",
    "ResourceSparseApply",
)
MOST_FUSED = 4
"""Maximum number of ops that one kernel fuses after a matmul or convolution."""
WHOLE = 0.95
"""A scope with at least this share of the arithmetic counts as the whole model, not as a layer."""


class Layers:
    """Maps ops to layers by name.

    tree: a Keras model's layers; None if there are only name scopes. parts: the counted parts of the call.
    """

    def __init__(self, tree: Tree | None, parts: Sequence[Part]) -> None:
        self._tree = tree
        self._known = frozenset(_names(tree)) if tree is not None else frozenset[str]()
        scopes = [(part.flop or 0.0, _scopes(part.name)) for part in parts]
        self._exact = self._votes(each for _, names in scopes for each in names)
        self._root = _root(scopes) if tree is None else []
        self._products = _Products(parts)
        updates = [_scopes(part.name) for part in parts if part.op.startswith(_UPDATES)]
        self._optimizers = {scopes[0] for scopes in updates if scopes and not self._path(scopes)}

    def ran(self, name: str, op: str) -> tuple[str, str]:
        """Return the name and kind of the layer of an op that ran. A fused op is in the layer of its matmul
        or convolution.
        """
        return self.of(self._products.of(name, op), op)

    def of(self, name: str, op: str) -> tuple[str, str]:
        """Return the name and kind of an op's layer, as in `("block/conv", "Conv2D")`; "" for unknown
        parts.
        """
        scopes = _scopes(name)
        if self._tree is None:
            depth = len(self._root)
            inner = scopes[depth:] if scopes[:depth] == self._root else scopes
            return (inner[0], "") if inner else (op, "")
        if scopes and scopes[0] == _LOSS:
            return _LOSS, "loss"
        path = self._path(scopes)
        if path and path[1]:
            return path
        if scopes and scopes[0] in self._optimizers:
            return scopes[0], "optimizer"
        beside = scopes[0] if not path and len(scopes) == 1 else ""
        return beside, "scope" if beside else ""

    def _path(self, scopes: Sequence[str]) -> tuple[str, str] | None:
        """Return the name and kind of the layer with these scopes; the kind of a nested model is "". Return
        None if there is no layer.
        """
        found, level = list[str](), self._tree or {}
        for scope in scopes:
            child = self._child(level, scope)
            if child is None:
                continue
            found.append(child)
            inside = level[child]
            if isinstance(inside, str):
                return "/".join(found), inside
            level = inside
        return ("/".join(found), "") if found else None

    def _child(self, level: Tree, scope: str) -> str | None:
        """Return the layer that a scope belongs to. From the second use of a layer on, Keras appends a number
        to the scope.
        """
        plain = _AGAIN.sub("", scope)
        order = (scope, plain) if self._exact else (plain, scope)
        return next((name for name in order if name in level), None)

    def _votes(self, scopes: Iterable[str]) -> bool:
        """Return True if the scopes match the layers' names better with the final number than without it.

        This decides whether the scope `dense_1` is the layer of that name or the second use of the layer
        `dense`.
        """
        votes = 0
        for scope in scopes:
            plain = _AGAIN.sub("", scope)
            if plain != scope:
                votes += (scope in self._known) - (plain in self._known)
            else:
                votes += scope in self._known
        return votes > 0


def layers_of(found: Counted, of: Sums, tree: Tree | None, started: float = 1.0) -> tuple[LayerWork, ...]:
    """Return each layer with its work and its share of the computing time, slowest first.

    started: share of the dispatch time that is spent on the ops; the rest is the cost of starting the call
    itself.
    """
    whose = Layers(tree, found.parts)
    parts: dict[str, list[Part]] = defaultdict(list)
    kinds: dict[str, str] = {}
    for part in found.parts:
        # A loop whose iterations are not counted stands for the ops of its body.
        name, kind = whose.of(f"{part.name}/body" if part.op in LOOPS else part.name, part.op)
        parts[name].append(part)
        kinds[name] = kind
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(of.each))
    for number, ops in enumerate(of.each):
        computing = of.calls[number].get("compute", 0.0)
        for key, time in ops.items():
            if key in of.computed and computing:
                name, kind = whose.ran(key.name, key.op)
                spent[name][number] += min(1.0, time / computing)
                kinds.setdefault(name, kind)
    typical = {name: statistics.median(shares) for name, shares in spent.items() if shares}
    whole = max(1.0, sum(typical.values()))
    # Take the number of executions from the graph, not from the profile, because TensorFlow's executor stops
    # recording cheap ops.
    looping: dict[str, float] = defaultdict(float)
    for part in found.parts:
        if _IN_LOOP.search(part.name):
            looping[whose.of(part.name, part.op)[0]] += part.runs
    executed = sum(part.runs for part in found.parts)
    told = [
        LayerWork(
            name=name,
            kind=kinds[name] or _kind(parts[name]),
            computing=typical.get(name, 0.0) / whole,
            computing_ends=_ends(spent[name]) if len(of.each) > 1 else None,
            work=_work(found, parts[name]),
            looping=started * looping[name] / executed if executed else 0.0,
        )
        for name in {**parts, **spent}
        if name
    ]
    return tuple(sorted(told, key=lambda layer: (-layer.computing, layer.name))[:MOST])


def _ends(shares: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the median's 95% interval; the smallest and largest of fewer than six values."""
    ordered, n = sorted(shares), len(shares)
    # the number of values below the median of the population has a binomial distribution
    skip = int(max(0.0, n / 2 - 0.98 * math.sqrt(n)))
    return ordered[skip], ordered[n - 1 - skip]


class _Products:
    """Finds the matmul or convolution in a fused kernel, whose work belongs to that op's layer."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = {part.name: part for part in parts}
        self._makers = {key: part for part in parts for key in part.writes}

    def of(self, name: str, op: str) -> str:
        """Return the name of the matmul or convolution in a fused op, or the given name if there is none."""
        known = _CALLS.sub("", name).lstrip("/") if name not in self._parts else name
        part = self._parts.get(known)
        if part is None or not op.startswith(_FUSED):
            return name
        for _ in range(MOST_FUSED):
            if part.op in PRODUCTS:
                return part.name
            before = [self._makers[key] for key in part.reads if key in self._makers]
            inner = [maker for maker in before if maker is not part and maker.reads]
            if not inner:
                return name
            part = next((maker for maker in inner if maker.op in PRODUCTS), inner[0])
        return name


def _work(found: Counted, parts: Sequence[Part]) -> Work:
    read, left = found.touched(parts)
    return replace(
        arithmetic_of(parts),
        inputs=sum(read.values()),
        outputs=sum(left.values()),
        uncounted=tuple(dict.fromkeys(part.op for part in parts if part.flop is None)),
    )


def has_loops(found: Counted) -> bool:
    return any(_IN_LOOP.search(part.name) for part in found.parts)


def _kind(parts: Sequence[Part]) -> str:
    most: Counter[str] = Counter()
    for part in parts:
        most[part.op] += int(part.flop or 0)
    return most.most_common(1)[0][0] if most else "scope"


def _scopes(name: str) -> list[str]:
    return [each for each in name.split("/")[:-1] if each not in _ASIDE and not _CALLS.fullmatch(each)]


def _root(scopes: Sequence[tuple[float, list[str]]]) -> list[str]:
    root: list[str] = []
    whole = sum(flop for flop, _ in scopes)
    while whole:
        beneath = [(flop, names) for flop, names in scopes if names[: len(root)] == root]
        children = {names[len(root)] for _, names in beneath if len(names) > len(root)}
        most: Counter[str] = Counter()
        for flop, names in beneath:
            if len(names) > len(root) + 1:
                most[names[len(root)]] += int(flop)
        if not most or most.most_common(1)[0][1] < WHOLE * whole or (root and len(children) > 1):
            break
        root.append(most.most_common(1)[0][0])
    return root


def _names(tree: Tree) -> Iterable[str]:
    for name, inside in tree.items():
        yield name
        if not isinstance(inside, str):
            yield from _names(inside)
