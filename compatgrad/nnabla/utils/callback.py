"""Hooks of other programs in the utilities: functions of the modules that the configuration lists, separated by commas,
as `util_callback_module` in the section CALLBACK.
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
        args: the arguments of the command, as parsed by argparse.

    Returns:
        The result of the hook, which is the status of the command; None if it has not run the command, or if there is
        no hook.

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
    """The hook's addition to the version that `nnabla_cli` prints.

    Returns:
        A str; None without a hook.

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
    """The hook's limit of the time of a training.

    Args:
        args: the arguments of the command, as parsed by argparse.

    Returns:
        Seconds; -1 (no limit) without a hook.

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
    """Gets from the hook the best result of the earlier training that this one resumes.

    Args:
        args: the arguments of the command, as parsed by argparse.

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
    """Asks the hook after an epoch whether the training may continue.

    Args:
        args: the arguments of the command, as parsed by argparse.
        config: the configuration of the training.
        timeinfo: the times of the training so far.
        epoch: the epoch that has ended.
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
    """Reports to the hook the predicted time of a training.

    Args:
        prediction: seconds; None if unknown.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_time_train(prediction=12.5)

    Source: `nnabla.utils.callback.update_time_train` of nnabla 1.39.0.
    """
    _call("update_time_train", prediction)


def update_forward_time() -> None:
    """Reports to the hook that a part of a command `forward` has ended.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_forward_time()

    Source: `nnabla.utils.callback.update_forward_time` of nnabla 1.39.0.
    """
    _call("update_forward_time")


def save_train_snapshot() -> None:
    """Reports to the hook that the parameters of a training have been written.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.save_train_snapshot()

    Source: `nnabla.utils.callback.save_train_snapshot` of nnabla 1.39.0.
    """
    _call("save_train_snapshot")


def process_evaluation_result(outdir: str, filename: str) -> None:
    """Reports to the hook the location of the results of a command `forward`.

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


def result_base(base: str, suffix: str | None, outdir: str) -> str | None:
    """Asks the hook for the path of the results of a training.

    Args:
        base: the name of the results, such as "results".
        suffix: text that is appended to the name.
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
    """Reports the state of a command to the hook.

    Args:
        state: the state, a str or a tuple of a path and a value.
        start: True at the start of the command.
        start_time: the time of the start, in seconds since 1970.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_status("processing", start=True)

    Source: `nnabla.utils.callback.update_status` of nnabla 1.39.0.
    """
    _call("update_status", state, start, start_time)


def update_progress(text: str) -> None:
    """Reports the progress of a command to the hook.

    Args:
        text: a description of the progress.

    Raises:
        Exception: the errors of the hook, if there is one.

    Example:
        >>> from compatgrad.nnabla.utils import callback
        >>> callback.update_progress("epoch 1 of 10")

    Source: `nnabla.utils.callback.update_progress` of nnabla 1.39.0.
    """
    _call("update_progress", text)


def get_load_image_func(ext: str) -> Callable[..., Any] | None:
    """Gets a loader of images from the hook.

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
