"""Hooks that other programs put into the utilities: functions of the modules that the configuration names.

The modules are listed, with commas, under `util_callback_module` in the section CALLBACK.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ..config import nnabla_config

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable
    from typing import Any


def _modules():
    names = nnabla_config.get("CALLBACK", "util_callback_module", fallback="").strip("[] ")
    try:
        return [importlib.import_module(name.strip()) for name in names.split(",") if name.strip()]
    except ImportError:
        return []


callback_list = _modules()


def _get_callback(func_name):
    return next((module for module in callback_list if hasattr(module, func_name)), None)


def _call(func_name, *args, default=None):
    module = _get_callback(func_name)
    return getattr(module, func_name)(*args) if module else default


def alternative_cli(args: Namespace) -> Any:
    """Lets the hook run a command of `nnabla_cli` instead of this package.

    Args:
        args: the arguments of the command, as argparse gives them.

    Returns:
        What the hook gives, the status of the command; None: it has not run it, or there is no hook.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.alternative_cli(None) is None
        True

    Source: `nnabla.utils.callback.alternative_cli` of nnabla 1.39.0.
    """
    return _call("alternative_cli", args)


def get_callback_version() -> str | None:
    """Asks the hook what it wants added to the version that `nnabla_cli` prints.

    Returns:
        Its text; None without a hook.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.get_callback_version() is None
        True

    Source: `nnabla.utils.callback.get_callback_version` of nnabla 1.39.0.
    """
    return _call("get_callback_version")


def add_train_command_arg(subparser: ArgumentParser) -> None:
    """Lets the hook add arguments to the command `train`.

    Args:
        subparser: the parser of the command.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> import argparse
        >>> callback.add_train_command_arg(argparse.ArgumentParser())

    Source: `nnabla.utils.callback.add_train_command_arg` of nnabla 1.39.0.
    """
    _call("add_train_command_arg", subparser)


def get_timelimit(args: Namespace) -> float:
    """Asks the hook how long a training may take.

    Args:
        args: the arguments of the command, as argparse gives them.

    Returns:
        Seconds; -1, no limit, without a hook.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.get_timelimit(None)
        -1

    Source: `nnabla.utils.callback.get_timelimit` of nnabla 1.39.0.
    """
    return _call("get_timelimit", args, default=-1)


def get_best_from_status(args: Namespace) -> tuple[float | None, int | None]:
    """Asks the hook for the best result of a training that goes on from a former one.

    Args:
        args: the arguments of the command, as argparse gives them.

    Returns:
        (error, epoch); (None, None) without a hook.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.get_best_from_status(None)
        (None, None)

    Source: `nnabla.utils.callback.get_best_from_status` of nnabla 1.39.0.
    """
    return _call("get_best_from_status", args, default=(None, None))


def check_training_time(args: Namespace, config: Any, timeinfo: Any, epoch: int, last_epoch: int) -> bool:
    """Asks the hook, behind an epoch, whether the training may go on.

    Args:
        args: the arguments of the command, as argparse gives them.
        config: the configuration of the training.
        timeinfo: the times of the training so far.
        epoch: the epoch that is done.
        last_epoch: the last one that is planned.

    Returns:
        False ends the training; True without a hook.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.check_training_time(None, None, None, 1, 10)
        True

    Source: `nnabla.utils.callback.check_training_time` of nnabla 1.39.0.
    """
    return _call("check_training_time", args, config, timeinfo, epoch, last_epoch, default=True)


def update_time_train(prediction: float | None = None) -> None:
    """Tells the hook how long a training is going to take.

    Args:
        prediction: seconds; None where they are not known.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_time_train(prediction=12.5)

    Source: `nnabla.utils.callback.update_time_train` of nnabla 1.39.0.
    """
    _call("update_time_train", prediction)


def update_forward_time() -> None:
    """Tells the hook that a part of a command `forward` is done.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_forward_time()

    Source: `nnabla.utils.callback.update_forward_time` of nnabla 1.39.0.
    """
    _call("update_forward_time")


def save_train_snapshot() -> None:
    """Tells the hook that the parameters of a training were written.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.save_train_snapshot()

    Source: `nnabla.utils.callback.save_train_snapshot` of nnabla 1.39.0.
    """
    _call("save_train_snapshot")


def process_evaluation_result(outdir: str, filename: str) -> None:
    """Tells the hook where the results of a command `forward` are.

    Args:
        outdir: the folder of the results.
        filename: the path of the table of results.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.process_evaluation_result("results", "results/output.csv")

    Source: `nnabla.utils.callback.process_evaluation_result` of nnabla 1.39.0.
    """
    _call("process_evaluation_result", outdir, filename)


def result_base(base: str, suffix: str, outdir: str) -> str | None:
    """Asks the hook where the results of a training go.

    Args:
        base: the name of the results, such as "results".
        suffix: what stands behind the name.
        outdir: the folder.

    Returns:
        A path without extension; None without a hook.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.result_base("results", "_best", "out") is None
        True

    Source: `nnabla.utils.callback.result_base` of nnabla 1.39.0.
    """
    return _call("result_base", base, suffix, outdir)


def update_status(state: Any = None, start: bool = False, start_time: float | None = None) -> None:
    """Tells the hook the state of a command.

    Args:
        state: what it does, a str or a tuple of a path and a value.
        start: whether the command begins now.
        start_time: when it has begun, in seconds since 1970.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_status("processing", start=True)

    Source: `nnabla.utils.callback.update_status` of nnabla 1.39.0.
    """
    _call("update_status", state, start, start_time)


def update_progress(text: str) -> None:
    """Tells the hook how far a command is.

    Args:
        text: the state in words.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_progress("epoch 1 of 10")

    Source: `nnabla.utils.callback.update_progress` of nnabla 1.39.0.
    """
    _call("update_progress", text)


def get_load_image_func(ext: str) -> Callable[..., Any] | None:
    """Asks the hook for a loader of images.

    Args:
        ext: the extension of the file, with its dot.

    Returns:
        The loader; None without one.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.get_load_image_func(".png") is None
        True

    Source: `nnabla.utils.callback.get_load_image_func` of nnabla 1.39.0.
    """
    return _call("get_load_image_func", ext)
