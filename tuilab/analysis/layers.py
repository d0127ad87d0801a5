"""Splits a call of an arm into the model's layers, and compares each layer's time with the device's roof."""

from collections.abc import Sequence

import msgspec

from tuilab.analysis.reading import account_at, contended, family_of, measured, roofs_of
from tuilab.analysis.roofline import Floor, floor, nearer_roof, raised, share_of_roof
from tuilab.analysis.words import percent
from tuilab.model.account import Account
from tuilab.model.models import Layer, LayerWork, ModelInfo
from tuilab.model.quantity import seconds
from tuilab.model.roofline import BoundBy
from tuilab.model.run import ArmState, RunState

OUTSIDE = "outside layers"
"""Name of the row for the time outside all layers: launching the call, dispatching ops outside loops, copies,
Python, and ops that belong to no layer.
"""


SHARE_PRECISION = 0.1
"""A layer's share is shown as a single figure if its uncertainty is at most ± this share of a call, and
otherwise as a range.
"""


def with_layers(state: RunState, point: int) -> ModelInfo | None:
    """Return the run's model with the layers of the fastest arm that has layers, or with the reason why there
    are none.
    """
    model = state.model
    if model is None:
        return None
    arms = measured(state, point)
    for arm in arms:
        if layers := layers_at(state, arm, point):
            note = _of_other_calls(arm, point) or _of_one_call(state, arm, point) or _rest(layers)
            return msgspec.structs.replace(model, layers=layers, layers_of=arm.arm.id, layers_note=note)
    return msgspec.structs.replace(model, layers_note=_why_none(model, arms, point))


def layers_at(state: RunState, arm: ArmState, point: int) -> tuple[Layer, ...]:
    """Return the layers with their shares of a call of the arm, largest share first; empty without a profile
    of the arm's graph.

    If the profiled calls and the run's own calls differ in duration, the shares refer to the profiled calls.
    For a layer with a loop, the share is the measured saving from removing the layer, or else the middle
    between the shares without and with the launches of the loop.
    """
    account, device = _profiled_account(arm, point), raised(state, arm, point)
    if account is None or not account.seconds("compute"):
        return ()
    gpu, out, known = family_of(arm, point) == "GPU", [], roofs_of(state, arm)
    for layer in arm.layers.get(point, ()):
        low, high = share_range(layer, account)
        launches = layer.looping * account.share("dispatch")
        profiled = layer.computing * account.share("compute") + launches / 2
        share = layer.saved[0] if layer.saved is not None else profiled
        took_s = max(0.0, share) * account.total_s
        least = floor(layer.work, device.roofs, "graph", gpu=gpu) if device is not None else None
        moved = layer.work.bytes or 0.0
        out.append(
            Layer(
                name=layer.name,
                kind=layer.kind,
                flop=layer.work.flop,
                bytes=moved,
                share=max(0.0, share),
                share_range=(low, high) if layer.saved is not None or high > low else None,
                bound_by=_bound_by(layer, least, took_s),
                of_roof=share_of_roof(least, took_s) if least is not None else None,
                uncounted=layer.work.uncounted,
                busy=bool(known and known.busy),
            )
        )
    return tuple(sorted(out, key=lambda layer: -layer.share))


def share_range(layer: LayerWork, account: Account) -> tuple[float, float]:
    """Return the limits of a layer's share of a call: the interval of the measured share, or else the limits
    in the profiled calls, the upper one with the launches of the layer's loop.
    """
    if layer.saved is not None:
        return max(0.0, layer.saved[1]), max(0.0, layer.saved[2])
    low, high = (end * account.share("compute") for end in layer.computing_ends or (layer.computing,) * 2)
    return low, high + layer.looping * account.share("dispatch")


def is_precise(layer: Layer) -> bool:
    low, high = layer.share_range or (layer.share, layer.share)
    return high - low <= 2 * SHARE_PRECISION


def outside(layers: tuple[Layer, ...]) -> Layer:
    left = max(0.0, 1.0 - sum(layer.share for layer in layers))
    return Layer(name=OUTSIDE, kind="", flop=None, bytes=0.0, share=left, bound_by="not known")


def _profiled_account(arm: ArmState, point: int) -> Account | None:
    """Return the account of a call. It is scaled to the arm's median if the profiled calls took about as long
    as the run's own calls.
    """
    account, cell = account_at(arm, point), arm.cells.get(point)
    return cell.account if account is not None and cell is not None and not account.calls else account


def _of_other_calls(arm: ArmState, point: int) -> str:
    """Return a note if the profiled calls took much longer or shorter than the run's own calls; else ""."""
    account, own = _profiled_account(arm, point), account_at(arm, point)
    if account is None or own is None or own.calls:
        return ""
    return (
        f"The layer times come from profiled calls of {seconds(account.total_s)} each; "
        f"in the rounds a call took {seconds(own.total_s)}."
    )


def _of_one_call(state: RunState, arm: ArmState, point: int) -> str:
    """Return a note if other processes may have interrupted the only profiled call; else ""."""
    works = arm.layers.get(point, ())
    if not contended(state) or any(work.computing_ends for work in works):
        return ""
    return "Other processes used this host, and one call was profiled, so a layer's share may be too high."


def _rest(layers: tuple[Layer, ...]) -> str:
    """Return a note if a considerable share of the call belongs to no layer; else ""."""
    share = outside(layers).share
    if share <= SHARE_PRECISION:
        return ""
    return f"{percent(share)} of the call belongs to no layer, so a layer's share may be too low."


def _why_none(model: ModelInfo, arms: Sequence[ArmState], point: int) -> str:
    """Return why there are no layers and how to get them; "" if the reason is unknown."""
    looked = [(arm, account) for arm in arms if (account := _profiled_account(arm, point)) is not None]
    if not looked:
        return ""
    if all(arm.arm.mode != "graph" for arm in arms):
        return "No graph arm was measured; eager and XLA arms have no separate layers."
    for arm, account in looked:
        if arm.arm.mode != "graph":
            continue
        if account.note:
            smaller = f"; reduce {model.batch}" if model.batch and not account.calls else ""
            return f"No layers: {account.note}{smaller}."
        if point not in arm.layers:
            return "No layers: the graph's work could not be counted."
        if not account.seconds("compute"):
            larger = f"; increase {model.batch}" if model.batch else ""
            return f"No layers: the arm's ops are too short for the profiler{larger}."
    return ""


def _bound_by(layer: LayerWork, least: Floor | None, took_s: float) -> BoundBy:
    """Return the roof that the layer is closer to; `compute` if it is close to neither, or `not known` if
    some of its work is not counted.
    """
    if least is None or took_s <= 0:
        return "not known"
    found = nearer_roof(least, took_s)
    return "not known" if found == "compute" and layer.work.uncounted else found
