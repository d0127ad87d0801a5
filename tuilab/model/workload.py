"""What a workload declares about itself, without TensorFlow."""

import msgspec

from tuilab.model.arms import MODES, Input, Mode
from tuilab.model.parameters import Constraint, Parameter


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of doing a workload's work, such as a pipeline that is serial, parallel or prefetched.

    `devices` names the device families on which the variant makes sense; "both" stands for a variant
    that splits its work over CPU and GPU by itself and is requested under the GPU's name. `modes` names
    the modes in which it exists: a library call on the host can be no part of an XLA program. `needs` names
    a flag parameter that must be on: without a filter there is nothing to split.
    """

    name: str
    help: str
    devices: tuple[str, ...] = ("CPU", "GPU")
    modes: tuple[Mode, ...] = MODES
    needs: str = ""
    does: str = ""
    """What it does where others of the workload do something else: `inflating`. Only what does the same is
    compared."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload's parameters and the arms it can take."""

    name: str
    title: str
    summary: str
    unit: str
    """What one timed call does, in a word or two ("one STFT", "one batch")."""
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()
    modes: tuple[Mode, ...] = MODES
    inputs: tuple[Input, ...] = ("resident", "copied")
    variants: tuple[Variant, ...] = ()
    axis: str = ""
    """The parameter that a sweep takes by default."""
    dtype: str = ""
    """The name of the parameter that is the arm's dtype, "" where there is none."""
    gpu_dtypes: tuple[str, ...] = ()
    """Those of its options that only a GPU has; alongside others they make no CPU arm."""
    replicas: str = ""
    """The parameter that says over how many devices of its kind an arm spreads, "" where it does not."""

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, if there is one."""
        return next((p for p in self.parameters if p.name == name), None)
