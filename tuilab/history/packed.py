"""Packs many rounds of one run into arrays ("pieces"). They take a tenth of the space of JSON lines, and are
folded into a run's state in one step.

A piece holds consecutive rounds column by column. For each arm and point ("cell"), it holds the seconds,
latencies and calls of the blocks; for each round, its number, times, canary time and block order. Nothing is
rounded: unpacking gives the original lines byte for byte. Rounds in any other format stay lines.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec

from tuilab.model import events as e
from tuilab.model.errors import UNDECODED
from tuilab.model.rounds import CellRounds, Rounds

FORM = 1
"""Version of the format: the first byte of a piece."""
MOST = 2**22
"""Maximum number of blocks or rounds in a piece. Each takes at least 30 bytes in a line of JSON."""
MOST_CELLS = 2**16
MOST_BYTES = 2**28
"""Maximum number of bytes in a decompressed piece: 64 bytes for each block."""

_MOST = 2**63 - 1


class _Piece(msgspec.Struct, array_like=True):
    """The content of a piece, before the arrays are split into byte planes."""

    run: str
    worker: int
    count: int
    cells: list[tuple[str, int]]
    """Arm and point of each cell."""
    blocks: list[int]
    """Number of blocks in each cell."""
    numbers: bytes
    """int64: number of each event in its run, as the difference from the previous event's number."""
    indices: bytes
    """int64: index of each round in its run, as the difference from the previous round's index."""
    regular: bool
    """True if every round has each cell once."""
    sizes: bytes
    """int32: number of blocks in each round."""
    order: bytes
    """uint16: cell of each block, in the order of the rounds."""
    elapsed: bytes
    """float64: `elapsed_s` of each round."""
    timed: bytes | None
    """float64: `timed_s` of each round; None if each equals the sum of its blocks' seconds, as in rounds
    from a worker.
    """
    canary: bytes
    """float64: seconds of the canary (a fixed reference computation), only for rounds that have one."""
    sung: bytes
    """uint8: 1 if the round has a canary time."""
    repeated: bytes
    """uint8: 1 if the round was repeated."""
    calls: bytes
    """int64: calls in each block, cell by cell; a single number if all are equal."""
    seconds: bytes
    """float64: seconds of each block, cell by cell."""
    latency: bytes
    """float64: latencies in seconds, only for blocks that have one."""
    single: bytes
    """uint8: 1 if the block has a latency; a single number if all are equal."""


_encode = msgspec.msgpack.Encoder().encode
_decoder = msgspec.msgpack.Decoder(_Piece)


class Damaged(ValueError):
    """A piece differs from the data that was written."""


def exact(line: bytes) -> e.Round | None:
    """Return the round in a line; None if packing would lose information.

    Packing is lossless if the line is in tuilab's own format and all its numbers fit into 64 bits.
    """
    try:
        event = e.decode(line)
    except UNDECODED:
        return None
    if not isinstance(event, e.Round) or e.encode(event).rstrip() != line:
        return None
    whole = [event.index, event.worker, *(n for b in event.blocks for n in (b.calls, b.point))]
    return event if all(-_MOST <= n <= _MOST for n in whole) else None


def pack(rounds: Sequence[tuple[int, e.Round]]) -> bytes | None:
    """Pack rounds with ascending event numbers; return None if the rounds do not fit in one piece."""
    first = rounds[0][1]
    if any(r.run != first.run or r.worker != first.worker for _, r in rounds):
        return None
    if max(len(rounds), sum(len(r.blocks) for _, r in rounds)) > MOST:
        return None
    by_cell, order = _by_cell(r.blocks for _, r in rounds)
    if len(by_cell) > MOST_CELLS:
        return None
    regular = all(
        len(r.blocks) == len(by_cell) == len({(b.arm, b.point) for b in r.blocks}) for _, r in rounds
    )
    every = [b for some in by_cell.values() for b in some]
    timed = array("d", [r.timed_s for _, r in rounds])
    derived = timed.tobytes() == array("d", [_timed_s(r.blocks) for _, r in rounds]).tobytes()
    piece = _Piece(
        run=first.run,
        worker=first.worker,
        count=len(rounds),
        cells=list(by_cell),
        blocks=[len(some) for some in by_cell.values()],
        numbers=_planes(array("q", _steps([n for n, _ in rounds]))),
        indices=_planes(array("q", _steps([r.index for _, r in rounds]))),
        regular=regular,
        sizes=_planes(array("i", [len(r.blocks) for _, r in rounds])),
        order=_planes(array("H", order)),
        elapsed=_planes(array("d", [r.elapsed_s for _, r in rounds])),
        timed=None if derived else _planes(timed),
        canary=_planes(array("d", [r.canary_s for _, r in rounds if r.canary_s is not None])),
        sung=bytes(r.canary_s is not None for _, r in rounds),
        repeated=bytes(r.repeated for _, r in rounds),
        calls=_encode_values(array("q", [b.calls for b in every])),
        seconds=_planes(array("d", [b.seconds for b in every])),
        latency=_planes(array("d", [b.latency_s for b in every if b.latency_s is not None])),
        single=_encode_values(array("B", [b.latency_s is not None for b in every])),
    )
    return bytes([FORM]) + zlib.compress(_encode(piece), 1)


def _by_cell(
    rounds: Iterable[Sequence[e.Block]],
) -> tuple[dict[tuple[str, int], list[e.Block]], list[int]]:
    """Return the blocks grouped by arm and point, and the cell index of each block in the original order."""
    blocks: dict[tuple[str, int], list[e.Block]] = {}
    places: dict[tuple[str, int], int] = {}
    order = list[int]()
    for b in chain.from_iterable(rounds):
        key = b.arm, b.point
        blocks.setdefault(key, []).append(b)
        order.append(places.setdefault(key, len(places)))
    return blocks, order


def _timed_s(blocks: Sequence[e.Block]) -> float:
    return sum((b.seconds + (b.latency_s or 0.0) * (b.calls > 1) for b in blocks), 0.0)


def _steps(numbers: Sequence[int]) -> list[int]:
    return [numbers[0], *(b - a for a, b in pairwise(numbers))]


def _planes(values: "array[Any]") -> bytes:
    """Return the first bytes of all values, then the second bytes, and so on: similar neighbors compress
    better.
    """
    data, wide = values.tobytes(), values.itemsize
    return data if wide == 1 else b"".join(data[i::wide] for i in range(wide))


def _encode_values(values: "array[Any]") -> bytes:
    return _planes(values[:1] if values.count(values[0]) == len(values) else values) if values else b""


def _back(kind: str, data: bytes, count: int) -> "array[Any]":
    """Return the array of `count` values from their byte planes. If only one value is stored, all values
    equal it. Raises Damaged.
    """
    values = array(kind)
    wide = values.itemsize
    if len(data) == wide and count != 1:
        values.frombytes(data)
        return values * count
    if len(data) != wide * count:
        raise Damaged(f"{len(data)} bytes for {count} values of {wide}")
    if wide == 1:
        values.frombytes(data)
        return values
    out = bytearray(len(data))
    for i in range(wide):
        out[i::wide] = data[i * count : (i + 1) * count]
    values.frombytes(bytes(out))
    return values


def inflated(data: bytes) -> bytes:
    """Decompress data from `zlib.compress`. Raises zlib.error for invalid data, and if the result exceeds
    `MOST_BYTES`.
    """
    inflate = zlib.decompressobj()
    out = inflate.decompress(data, MOST_BYTES)
    if not inflate.eof:
        raise zlib.error("it is cut off or too large")
    return out


def _decode_piece(data: bytes) -> _Piece:
    """Decode a piece. Raises Damaged."""
    try:
        if not data or data[0] != FORM:
            raise Damaged("in an unknown format")
        piece = _decoder.decode(inflated(data[1:]))
    except (*UNDECODED, zlib.error) as error:
        raise Damaged(str(error)) from None
    if len(piece.cells) != len(piece.blocks) or piece.count < 1 or min(piece.blocks, default=1) < 1:
        raise Damaged("its rounds are incomplete")
    if max(piece.count, sum(piece.blocks)) > MOST:
        raise Damaged("with too many blocks")
    if any(data.translate(None, b"\0\1") for data in (piece.sung, piece.repeated, piece.single)):
        raise Damaged("a flag is neither 0 nor 1")
    return piece


def unpack(data: bytes, timed_s: float) -> Rounds:
    """Unpack into rounds for a run's state.

    timed_s: total seconds in timed blocks, from the start of the run to the end of the piece. Raises Damaged.
    """
    piece = _decode_piece(data)
    sizes, calls, seconds, single, latencies = _columns(piece)
    within = _within(piece, sizes)
    cells, start, taken = [], 0, 0
    for (arm, point), count, rounds in zip(piece.cells, piece.blocks, within, strict=True):
        end = start + count
        sung = sum(single[start:end])
        cells.append(
            CellRounds(
                arm, point, rounds, calls[start:end], seconds[start:end], latencies[taken : taken + sung]
            )
        )
        start, taken = end, taken + sung
    return Rounds(
        run=piece.run,
        count=piece.count,
        cells=tuple(cells),
        canaries=_back("d", piece.canary, sum(_back("B", piece.sung, piece.count))),
        repeated=sum(_back("B", piece.repeated, piece.count)),
        timed_s=timed_s,
        elapsed=_back("d", piece.elapsed, piece.count),
    )


def _columns(
    piece: _Piece,
) -> tuple["array[int]", "array[int]", "array[float]", "array[int]", "array[float]"]:
    """Return the number of blocks in each round; and the calls, the seconds and the flag `single` of each
    block; and the latencies. Raises Damaged.
    """
    total, sizes = sum(piece.blocks), _back("i", piece.sizes, piece.count)
    if sum(sizes) != total or min(sizes) < 0:
        raise Damaged("its rounds are incomplete")
    single = _back("B", piece.single, total)
    calls, seconds = _back("q", piece.calls, total), _back("d", piece.seconds, total)
    return sizes, calls, seconds, single, _back("d", piece.latency, sum(single))


def _within(piece: _Piece, sizes: "array[int]") -> list["array[int] | None"]:
    """Return the indices of each cell's rounds within the piece; None if every round has the cell."""
    if piece.regular:
        if any(count != piece.count for count in piece.blocks):
            raise Damaged("its rounds are incomplete")
        return [None] * len(piece.blocks)
    out: list[array[int] | None] = [array("i") for _ in piece.blocks]
    number, left = -1, 0
    ends = iter(sizes)
    for cell in _order(piece):
        while not left:
            number, left = number + 1, next(ends)
        places = out[cell]
        assert places is not None
        places.append(number)
        left -= 1
    return out


def _order(piece: _Piece) -> "array[int]":
    order = _back("H", piece.order, sum(piece.blocks))
    if max(order, default=-1) >= len(piece.cells):
        raise Damaged("a block of an unknown arm or size")
    known = Counter(order)
    if [known[cell] for cell in range(len(piece.cells))] != piece.blocks:
        raise Damaged("its rounds are incomplete")
    return order


def rounds(data: bytes) -> Iterator[tuple[int, e.Round]]:
    """Yield each round of a piece with the number of its event. Raises Damaged."""
    piece = _decode_piece(data)
    count = piece.count
    sizes, calls, seconds, single, latencies = _columns(piece)
    left = iter(latencies)
    lone = [next(left) if there else None for there in single]
    next_of = list(accumulate([0, *piece.blocks[:-1]])) if piece.blocks else []
    order = iter(_order(piece))
    sung = _back("B", piece.sung, count)
    canaries = iter(_back("d", piece.canary, sum(sung)))
    timed = None if piece.timed is None else _back("d", piece.timed, count)
    repeated, elapsed = _back("B", piece.repeated, count), _back("d", piece.elapsed, count)
    numbers = accumulate(_back("q", piece.numbers, count))
    indices = accumulate(_back("q", piece.indices, count))
    for i, (number, index) in enumerate(zip(numbers, indices, strict=True)):
        blocks = []
        for _ in range(sizes[i]):
            cell = next(order)
            at = next_of[cell]
            next_of[cell] = at + 1
            arm, point = piece.cells[cell]
            blocks.append(e.Block(arm, point, calls[at], seconds[at], lone[at]))
        yield (
            number,
            e.Round(
                run=piece.run,
                index=index,
                blocks=tuple(blocks),
                elapsed_s=elapsed[i],
                timed_s=_timed_s(blocks) if timed is None else timed[i],
                canary_s=next(canaries) if sung[i] else None,
                repeated=bool(repeated[i]),
                worker=piece.worker,
            ),
        )


def sound(data: bytes, run: str, count: int) -> str:
    """Return the damage to a piece of the given run with `count` rounds; "" if there is none."""
    try:
        known = unpack(data, 0.0)
        numbers = [number for number, _ in rounds(data)]
    except Damaged as error:
        return str(error)
    if known.run != run or known.count != count or len(numbers) != count:
        return f"{known.count} rounds of run {known.run[:8]!r} in place of {count} rounds of {run[:8]!r}"
    return ""
