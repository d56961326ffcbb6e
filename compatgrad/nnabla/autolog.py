"""Logs the values of monitors, and files of parameters, to MLflow. It needs mlflow.

nnabla.autolog.autolog()
with mlflow.start_run():
    ...
nnabla.autolog.stop_autolog()
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import mlflow
import numpy as np

import compatgrad.nnabla as nn
from compatgrad.nnabla.monitor import MonitorImage, MonitorImageTile, MonitorSeries, MonitorTimeElapsed

__all__ = ["autolog", "stop_autolog"]

#: The replaced attributes: owner, name, old value.
nnabla_mlflow_patches: list[tuple[Any, str, Any]] = []


def _log_file(path: str, folder: str) -> None:
    mlflow.log_artifact(path, f"runs_{mlflow.active_run().info.run_id}/{folder}")


def _log_mean(monitor: MonitorSeries, index: int, value: float) -> None:
    if monitor._is_due(index):
        mlflow.log_metric(monitor.name, float(np.mean([*monitor.buf, value])), step=index)


def _log_time(monitor: MonitorTimeElapsed, index: int) -> None:
    if monitor._is_due(index):
        mlflow.log_metric(monitor.name, time.time() - monitor.lap, step=index)


def _log_images(monitor: MonitorImage, index: int, value: Any) -> None:
    for number in range(min(monitor.num_images, value.shape[0])) if (index + 1) % monitor.interval == 0 else ():
        _log_file(os.path.join(monitor.save_dir, f"{index:06d}-{number:03d}.png"), monitor.name)


def _log_picture(monitor: MonitorImageTile, index: int, value: Any) -> None:
    if (index + 1) % monitor.interval == 0:
        _log_file(os.path.join(monitor.save_dir, f"{index:06d}.png"), monitor.name)


def _log_parameters(path: str, params: Any = None) -> None:
    _log_file(path, "parameters")


def _replace(owner: Any, name: str, log: Callable[..., None], first: bool) -> None:
    """Replaces the function `name` of `owner` by one that also calls `log` with its arguments, before or after the
    original."""
    original = getattr(owner, name)
    nnabla_mlflow_patches.append((owner, name, vars(owner).get(name)))

    @functools.wraps(original)
    def both(*args: Any, **kwargs: Any) -> Any:
        if first:
            log(*args, **kwargs)
        result = original(*args, **kwargs)
        if not first:
            log(*args, **kwargs)
        return result

    setattr(owner, name, both)


def autolog(with_save_parameters: bool = False) -> None:
    """Makes monitors, and on request `nnabla.save_parameters`, log to MLflow's active run.

    Numbers and times are metrics with the monitors' names; images and files of parameters are artifacts in the folder
    "runs_" and the run's id.
    """
    images = MonitorImage.add  # MonitorImageTile inherits its `add`
    _replace(MonitorSeries, "add", _log_mean, True)
    _replace(MonitorTimeElapsed, "add", _log_time, True)
    _replace(MonitorImage, "add", _log_images, False)
    nnabla_mlflow_patches.append((MonitorImageTile, "add", vars(MonitorImageTile).get("add")))

    @functools.wraps(images)
    def add_tile(self: MonitorImageTile, index: int, var: Any) -> None:
        images(self, index, var)
        _log_picture(self, index, var)

    MonitorImageTile.add = add_tile  # type: ignore[method-assign]
    if with_save_parameters:
        _replace(nn, "save_parameters", _log_parameters, False)


def stop_autolog() -> None:
    """Ends the logging."""
    while nnabla_mlflow_patches:
        owner, name, value = nnabla_mlflow_patches.pop()
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
