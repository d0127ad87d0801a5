"""`tuilab machine`: measures the hardware limits of this machine."""

from collections.abc import Sequence

import click
import msgspec

from tuilab.cli.choose import host_option, quiet_option
from tuilab.cli.environment import python_option
from tuilab.cli.lab import with_lab
from tuilab.cli.options import columns, emit
from tuilab.cli.said import tell
from tuilab.lab import Lab, roofs
from tuilab.lab.hosts import checked_hosts
from tuilab.model.machine import Machine
from tuilab.model.roofline import AskRoofs, Roofs
from tuilab.report.roofs import roofs_text


class MachineRoofs(msgspec.Struct, frozen=True, kw_only=True):
    """The object that `tuilab machine --json` prints."""

    machine: Machine
    roofs: Roofs


@click.command()
@python_option
@quiet_option
@click.option("--again", is_flag=True, help="Measure again even if saved limits exist.")
@click.option("--seconds", type=click.FloatRange(0.5, 60), default=3.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@host_option
def machine(again: bool, seconds: float, as_json: bool, hosts: Sequence[str]) -> None:
    """Measure the limits of this machine: bandwidth, arithmetic, copies, the cost of an empty call.

    The limits are saved, and measured again if the machine changes. Each figure is the best that was ever
    measured.
    """
    measured: list[MachineRoofs] = []
    for host in checked_hosts(hosts):
        measured += with_lab(lambda lab: ask(lab, again, seconds), (host,))
    if as_json:
        emit(measured[0] if len(measured) == 1 else measured)
    else:
        click.echo("\n\n".join(roofs_text(each.machine, each.roofs, columns()) for each in measured))


async def ask(lab: Lab, again: bool, seconds: float) -> list[MachineRoofs]:
    out = []
    for there in (await lab.ready()).values():
        kept = next((known for known in roofs.known() if known.machine == there.key), None)
        wanted = {"CPU:0", *(gpu.name for gpu in there.gpus[:1])}
        if again or kept is None or not wanted <= kept.devices.keys():
            click.echo("measuring this machine's hardware limits", err=True)
            measured = await lab.questions.ask("roofs", AskRoofs(seconds=seconds), Roofs)
            try:
                kept = roofs.keep(measured)
            except OSError as error:
                tell(f"the limits could not be saved: {error.strerror}")
                kept = roofs.better(kept, measured)
        out.append(MachineRoofs(machine=there, roofs=kept))
    return out
