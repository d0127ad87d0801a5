"""A model's layers in a call of an arm: each one's part of the account, against its device's roof."""

import msgspec

from tuilab.analysis.reading import account_at, family_of, measured
from tuilab.analysis.roofline import LITTLE, Floor, floor, raised
from tuilab.model.models import Layer, LayerWork, ModelInfo
from tuilab.model.roofline import BoundBy
from tuilab.model.run import ArmState, RunState

OUTSIDE = "outside of layers"
"""What a call does besides: starting it and its ops, copies, Python, ops that are no layer's."""


def with_layers(state: RunState, point: int) -> ModelInfo | None:
    """Return the run's model, with the layers of the fastest arm that tells them."""
    model = state.model
    for arm in measured(state, point):
        if model is not None and (layers := layers_at(state, arm, point)):
            return msgspec.structs.replace(model, layers=layers, layers_of=arm.arm.id)
    return model


def layers_at(state: RunState, arm: ArmState, point: int) -> tuple[Layer, ...]:
    """Each layer's part of a call of the arm, the longest first; none without a profile of its graph."""
    account, device = account_at(arm, point), raised(state, arm, point)
    computing, gpu = account.seconds("compute") if account else 0.0, family_of(arm, point) == "GPU"
    if account is None or not computing:
        return ()
    out = []
    for layer in arm.layers.get(point, ()):
        seconds = layer.computing * computing
        least = floor(layer.work, device.roofs, "graph", gpu=gpu) if device is not None else None
        moved = layer.work.bytes or 0.0
        out.append(
            Layer(
                name=layer.name,
                kind=layer.kind,
                flop=layer.work.flop,
                bytes=moved,
                share=seconds / account.total_s if account.total_s > 0 else 0.0,
                bound_by=_bound_by(layer, least, seconds),
                of_roof=min(1.0, least.work_s / seconds) if least is not None and seconds > 0 else None,
            )
        )
    return tuple(out)


def outside(layers: tuple[Layer, ...]) -> Layer:
    """Return what of a call is no layer's, as a row; its share is 0 where layers make up the call."""
    left = max(0.0, 1.0 - sum(layer.share for layer in layers))
    return Layer(name=OUTSIDE, kind="", flop=None, bytes=0.0, share=left, bound_by="not known")


def _bound_by(layer: LayerWork, least: Floor | None, seconds: float) -> BoundBy:
    """The nearer of the two roofs; `compute` where the layer comes near neither."""
    if least is None or seconds <= 0:
        return "not known"
    if least.work_s < LITTLE * seconds:
        return "compute"
    return "arithmetic" if least.arithmetic_s >= least.memory_s else "memory"
