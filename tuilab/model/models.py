"""A model's file as a worker found it: its inputs, its weights, what was said of it."""

from typing import Literal

import msgspec

from tuilab.model.roofline import BoundBy, Work

Kind = Literal["keras", "saved_model", "captured"]


class ModelInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One input as the file declares it."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    """An open dimension by the name of the parameter that sets it: `batch`, `length`."""
    values: str = ""
    """What it is given, in words: `integers from 0 to 999`."""


class LayerWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one layer does in a call, as the worker found it."""

    name: str
    """Within the model, `block/conv`; of a graph without layers the name scope."""
    kind: str
    """The layer's class, `Conv2D`; of a name scope the op that computes most."""
    computing: float
    """Its share (0 … 1) of the time in which the call computes, by the profile."""
    work: Work
    """What it has to do; its inputs and outputs are bytes that it takes from other layers and leaves them."""
    looping: float = 0.0
    """The share (0 … 1) of the account's dispatch that starting the ops of its loops takes."""


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer's part of a call."""

    name: str
    kind: str
    flop: float | None
    """Operations, a product with its sum as two; None if none of its arithmetic is counted."""
    bytes: float
    """What it takes from other layers and its weights, and what it leaves to others."""
    share: float
    """Of the call (0 … 1), by the arm's account; what is left to 1 lies outside of layers."""
    bound_by: BoundBy
    of_roof: float | None = None
    """The least time that its device could take over the time taken (0 … 1); None if no roof is known."""


Source = Literal["shapes", "measured", "tried"]


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest batch that fits into a device's memory."""

    device: str
    variant: str
    batch: int
    ended_by: Literal["memory", "maximum"]
    """What ended the search: the device's memory, or the largest batch that the slider offers."""
    memory: int
    """Bytes that were free."""
    source: Source
    """`shapes`: estimated from what a call makes. `measured`: worked out from the peaks of smaller batches.
    `tried`: calls of that batch ran."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds."""

    kind: Kind
    """`captured` is a SavedModel that `tuilab.capture` wrote."""
    parameters: int
    """Weights, trained or not; each number counts."""
    inputs: tuple[ModelInput, ...]
    load_s: float = 0.0
    """Seconds that loading it took, which a first prediction waits for besides the first call."""
    batch: str = ""
    """The parameter that counts the examples of a call, "" where their number is fixed."""
    fits: int | None = None
    """The largest batch that fits into the memory of each device of the run, for whichever of its arms."""
    fits_of: dict[str, int] = {}
    """Likewise by variant: an inference holds less than a training step."""
    fits_on: tuple[Fit, ...] = ()
    """Likewise by device and variant, with what ended the search."""
    said: tuple[str, ...] = ()
    """What was chosen or found when it was opened, in sentences."""
    layers: tuple[Layer, ...] = ()
    """In a result: each layer's part of a call of `layers_of`, the longest first."""
    layers_of: str = ""
    """The id of that arm: the fastest one whose graph was profiled; XLA leaves no layers to tell apart."""
    layers_note: str = ""
    """Why no layers are reported, or that they are of calls that took another time than the run's; else "".
    """


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said of a model's batch."""

    pays: int | None
    """The least measured one that reaches 90% of the best throughput; None without a sweep along it."""
    fits: int | None
    """The largest whose memory is free; an estimate from shapes."""
    crossover: float | None
    """From which on a GPU is faster; None if that was not found."""
    sentence: str = ""
