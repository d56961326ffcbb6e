"""What several commands need."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ...logger import logger
from ...parameter import load_parameters
from ...variable import Variable
from .. import load as loading
from .. import save as saving

__all__ = [
    "compute_full_path",
    "is_float",
    "let_data_to_variable",
    "load_train_state",
    "save_optimizer_states",
    "str_to_num",
]


def is_float(x: str) -> bool:
    """Whether `x` is the text of a number."""
    try:
        float(x)
    except ValueError:
        return False
    return True


def str_to_num(str: str) -> int:  # noqa: A002 - the original's name
    """A number with k, m, g or t behind it for powers of 1024: ``"2k"`` is 2048. -1 for another text."""
    text = str.strip().lower()
    power = "kmgt".find(text[-1:]) + 1 if text else 0
    number = text[:-1] if power else text
    return int(float(number) * 1024**power) if is_float(number) else -1


def compute_full_path(root_path: str, file_path: str) -> str:
    """`file_path` below `root_path` if it is a file there, else as it is."""
    full_path = os.path.join(root_path, file_path)
    return full_path if os.path.isfile(full_path) else file_path


def let_data_to_variable(
    variable: Variable, data: Any, ctx: Any = None, data_name: str | None = None, variable_name: str | None = None
) -> None:
    """Puts `data`, an array or an NdArray, into `variable`. ValueError, which names both, where it does not fit."""
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
    """Fills the inputs of a network: `assigned` maps its variables to names of `data`, `generators` to generators."""
    for v, name in assigned.items():
        if name not in data:
            raise ValueError(f"{owner}: the variable {v.name!r} wants the data {name!r}, which the data set lacks")
        instance = v.variable_instance
        array = np.asarray(data[name])
        if array.size == instance.size and array.shape != instance.shape:
            array = array.reshape(instance.shape)
        let_data_to_variable(instance, array, data_name=name, variable_name=v.name)
    for v, generator in generators.items():
        v.variable_instance.d = generator(v.variable_instance.shape)


def open_iterators(stack: ExitStack, parts: Iterable[Any]) -> dict[Any, Any]:
    """The data iterators of optimizers or monitors by what makes them, each opened once, and closed with `stack`."""
    iterators: dict[Any, Any] = {}
    for part in parts:
        for make in part.data_iterators.values():
            if make not in iterators:
                iterators[make] = stack.enter_context(make())
    return iterators


def read_batches(iterators: Iterable[Any]) -> dict[str, Any]:
    """The next batch of each iterator, arrays by the names of their variables."""
    data: dict[str, Any] = {}
    for iterator in iterators:
        data.update(zip(iterator.variables, iterator.next(), strict=True))
    return data


class ResultTable:
    """Numbers by name, a column for each title, as they are written to a .csv file."""

    def __init__(self, corner: str) -> None:
        self.corner = corner
        self.columns: dict[str, Mapping[str, float]] = {}

    def add(self, title: str, column: Mapping[str, float]) -> None:
        """Adds a column; its names are rows."""
        self.columns[title] = column

    def write(self, path: str) -> None:
        """Writes the table; where a column lacks a row, the place is empty."""
        names = list(dict.fromkeys(name for column in self.columns.values() for name in column))
        with replacing(path, "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([self.corner, *self.columns])
            for name in names:
                writer.writerow([name, *(f"{c[name]:f}" if name in c else "" for c in self.columns.values())])


def optimizer_states(optimizers: Any, format_: str = ".h5") -> dict[str, bytes]:
    """The files that hold the states of optimizers' solvers in a .nnp file."""
    described = [{"name": o.name, "solver": o.solver} for o in optimizers]
    return saving._solver_states({"optimizers": described}, format_)


def save_optimizer_states(filebase: str, ext: str, train_config: Any) -> list[str]:
    """Writes the states of the optimizers of `train_config` to files that begin with `filebase`; returns their names.

    ext: ".h5", a file for each, or ".protobuf".
    """
    names = []
    optimizers = [getattr(o, "optimizer", o) for o in train_config.optimizers.values()]
    for name, content in optimizer_states(optimizers, ext).items():
        names.append(f"{filebase}_{name}")
        with replacing(names[-1]) as file:
            file.write(content)
    return names


def load_train_state(filename: str, info: Any) -> None:
    """Loads parameters, and of a .nnp file the states of the solvers of `info.optimizers` too."""
    load_parameters(filename)
    states = loading._states(filename, "")
    for o in info.optimizers.values():
        if o.name in states:
            loading._restore(o.solver, states[o.name])
    logger.info("Load training resume states: %s", filename)
