"""Who is measured in the next round. Pure."""

from collections.abc import Sequence


def strides(costs: Sequence[float], rounds: int, limit_s: float) -> list[int]:
    """Every how many rounds each cell has its turn, so that the wanted rounds fit into the limit.

    costs: seconds of one block of each cell. Where all cells every round would take longer than `limit_s`,
    the time is shared out as water fills vessels: cheap cells keep all of their `rounds` turns, and what
    they leave is split evenly among the dear ones, each of which has one turn at least. A 10 s call beside
    5 ms ones then neither starves them nor is starved.
    """
    left, waiting, most = limit_s, len(costs), rounds
    turns = [rounds] * len(costs)
    for index in sorted(range(len(costs)), key=costs.__getitem__):
        share = left / waiting
        if costs[index] * most > share:
            most = max(1, min(most, int(share / costs[index])))
        turns[index] = most
        left -= turns[index] * costs[index]
        waiting -= 1
    return [-(-rounds // turn) for turn in turns]


def companions(finished: Sequence[float], unfinished_s: float) -> list[int]:
    """Which finished cells stay in the rounds, as indices into `finished` (their blocks' seconds).

    Ratios pair blocks of the same round, so a finished cell is worth keeping while others go on. The
    cheapest stay as long as they together cost no more than the unfinished ones: a round is at most twice as
    long as it has to be.
    """
    stay, spent = [], 0.0
    for index in sorted(range(len(finished)), key=finished.__getitem__):
        spent += finished[index]
        if spent > unfinished_s:
            break
        stay.append(index)
    return stay
