"""Shared code of the commands that run networks: input data, tables of results, and docstrings."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any, TypeVar

import numpy as np

from compatgrad.core.files import replacing

from ..._documents import documented
from ...variable import Variable
from .. import save as saving

F = TypeVar("F", bound=Callable[..., Any])

# The shared sections of the docstrings of commands, and the docstring of functions that add commands.
_SHARED = """
Args:
    args: the options of the command line, as attributes.

Returns:
    Whether it succeeded.

Raises:
    OSError: a file cannot be read or written.
    ValueError: a file is broken.
"""
_ADDED = """Adds {commands}.

    Args:
        subparsers: the result of `argparse.ArgumentParser.add_subparsers`.

    Raises:
        Nothing.

    Example:
        >>> import argparse
        >>> from compatgrad.{module} import {name}
        >>> parser = argparse.ArgumentParser()
        >>> {name}(parser.add_subparsers())
        >>> args = parser.parse_args({words})
        >>> args.func.__name__, args.{option}
        ({function!r}, {value!r})

    Source: `{module}.{name}` of nnabla 1.39.0.
    """


def command(f: F) -> F:
    """Completes the docstring of a command."""
    return documented(_SHARED, source=f.__module__.removeprefix("compatgrad."), all_have=())(f)


def adds(line: str, function: str, also: str = "", **option: Any) -> Callable[[F], F]:
    """Decorator that gives a function that adds a command its docstring. Its example parses the command line `line`;
    `function` is the name of the function that then runs, `option` one of its options and the option's value, `also`
    another command that is added.
    """
    ((name, value),) = option.items()
    words = line.split()
    commands = f"the commands `{also}` and `{words[0]}`" if also else f"the command `{words[0]}`"

    def document(f: F) -> F:
        f.__doc__ = _ADDED.format(
            commands=commands, module=f.__module__.removeprefix("compatgrad."), name=f.__name__,
            words="[" + ", ".join(f'"{word}"' for word in words) + "]", option=name, function=function, value=value,
        )  # fmt: skip
        return f

    return document


def let_data_to_variable(
    variable: Variable, data: Any, ctx: Any = None, data_name: str | None = None, variable_name: str | None = None
) -> None:
    """Puts data into a Variable.

    Args:
        variable: the Variable.
        data: an array or an NdArray of its shape.
        ctx: has no effect.
        data_name: name of the data in error messages.
        variable_name: name of the Variable in error messages.

    Raises:
        ValueError: the data does not fit.

    Example:
        >>> from compatgrad.nnabla.utils.cli.utility import let_data_to_variable
        >>> x = nn.Variable((2,))
        >>> let_data_to_variable(x, np.array([1.0, 2.0]))
        >>> x.d
        array([1., 2.])

    Source: `nnabla.utils.cli.utility.let_data_to_variable` of nnabla 1.39.0.
    """
    try:
        if hasattr(data, "copy_from"):
            variable.data.copy_from(data)
        else:
            variable.data.cast(data.dtype)[...] = data
    except Exception as e:
        raise ValueError(
            f"data {data_name!r} of shape {data.shape} does not fit the variable {variable_name!r} of shape "
            f"{variable.shape}"
        ) from e


def assign(assigned: Any, generators: Any, data: Any, owner: str) -> None:
    """Sets the inputs of a network: `assigned` maps variables to names of `data`, `generators` maps variables to
    generators."""
    for v, name in assigned.items():
        if name not in data:
            raise ValueError(f"{owner}: the variable {v.name!r} needs the data {name!r}, which the data set lacks")
        instance = v.variable_instance
        array = np.asarray(data[name])
        if array.size == instance.size and array.shape != instance.shape:
            array = array.reshape(instance.shape)
        let_data_to_variable(instance, array, data_name=name, variable_name=v.name)
    for v, generator in generators.items():
        v.variable_instance.d = generator(v.variable_instance.shape)


def open_iterators(stack: ExitStack, parts: Iterable[Any]) -> dict[Any, Any]:
    """A dict of the data iterators of optimizers or monitors by the function that makes the iterator. Each is opened
    once, and `stack` closes it."""
    iterators: dict[Any, Any] = {}
    for part in parts:
        for make in part.data_iterators.values():
            if make not in iterators:
                iterators[make] = stack.enter_context(make())
    return iterators


def read_batches(iterators: Iterable[Any]) -> dict[str, Any]:
    """The next batch of each iterator, as a dict of arrays by variable name."""
    data: dict[str, Any] = {}
    for iterator in iterators:
        data.update(zip(iterator.variables, iterator.next(), strict=True))
    return data


class ResultTable:
    """A table for a .csv file: a row for each name, a column for each title."""

    def __init__(self, corner: str) -> None:
        self.corner = corner
        self.columns: dict[str, Mapping[str, float]] = {}

    def add(self, title: str, column: Mapping[str, float]) -> None:
        """Adds a column, a dict of numbers by row name."""
        self.columns[title] = column

    def write(self, path: str) -> None:
        """Writes the table; where a column has no number for a row, the cell is empty."""
        names = list(dict.fromkeys(name for column in self.columns.values() for name in column))
        with replacing(path, "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([self.corner, *self.columns])
            for name in names:
                writer.writerow([name, *(f"{c[name]:f}" if name in c else "" for c in self.columns.values())])


def optimizer_states(optimizers: Any, format_: str = ".h5") -> dict[str, bytes]:
    """The members of a .nnp file that contain the states of optimizers' solvers."""
    described = [{"name": o.name, "solver": o.solver} for o in optimizers]
    return saving._solver_states({"optimizers": described}, format_)
