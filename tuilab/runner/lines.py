"""Reads lines of bounded size from a pipe."""

import asyncio
from collections.abc import AsyncIterator

CHUNK = 2**18


async def lines(stream: asyncio.StreamReader, limit: int) -> AsyncIterator[tuple[bytes, bool]]:
    """Yield each line without its newline, and True if the line was cut at `limit` bytes."""
    parts: list[bytes] = []
    size, cut = 0, False
    while chunk := await stream.read(CHUNK):
        pieces = chunk.split(b"\n")
        for index, piece in enumerate(pieces):
            room = limit - size
            if len(piece) > room:
                piece, cut = piece[:room], True
            parts.append(piece)
            size += len(piece)
            if index < len(pieces) - 1:
                yield b"".join(parts), cut
                parts, size, cut = [], 0, False
    if size:
        yield b"".join(parts), cut
