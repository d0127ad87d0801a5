"""`tuilab new`: writes a starter file for your own code."""

import keyword
import os
from pathlib import Path

import click

from tuilab.model.errors import InputError
from tuilab.model.files import SHARED, write_text

STARTER = '''"""Your own code in the lab:  tuilab run {file}:{name}"""

from typing import Annotated, Literal

import tensorflow as tf

import tuilab


@tuilab.workload(title="{title}", unit="forward pass")
def {name}(
    batch: Annotated[int, tuilab.between(1, 1024, help="Examples in one call.")] = 32,
    width: Annotated[int, tuilab.between(8, 4096, help="Units of the hidden layer.")] = 256,
    activation: Literal["relu", "tanh"] = "relu",
):
    """A dense network called on a batch. Put your own model here.

    Every parameter becomes a slider, a --set option and an axis for sweeps. The function is called once
    for each arm, inside its device scope. The lab measures the returned value: a callable with its
    inputs, as here; a callable without inputs; or a Keras model, which is called on a random batch. If
    the function returns tensors, the lab measures the function itself.
    """
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            tf.keras.layers.Dense(width, activation=activation),
            tf.keras.layers.Dense(10),
        ]
    )
    return model, tf.random.normal((batch, 64))
'''


@click.command()
@click.argument("name")
def new(name: str) -> None:
    """Write NAME.py, a starter file to measure your own code with."""
    path = Path(name if name.endswith(".py") else f"{name}.py")
    function = path.stem.replace("-", "_")
    if not function.isidentifier() or keyword.iskeyword(function):
        raise InputError("NAME", name, "a name of letters, digits and _, such as my_model")
    title = function.replace("_", " ").capitalize()
    text = STARTER.format(file=path, name=function, title=title)
    try:
        if os.path.lexists(path):
            raise InputError("NAME", str(path), "the name of a new file")
        write_text(path, [text], SHARED)
    except OSError as error:
        raise InputError("NAME", str(path), f"a writable file ({error.strerror})") from None
    click.echo(f"Wrote {path}. Measure it with: tuilab run {path}:{function}")
