"""Functions for several commands."""

from __future__ import annotations

import os
from typing import Any

import numpy as np  # noqa: F401  programs find it here, as in nnabla

from compatgrad.core.files import replacing

from ...logger import logger
from ...parameter import load_parameters
from .. import load as loading
from ._steps import let_data_to_variable as let_data_to_variable
from ._steps import optimizer_states

__all__ = [
    "compute_full_path",
    "is_float",
    "let_data_to_variable",
    "load_train_state",
    "save_optimizer_states",
    "str_to_num",
]


def is_float(x: str) -> bool:
    """Whether a string is that of a number.

    Args:
        x: the string.

    Returns:
        Whether `float` accepts it.

    Raises:
        TypeError: `x` is neither a string nor a number.

    Example:
        >>> from compatgrad.nnabla.utils.cli.utility import is_float
        >>> is_float("1e-3"), is_float("a.png")
        (True, False)

    Source: `nnabla.utils.cli.utility.is_float` of nnabla 1.39.0.
    """
    try:
        float(x)
    except ValueError:
        return False
    return True


def str_to_num(str: str) -> int:  # the original's name of the argument
    """Reads a number that may be followed by k, m, g or t for powers of 1024.

    Args:
        str: the text.

    Returns:
        The number; -1 for another string.

    Raises:
        AttributeError: `str` is not a string.

    Example:
        >>> from compatgrad.nnabla.utils.cli.utility import str_to_num
        >>> str_to_num("2k"), str_to_num("1.5m"), str_to_num("much")
        (2048, 1572864, -1)

    Source: `nnabla.utils.cli.utility.str_to_num` of nnabla 1.39.0.
    """
    text = str.strip().lower()
    power = "kmgt".find(text[-1:]) + 1 if text else 0
    number = text[:-1] if power else text
    return int(float(number) * 1024**power) if is_float(number) else -1


def compute_full_path(root_path: str, file_path: str) -> str:
    """The path of a file below a folder, with slashes and without "/./". Whether there is such a file does not matter.

    Args:
        root_path: the folder.
        file_path: the path from there.

    Returns:
        The full path; `file_path` if that is absolute.

    Raises:
        TypeError: an argument is not a path.

    Example:
        >>> from compatgrad.nnabla.utils.cli.utility import compute_full_path
        >>> compute_full_path(".", "./x.csv"), compute_full_path("data", "x.csv")
        ('./x.csv', 'data/x.csv')

    Source: `nnabla.utils.cli.utility.compute_full_path` of nnabla 1.39.0.
    """
    full_path = os.path.join(root_path, file_path).replace("\\", os.path.sep).replace("/", os.path.sep)
    return full_path.replace(f"{os.path.sep}.{os.path.sep}", os.path.sep)


def save_optimizer_states(filebase: str, ext: str, train_config: Any) -> list[str]:
    """Writes the states of optimizers' solvers to files.

    Args:
        filebase: prefix of the names of the files.
        ext: ".h5", a file for each optimizer, or ".protobuf".
        train_config: an object whose `optimizers` is a dict of the optimizers by name.

    Returns:
        The names of the files.

    Raises:
        OSError: a file cannot be written.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.utility import save_optimizer_states
        >>> solver = S.Momentum()
        >>> solver.set_parameters({"w": nn.Variable((2,), need_grad=True)})
        >>> config = SimpleNamespace(optimizers={"opt": SimpleNamespace(name="opt", solver=solver)})
        >>> save_optimizer_states("epoch_1", ".h5", config)
        ['epoch_1_opt_Momentum_optimizer.h5.optimizer']

    Source: `nnabla.utils.cli.utility.save_optimizer_states` of nnabla 1.39.0.
    """
    names = []
    optimizers = [getattr(o, "optimizer", o) for o in train_config.optimizers.values()]
    for name, content in optimizer_states(optimizers, ext).items():
        names.append(f"{filebase}_{name}")
        with replacing(names[-1]) as file:
            file.write(content)
    return names


def load_train_state(filename: str, info: Any) -> None:
    """Loads parameters, and from a .nnp file also the states of solvers.

    Args:
        filename: the file.
        info: an object whose `optimizers` is a dict of the optimizers by name, whose solvers get the states.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged, or a parameter exists with another shape.

    Example:
        >>> from types import SimpleNamespace
        >>> from compatgrad.nnabla.utils.cli.utility import load_train_state
        >>> nn.save_parameters("w.h5", {"w": nn.Variable((2,))})
        >>> load_train_state("w.h5", SimpleNamespace(optimizers={}))
        >>> list(nn.get_parameters(grad_only=False))
        ['w']

    Source: `nnabla.utils.cli.utility.load_train_state` of nnabla 1.39.0.
    """
    load_parameters(filename)
    states = loading._states(filename, "")
    for o in info.optimizers.values():
        if o.name in states:
            loading._restore(o.solver, states[o.name])
    logger.info("Load training resume states: %s", filename)
