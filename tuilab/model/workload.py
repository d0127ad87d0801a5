"""The declaration of a workload. Does not import TensorFlow."""

import msgspec

from tuilab.model.arms import MODES, Input, Mode
from tuilab.model.parameters import Constraint, Parameter


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to do the work of a workload, such as a serial, parallel or prefetched pipeline.

    `devices` lists the device families for which the variant makes sense; "both" means a GPU arm that
    splits its work between CPU and GPU. `modes` lists the modes in which the variant exists: a library call
    on the host cannot be part of an XLA program, for example. `needs` names a boolean parameter that must
    be true: without a filter, for example, there is nothing to split.
    """

    name: str
    help: str
    devices: tuple[str, ...] = ("CPU", "GPU")
    modes: tuple[Mode, ...] = MODES
    needs: str = ""
    does: str = ""
    """What the variant does, if other variants of the workload do something else: `inflating`. Only
    variants that do the same work are compared.
    """


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A workload's parameters, arms and variants."""

    name: str
    title: str
    summary: str
    unit: str
    """The work of one timed call in a few words: "one STFT", "one batch"."""
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()
    modes: tuple[Mode, ...] = MODES
    inputs: tuple[Input, ...] = ("resident", "copied")
    variants: tuple[Variant, ...] = ()
    axis: str = ""
    """The parameter that a sweep varies by default."""
    dtype: str = ""
    """The parameter that sets the arm's dtype; "" if there is none."""
    gpu_dtypes: tuple[str, ...] = ()
    """The dtypes that only a GPU supports. They get no CPU arm if other dtypes are also selected."""
    replicas: str = ""
    """The parameter that sets how many devices an arm uses; "" if there is none."""

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)
