"""The content of a model file as read by a worker: inputs, weights and notes."""

from typing import Literal

import msgspec

from tuilab.model.roofline import BoundBy, Work

Kind = Literal["keras", "saved_model", "captured"]


class ModelInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the model's inputs, as the file declares it."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    """Sizes of the dimensions. A variable dimension has the name of its parameter: `batch`, `length`."""
    values: str = ""
    """The input's values in words: `integers from 0 to 999`."""


class LayerWork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work of one layer in a call, counted by the worker."""

    name: str
    """Path in the model, `block/conv`; in a graph without layers, the name scope."""
    kind: str
    """Class of the layer, `Conv2D`; for a name scope, the op with the most computing time."""
    computing: float
    """The layer's share (0 … 1) of the call's computing time: the median of the profiled calls."""
    computing_ends: tuple[float, float] | None = None
    """The limits of that share: its 95% interval, or in fewer than six calls its smallest and largest value;
    None if one call was profiled.
    """
    work: Work
    """The layer's work. Inputs and outputs are the bytes that the layer exchanges with other layers."""
    looping: float = 0.0
    """Share (0 … 1) of the call's dispatch time that is spent on starting the ops in the layer's loops."""
    saved: tuple[float, float, float] | None = None
    """The share of the call's time that removing the layer saved, with both ends of its 95% interval; None
    if not measured.
    """


class Layer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The part of a call that one layer takes."""

    name: str
    kind: str
    flop: float | None
    """Number of operations (a multiply-add counts as two); None if no operations are counted."""
    bytes: float
    """Bytes of the layer's weights, and of the data that it exchanges with other layers."""
    share: float
    """Share (0 … 1) of the call's time that the layer takes. The shares of all layers may add up to less than
    1, because some time belongs to no layer.
    """
    bound_by: BoundBy
    share_range: tuple[float, float] | None = None
    """The range of `share`: its 95% interval if `share` was measured by removing the layer; for any other
    layer with a loop, from none to all of the dispatch time of the layer's ops; None for the remaining
    layers.
    """
    of_roof: float | None = None
    """Minimum time on the device divided by the actual time (0 … 1); None if no roof (hardware limit) is
    known.
    """
    uncounted: tuple[str, ...] = ()
    """Op types whose operations are not counted. `flop` and `of_roof` are then lower bounds."""
    busy: bool = False
    """True if the roofs were measured on a busy machine, so that `of_roof` may be too high."""


Source = Literal["shapes", "measured", "tried"]


class Fit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The largest batch that fits in the memory of a device."""

    device: str
    variant: str
    batch: int
    ended_by: Literal["memory", "maximum"]
    """What ended the search for the largest batch: the device's `memory`, or the `maximum` of the slider."""
    memory: int
    """Bytes of the device's memory that were free."""
    source: Source
    """`shapes`: estimated from tensor shapes. `measured`: extrapolated from the peak memory of smaller
    batches. `tried`: calls with this batch succeeded.
    """
    eager: bool = False
    """True if eager mode, which keeps each layer's output, limits the batch. Graphs take larger ones."""


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of a model file."""

    kind: Kind
    """The kind of file. `captured` means a SavedModel that `tuilab.capture` wrote."""
    parameters: int
    """Number of weights, trainable or not."""
    inputs: tuple[ModelInput, ...]
    load_s: float = 0.0
    """Seconds to load the model; part of the time until a first prediction."""
    batch: str = ""
    """The parameter that sets the number of examples per call; "" if that number is fixed."""
    fits: int | None = None
    """The largest batch that fits on every device of the run in every arm."""
    fits_of: dict[str, int] = {}
    """The largest fitting batch of each variant: inference needs less memory than a training step."""
    fits_on: tuple[Fit, ...] = ()
    """The largest fitting batch for each device and variant, with the limit that ended the search."""
    said: tuple[str, ...] = ()
    """Notes for the user, in sentences, such as choices made while opening the file."""
    layers: tuple[Layer, ...] = ()
    """In a result: the time of each layer in a call of the arm `layers_of`, longest first."""
    layers_of: str = ""
    """Id of the fastest profiled graph arm. XLA arms have no layers, because XLA fuses their ops."""
    layers_note: str = ""
    """Why there are no layers, or a warning that the profiled calls were faster or slower than the run's
    calls.
    """


class BatchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The recommended batch sizes of a model."""

    pays: int | None
    """The smallest measured batch that reaches 90% of the best throughput; None without a sweep of the batch
    size.
    """
    fits: int | None
    """The largest batch that fits in free memory, as estimated from shapes."""
    crossover: float | None
    """The batch above which a GPU is faster; None if no such batch was found."""
    sentence: str = ""
