"""A run of several hosts, taken apart: each host's arms under its own machine."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from tuilab.analysis.verdict import judge
from tuilab.model.claims import Claim, Verdict
from tuilab.model.run import RunState


def by_host(state: RunState) -> dict[str, RunState]:
    """Each host's part of the run, by its name in `Arm.host`; the run itself where one host measured it all.

    The parts share their cells with the run.
    """
    hosts = list(dict.fromkeys(arm.arm.host for arm in state.arms.values()))
    if len(hosts) < 2:
        return dict.fromkeys(hosts or [""], state)
    return {host: _part(state, host) for host in hosts}


def _part(state: RunState, host: str) -> RunState:
    machine = state.machines.get(host)
    return replace(
        state,
        arms={name: arm for name, arm in state.arms.items() if arm.arm.host == host},
        machine=machine or state.machine,
        machines={host: machine} if machine else {},
    )


def verdicts(state: RunState, claims: Sequence[Claim]) -> tuple[Verdict, ...]:
    """Each claim held against each host's own arms: a claim speaks of one machine's devices."""
    parts = by_host(state)
    if len(parts) < 2:
        return tuple(judge(claim, state) for claim in claims)
    found = [(host, judge(claim, part)) for claim in claims for host, part in parts.items()]
    return tuple(_named(verdict, host) for host, verdict in found)


def _named(verdict: Verdict, host: str) -> Verdict:
    evidence = f"{host or 'this machine'}: {verdict.evidence}"
    return msgspec.structs.replace(verdict, evidence=evidence, host=host)
