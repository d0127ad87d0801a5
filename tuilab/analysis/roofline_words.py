"""Compares an arm with its machine's limits, in words. The numbers come from `analysis.roofline`."""

from collections.abc import Sequence

from tuilab.analysis.reading import device_roofs, roofs_of
from tuilab.analysis.roofline import Raised, Reach, bandwidth, floor, level_for, needed, peak, reach
from tuilab.analysis.words import first_few, listed
from tuilab.model.quantity import rate, seconds, share_words, significant
from tuilab.model.quantity import size as byte_size
from tuilab.model.roofline import ArmRoof, MemoryRoof, Roofs, Work, binding
from tuilab.model.run import ArmState, RunState


def against_roof(state: RunState, arm: ArmState, point: int, device: Raised | None = None) -> ArmRoof | None:
    """Compare the arm's figures with its device's roof, in numbers and words; None if the arm has no figure
    or its work is unknown.

    device: the result of `raised()` for the same arm, if already computed.
    """
    found = reach(state, arm, point, device)
    if found is None:
        return None
    roof = _roof_words(state, arm, point, found)
    return ArmRoof(
        flop=found.work.flop,
        bytes=found.work.bytes,
        flop_per_s=found.flop_per_s,
        bytes_per_s=found.bytes_per_s,
        roof=roof,
        bound_s=found.least.total_s if found.least is not None else None,
        share=found.share,
        bound_by=found.by,
        uncounted=found.work.uncounted,
        busy=bool((known := roofs_of(state, arm)) and known.busy),
        sentence=_arm_sentence(arm, found, roof),
    )


def level_name(roofs: Sequence[MemoryRoof], level: MemoryRoof) -> str:
    """Return `memory`, or `cache` with the size of the working set. Every view uses this wording."""
    return "memory" if level is roofs[-1] else f"cache ({byte_size(level.working_set)})"


def _roof_words(state: RunState, arm: ArmState, point: int, found: Reach) -> str:
    """Return the roof, such as `199 GFLOP/s float32`, with the labels of arms that exceeded the measured
    roof.
    """
    measured_roofs, device = device_roofs(state, arm, point), found.device
    work, least = found.work, found.least
    if device is None or measured_roofs is None or least is None or least.work_s <= 0:
        return ""
    roofs = device.roofs
    if least.arithmetic_s >= least.memory_s:
        most = max(needed(work), key=lambda dtype: needed(work)[dtype] / (peak(roofs, dtype) or (1.0,))[0])
        top, before = peak(roofs, most), peak(measured_roofs, most)
        text = f"{rate(top[0], 'FLOP/s')} {top[1]}" if top else ""
        higher = top is not None and before is not None and top[0] > before[0]
    else:
        level = level_for(roofs.memory, work.bytes or 0.0)
        before_level = bandwidth(measured_roofs.memory, work.bytes or 0.0)
        text = f"{rate(level.bytes_per_s, 'B/s')} {level_name(roofs.memory, level)}" if level else ""
        higher = level is not None and before_level is not None and level.bytes_per_s > before_level
    if text and higher:
        return f"{text}, which {listed(device.by)} reached"
    known = roofs_of(state, arm)
    return f"{text}, measured on a busy machine" if text and known is not None and known.busy else text


def _arm_sentence(arm: ArmState, found: Reach, roof: str) -> str:
    work, share = found.work, found.share
    done = [rate(found.flop_per_s, "FLOP/s")] if found.flop_per_s else []
    done += [rate(found.bytes_per_s, "B/s")] if found.bytes_per_s else []
    by = f"bound by {binding(found.by)}" if found.by != "not known" else "the limit is unknown"
    text = f"{arm.label}: {by}; {', '.join(done) or 'work not known'}"
    if share is not None and roof:
        text += f", {'at least ' if work.uncounted and share >= 0.001 else ''}{share_words(share)} of {roof}"
    elif found.above and roof:
        text += f", above the measured roof ({roof})"
    return f"{text} (not counted: {uncounted(work)})." if work.uncounted else f"{text}."


MOST_NAMED = 3


def uncounted(work: Work) -> str:
    """Return the ops whose arithmetic is not counted, as in `TopKV2, Svd and 2 more`."""
    return first_few(work.uncounted, MOST_NAMED)


# Text that is shown before anything is measured


def expectation(work: Work, roofs: Roofs | None) -> str:
    """Describe a call's work, and predict which roof will limit it on this host's CPU."""
    amounts = [rate(work.flop, "FLOP")] if work.flop else []
    moved = work.bytes
    amounts += [f"{byte_size(moved)} to move"] if moved else []
    what = f"One call is {' and '.join(amounts)}" if amounts else "The amount of work per call is unknown"
    if work.note and work.flop:
        what += f" ({work.note})"
    if work.host_only:
        return f"{what}; it runs on the host, whatever the device."
    device = roofs.devices.get("CPU:0") if roofs is not None else None
    if device is None:
        each = work.flop / moved if work.flop and moved else None
        return f"{what}, {significant(each, 2)} operations per byte." if each else f"{what}."
    found = floor(work, device, "graph")
    parts: dict[str, float] = {
        "arithmetic": found.arithmetic_s,
        "memory": found.memory_s,
        "starting the call": found.launches_s,
        "preparing its input": found.input_s,
    }
    name = max(parts, key=lambda key: parts[key])
    if not parts[name]:
        return f"{what}."
    # Only a measurement shows what limits a call.
    text = f"{what}: on this host's processor it takes at least {seconds(parts[name])} ({name})"
    done = found.work_s
    if name == "starting the call" and done:
        text += f"; the work itself needs {seconds(done)}"
    return text + "."
