"""The declaration of a workload. Does not import TensorFlow."""

import msgspec

from tuilab.model.arms import MODES, Input, Mode
from tuilab.model.parameters import Constraint, Parameter


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to do the work of a workload, such as a serial, parallel or prefetched pipeline.

    `devices` lists the device families for which it makes sense; "both" means that the variant splits its
    work over CPU and GPU and is requested as a GPU arm. `modes` lists the modes in which it exists: for
    example, a library call on the host cannot be part of an XLA program. `needs` names a flag parameter that
    must be on: without a filter, there is nothing to split.
    """

    name: str
    help: str
    devices: tuple[str, ...] = ("CPU", "GPU")
    modes: tuple[Mode, ...] = MODES
    needs: str = ""
    does: str = ""
    """What the variant does, if the workload's other variants do something else: `inflating`. Variants are
    compared only if they do the same work."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload's parameters and arms."""

    name: str
    title: str
    summary: str
    unit: str
    """The amount of work in one timed call, in a word or two ("one STFT", "one batch")."""
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()
    modes: tuple[Mode, ...] = MODES
    inputs: tuple[Input, ...] = ("resident", "copied")
    variants: tuple[Variant, ...] = ()
    axis: str = ""
    """The default sweep parameter."""
    dtype: str = ""
    """The parameter that selects the arm's dtype; "" if none."""
    gpu_dtypes: tuple[str, ...] = ()
    """Options of dtype that only a GPU supports. If other dtypes are selected as well, these get no
    CPU arm.
    """
    replicas: str = ""
    """The parameter for the number of devices that an arm uses; "" if none."""

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)
