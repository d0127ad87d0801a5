"""A model file as a worker found it: inputs, weights, remarks."""

from typing import Literal

import msgspec

from tuilab.model.roofline import BoundBy, Work

Kind = Literal["keras", "saved_model", "captured"]


class ModelInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One input, as declared in the file."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    """An open dimension has the name of its parameter: `batch`, `length`."""
    values: str = ""
    """Description of its values: `integers from 0 to 999`."""


class LayerWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer's work in a call, as the worker found it."""

    name: str
    """Path in the model, `block/conv`; in a graph without layers, the name scope."""
    kind: str
    """Class of the layer, `Conv2D`; for a name scope, the op that computes most."""
    computing: float
    """Share (0 … 1) of the computing time, by the profile."""
    work: Work
    """The work. Its inputs and outputs are bytes exchanged with other layers."""
    looping: float = 0.0
    """Share (0 … 1) of the account's dispatch spent starting the ops of its loops."""


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer's part of a call."""

    name: str
    kind: str
    flop: float | None
    """Operations (a multiply-add counts as two); None if nothing is counted."""
    bytes: float
    """Bytes of its weights and of the data exchanged with other layers."""
    share: float
    """Share (0 … 1) of the call, by the arm's account. The rest is outside of layers."""
    bound_by: BoundBy
    of_roof: float | None = None
    """The device's minimum time over the actual time (0 … 1); None if no roof is known."""


Source = Literal["shapes", "measured", "tried"]


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest batch that fits in a device's memory."""

    device: str
    variant: str
    batch: int
    ended_by: Literal["memory", "maximum"]
    """What ended the search: the device's memory, or the slider's largest batch."""
    memory: int
    """Bytes that were free."""
    source: Source
    """`shapes`: estimated from tensor shapes.

    `measured`: extrapolated from peaks of smaller batches. `tried`: calls of that batch ran.
    """


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a model file."""

    kind: Kind
    """`captured`: a SavedModel written by `tuilab.capture`."""
    parameters: int
    """Number of weights, trainable or not."""
    inputs: tuple[ModelInput, ...]
    load_s: float = 0.0
    """Seconds to load it; part of the time to a first prediction."""
    batch: str = ""
    """The parameter for the number of examples per call; "" if it is fixed."""
    fits: int | None = None
    """The largest batch that fits on each device of the run, with any of its arms."""
    fits_of: dict[str, int] = {}
    """The same by variant: inference needs less memory than a training step."""
    fits_on: tuple[Fit, ...] = ()
    """The same by device and variant, with what ended the search."""
    said: tuple[str, ...] = ()
    """Choices and remarks from opening it, in sentences."""
    layers: tuple[Layer, ...] = ()
    """In a result: each layer's part of a call of the arm `layers_of`, longest first."""
    layers_of: str = ""
    """Id of the fastest profiled graph arm. XLA fuses layers, so its arms have none."""
    layers_note: str = ""
    """Why there are no layers, or that the profiled calls took a different time than the run's; else ""."""


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The batch sizes to report for a model."""

    pays: int | None
    """The smallest measured batch that reaches 90% of the best throughput; None without a sweep of the
    batch.
    """
    fits: int | None
    """The largest batch that fits in free memory, estimated from shapes."""
    crossover: float | None
    """The batch from which a GPU is faster; None if not found."""
    sentence: str = ""
