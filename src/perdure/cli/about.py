"""About perdure itself: its version, and completion for the shell."""

from __future__ import annotations

import click

from perdure.cli.command import PerdureCommand, here


@click.command(cls=PerdureCommand)
def version() -> None:
    """Print the version of perdure and of the packages that it uses."""
    import platform
    from importlib.metadata import version as installed

    names = ("apsw", "blake3", "click", "msgspec", "uvicorn")
    numbers = {"perdure": installed("perdure"), "python": platform.python_version()}
    numbers |= {name: installed(name) for name in names}
    here().print_answer(numbers, "\n".join(f"{name} {number}" for name, number in numbers.items()))


@click.command(cls=PerdureCommand)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def completion(shell: str) -> None:
    """Print a script that completes commands and options in SHELL.

    \b
    bash: perdure completion bash > ~/.local/share/bash-completion/completions/perdure
    zsh:  perdure completion zsh > ~/.zfunc/_perdure   (with ~/.zfunc in $fpath)
    fish: perdure completion fish > ~/.config/fish/completions/perdure.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if kind is None:
        raise click.UsageError(f"no completion is known for {shell}")
    click.echo(kind(root, {}, "perdure", "_PERDURE_COMPLETE").source())
