"""The line to the terminal: how much of what was sent has arrived, and how much more may be sent.

A terminal answers a question about its cursor when it has drawn all that came before it, so that a question
after a paint measures the whole way, over SSH too, where every buffer in between takes kilobytes at once. A
terminal that never answers is known only by writes that block.
"""

import time
from collections.abc import Callable

QUESTION = "\x1b[2;{}H\x1b[6n"
"""Where is the cursor? Every terminal since the VT100 answers it. The column tells which question it was."""
TAGS = 9
SLOW, FAST = 8_000.0, 16_000.0
"""Bytes per second: below, a line is slow; it stays so until it is faster than the other."""
LATE_S = 0.25
"""What a paint may take longer than the shortest answer before the next one waits for it."""
PIECE_S = 0.1
"""How long a piece may keep a slow line busy. A key waits for one piece at most."""
LEAST_PIECE = 160
LOST_S = 30.0
"""A terminal that has not answered by then does not."""
AGAIN_S = 2.0
"""After so long the question is put again, because an answer may get lost."""
MOST_UNSEEN = 16_384
"""Bytes that may be on their way: a line that turns slow is noticed before more are."""
MUTE, BURST = 1_200.0, 500.0
"""Bytes per second, and at once, that a terminal which answers nothing gets while a run goes on."""
MUTE_S = 5.0
"""A terminal that has never answered by then answers nothing."""
LINGER_S = 5.0
"""What a run has left to be painted may take so long after its end."""
LIVE, LIVE_IN_256 = 4_500.0, 2_100.0
"""Bytes per second that a run's own paints take of any line, on average, in truecolor and in 256 colours."""
BLOCKED_S, REST_S, FORGET_S = 0.25, 3.0, 30.0
"""A write is blocked from the first; then nothing is sent for the second; the third without one ends it."""


class Link:
    """One for the life of the app. slow: the line is. rate: bytes per second of a slow line."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.sent = self._arrived = 0
        self.rate = FAST
        self.answers = self.slow = False
        self._running, self._ran_at = False, float("-inf")
        self.live = LIVE
        self._debt, self._paid = 0.0, clock()
        self._awaited = False
        self._asked: tuple[int, float] | None = None
        self._tags: dict[int, int] = {}
        self._tag = 0
        self._again_at = 0.0
        self._busy_since = 0.0
        self._floor = float("inf")
        self._tokens, self._counted = BURST, clock()
        self._blocked_at = float("-inf")
        self._key_at = float("-inf")
        self._seen = True

    # What happened

    @property
    def running(self) -> bool:
        """A run goes on, so that paints come by themselves."""
        return self._running

    @running.setter
    def running(self, running: bool) -> None:
        if self._running and not running:
            self._ran_at = self._clock()
        self._running = running

    def wrote(self, count: int) -> None:
        """So many bytes went out."""
        if self.sent == self._arrived:
            self._busy_since = self._clock()
        self._refill()
        self._awaited = False
        self.sent += count
        self._seen = True
        self._debt = min(2 * self.live, self._owed() + count)
        self._tokens = max(-2 * BURST, self._tokens - count)

    def key(self) -> None:
        """A person did something, and waits to see it."""
        self._key_at, self._seen = self._clock(), False

    def unasked(self) -> None:
        """What is painted next comes by itself, though a person may have done something just before."""
        if self._seen and self.sparing:
            self._key_at = float("-inf")

    def awaited(self) -> None:
        """A run's first sample is there: what its paints have taken so far does not hold this one back."""
        self._awaited = True

    def ask(self) -> int:
        """The tag of the question to send now, which counts as sent; 0 for none."""
        now = self._clock()
        if self.sent == self._arrived or (self._asked is not None and now < self._again_at):
            return 0
        if self._asked is None:
            self._asked = self.sent, now
        self._tag = self._tag % TAGS + 1
        self._tags[self._tag] = self.sent
        self._again_at = now + AGAIN_S
        return self._tag

    def answered(self, tag: int = 0) -> None:
        """The terminal has drawn everything up to the question of that tag; 0 where that is not told."""
        if self._asked is None:
            return
        now = self._clock()
        position = self._tags.get(tag, self._asked[0])
        (first, asked_at), self._asked = self._asked, None
        # Questions put after that one may still be answered.
        self._tags = {t: at for t, at in self._tags.items() if at > position} if tag in self._tags else {}
        count, took = position - self._arrived, now - self._busy_since
        self._floor = min(self._floor, now - asked_at)
        self.answers, self._arrived, self._busy_since = True, position, now
        if position == first:  # else an answer was lost, and how long this took is not known
            self._learn(count, took - self._floor)

    def _learn(self, count: int, delay: float) -> None:
        if count < LEAST_PIECE // 2:
            return
        rate = count / max(delay, 1e-3)
        if self.slow:
            # A short delay says little about the rate, but that a full piece may be larger.
            short = delay < PIECE_S / 3
            if short and count >= 0.75 * self.piece:
                self.rate *= 1.5
            elif not short:
                self.rate = (self.rate + rate) / 2
        elif delay > LATE_S and rate < SLOW:
            self.slow, self.rate = True, rate
        if self.rate > FAST:
            self.slow = False

    def blocked(self, count: int, took: float) -> None:
        """Writing so many bytes took so long. Only a terminal that never answers is judged by it."""
        if took < BLOCKED_S or self.answers:
            return
        self.slow, self.rate = True, min(SLOW, max(MUTE / 2, 0.7 * count / took))
        self._blocked_at = self._clock()

    # What may be sent

    @property
    def hurried(self) -> bool:
        """A person has just done something."""
        return self._clock() - self._key_at < (LATE_S / 2 if self.sparing else 2 * LATE_S)

    @property
    def sparing(self) -> bool:
        """What comes by itself is held back, though what a person asks for is not."""
        return not self.answers and (self.running or self._clock() - self._ran_at < LINGER_S)

    @property
    def word(self) -> str:
        """What the first line says of it: that it is slow, or not known; "" for nothing."""
        if self.slow:
            return "slow line"
        silent = self._asked is not None and self._clock() - self._asked[1] > MUTE_S
        return "mute terminal" if silent and self.sparing else ""

    @property
    def waiting(self) -> bool:
        """A question has not been answered."""
        return self._asked is not None

    @property
    def piece(self) -> int:
        """Bytes that a slow line may be given at once."""
        return max(LEAST_PIECE, int(self.rate * PIECE_S))

    def room(self) -> int | None:
        """Bytes that may be sent now: 0 for wait, None for no limit."""
        now = self._clock()
        if self.answers and self._asked is not None and now - self._asked[1] > LOST_S:
            self.answers = self.slow = False
        if not self.answers:
            return self._room_of_mute(now)
        if self.slow:
            return self.piece if self.sent - self._arrived < self.piece else 0
        if self.running and not self.hurried and not self._awaited and self._owed() > 0:
            # Whole paints, further apart.
            return 0
        late = self._asked is not None and now - self._asked[1] > self._floor + LATE_S
        return 0 if late or self.sent - self._arrived > MOST_UNSEEN else None

    def _room_of_mute(self, now: float) -> int | None:
        self._refill()
        if self.slow and now - self._blocked_at > FORGET_S:
            self.slow = False
        asked = self.hurried
        if self.slow:
            rests = now - self._blocked_at < REST_S
            return self.piece if asked or (self._tokens > 0 and not rests) else 0
        if asked or not self.sparing:
            return None
        return int(self._tokens) if self._tokens > LEAST_PIECE else 0

    def _owed(self) -> float:
        now = self._clock()
        self._debt, self._paid = max(0.0, self._debt - self.live * (now - self._paid)), now
        return self._debt

    def _refill(self) -> None:
        now = self._clock()
        rate = min(MUTE, self.rate) if self.slow else MUTE
        self._tokens = min(BURST, self._tokens + rate * (now - self._counted))
        self._counted = now
