"""A worker that sees one GPU calls it GPU:0, whichever it is: its events under the machine's own names."""

from dataclasses import dataclass, field

import msgspec

from tuilab.model import events as e
from tuilab.model.arms import Arm
from tuilab.model.machine import Machine

replace = msgspec.structs.replace


@dataclass
class Renaming:
    """inside: the device's name in the worker. outside: its name on the machine."""

    inside: str
    outside: str
    _arms: dict[str, str] = field(default_factory=dict)

    def inward(self, arm: Arm) -> Arm:
        """The arm as the worker is asked for it; its events then find back to it."""
        inner = replace(arm, device=self.inside)
        self._arms[inner.id] = arm.id
        return inner

    def machine(self, machine: Machine) -> Machine:
        """The machine with its device under the machine's own name."""
        return replace(machine, devices=tuple(replace(d, name=self._device(d.name)) for d in machine.devices))

    def outward(self, event: e.Event) -> e.Event:
        """The event with arms and devices under the machine's own names."""
        if self.inside == self.outside:
            return event
        match event:
            case e.Round():
                blocks = tuple(replace(b, arm=self._arm(b.arm)) for b in event.blocks)
                return replace(event, blocks=blocks)
            case e.Placement():
                nodes = tuple(self._node(node) for node in event.nodes)
                return replace(event, arm=self._arm(event.arm), nodes=nodes)
            case e.ArmStatus():
                device = self._device(event.device) if event.device else event.device
                return replace(event, arm=self._arm(event.arm), device=device)
            case (
                e.FirstCalls() | e.WarmUp() | e.WarmedUp() | e.Phases() | e.Fact() | e.Caveat() | e.Progress()
            ):
                return replace(event, arm=self._arm(event.arm))
            case e.Ready():
                return replace(event, machine=self.machine(event.machine))
        return event

    def _arm(self, name: str) -> str:
        return self._arms.get(name, name)

    def _device(self, name: str) -> str:
        return self.outside if name == self.inside else name

    def _node(self, node: e.Node) -> e.Node:
        return replace(
            node,
            device=self._device(node.device),
            to=self._device(node.to),
            memory=self._device(node.memory),
            requested=self._device(node.requested),
        )
