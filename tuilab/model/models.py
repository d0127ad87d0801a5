"""The content of a model file, as read by a worker: inputs, weights, notes."""

from typing import Literal

import msgspec

from tuilab.model.roofline import BoundBy, Work

Kind = Literal["keras", "saved_model", "captured"]


class ModelInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One input of the model, as declared in the file."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    """Sizes of the dimensions. An unknown dimension has the name of its parameter: `batch`, `length`."""
    values: str = ""
    """Description of the input's values: `integers from 0 to 999`."""


class LayerWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work of one layer in a call, as counted by the worker."""

    name: str
    """Path in the model, `block/conv`; in a graph without layers, the name scope."""
    kind: str
    """Class of the layer, `Conv2D`; for a name scope, the op with the most computing time."""
    computing: float
    """Share (0 … 1) of the computing time, according to the profile."""
    work: Work
    """The layer's work. Its inputs and outputs are the bytes exchanged with other layers."""
    looping: float = 0.0
    """Share (0 … 1) of the call's dispatch time that is spent on starting the ops in the layer's loops."""
    saved: tuple[float, float, float] | None = None
    """Share of the call's time that removing the layer saved, with the ends of the share's 95% interval;
    None if this was not measured.
    """


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer's part of a call."""

    name: str
    kind: str
    flop: float | None
    """Number of operations (a multiply-add counts as two); None if no operations are counted."""
    bytes: float
    """Bytes of the layer's weights and of the data exchanged with other layers."""
    share: float
    """Share (0 … 1) of the call's time. The time outside layers makes up the rest.
    """
    bound_by: BoundBy
    share_range: tuple[float, float] | None = None
    """The 95% interval of `share`, if it was measured by removing the layer. Otherwise, for a layer with a
    loop, the limits of `share`: with none and with all of the dispatch time of the layer's ops. None for a
    layer without a loop.
    """
    of_roof: float | None = None
    """Minimum time on the device divided by the actual time (0 … 1); None if no roof is known."""
    uncounted: tuple[str, ...] = ()
    """Op types whose operations are not counted. If there are any, `flop` and `of_roof` are lower bounds."""
    busy: bool = False
    """True if the roofs were measured on a busy machine, so that `of_roof` may be too high."""


Source = Literal["shapes", "measured", "tried"]


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest batch that fits in a device's memory."""

    device: str
    variant: str
    batch: int
    ended_by: Literal["memory", "maximum"]
    """What ended the search: the device's memory, or the slider's largest batch."""
    memory: int
    """Bytes of the device's memory that were free."""
    source: Source
    """`shapes`: estimated from tensor shapes.

    `measured`: extrapolated from the peak memory of smaller batches. `tried`: calls with that batch
    succeeded.
    """


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a model file."""

    kind: Kind
    """The kind of file. `captured` is a SavedModel that `tuilab.capture` wrote."""
    parameters: int
    """Number of weights, trainable or not."""
    inputs: tuple[ModelInput, ...]
    load_s: float = 0.0
    """Seconds to load the model. They are part of the time until a first prediction."""
    batch: str = ""
    """The parameter that sets the number of examples per call; "" if that number is fixed."""
    fits: int | None = None
    """The largest batch that fits on every device of the run in every arm."""
    fits_of: dict[str, int] = {}
    """The largest fitting batch for each variant, because inference needs less memory than a
    training step.
    """
    fits_on: tuple[Fit, ...] = ()
    """The largest fitting batch for each device and variant, with the limit that ended the search."""
    said: tuple[str, ...] = ()
    """Sentences about choices made while opening the file, and other notes."""
    layers: tuple[Layer, ...] = ()
    """In a result: the part of a call that each layer takes, for the arm `layers_of`, longest first."""
    layers_of: str = ""
    """Id of the fastest profiled graph arm. XLA arms have no layers, because XLA fuses them."""
    layers_note: str = ""
    """Why there are no layers, or a note that the profiled calls were faster or slower than the run's own
    calls; "" otherwise.
    """


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The batch sizes to report for a model."""

    pays: int | None
    """The smallest measured batch that reaches 90% of the best throughput; None without a sweep of the batch
    size.
    """
    fits: int | None
    """The largest batch that fits in free memory, estimated from shapes."""
    crossover: float | None
    """The batch size above which a GPU is faster; None if not found."""
    sentence: str = ""
