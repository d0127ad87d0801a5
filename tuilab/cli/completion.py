"""`tuilab completion`: shell completion for commands, options, presets, parameters and runs."""

import os

import click
from click.shell_completion import CompletionItem, get_completion_class

from tuilab.cli.options import one_of

SHELLS = ("bash", "zsh", "fish")
MOST_RUNS = 50


@click.command()
@click.argument("shell", type=one_of(SHELLS))
@click.pass_context
def completion(ctx: click.Context, /, shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash: tuilab completion bash >> ~/.bashrc
    zsh:  tuilab completion zsh >> ~/.zshrc
    fish: tuilab completion fish > ~/.config/fish/completions/tuilab.fish
    """
    shell_class = get_completion_class(shell)
    assert shell_class is not None  # click supports all three shells
    click.echo(shell_class(ctx.find_root().command, {}, "tuilab", "_TUILAB_COMPLETE").source())


def presets(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from tuilab.catalogue.load import load

    matching = [p for p in load().presets if p.name.startswith(incomplete)]
    return [CompletionItem(p.name, help=p.title) for p in matching] or [
        CompletionItem(incomplete, type="file")
    ]


def settings(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return a completion such as `samples=` for each parameter of the preset that the command line already
    names.
    """
    from tuilab.catalogue.load import load
    from tuilab.workloads import find

    # click drops the preceding words while an option still lacks its value, so read the command line itself.
    typed = os.environ.get("COMP_WORDS", "").split()
    preset = next((p for p in load().presets if p.name in typed), None)
    if preset is None:
        return []
    declared = find(preset.workload).declaration
    names = [p for p in declared.parameters if f"{p.name}=".startswith(incomplete)]
    return [CompletionItem(f"{p.name}=", help=p.label) for p in names]


def runs(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from tuilab.lab import Lab

    lab = Lab()
    try:
        entries = lab.history.entries(limit=MOST_RUNS)
    finally:
        lab.saved.close()
    items = [CompletionItem("last", help="the latest run")]
    items += [CompletionItem(each.run[:8], help=f"{each.name}, {each.line.at}") for each in entries]
    return [item for item in items if item.value.startswith(incomplete)]
