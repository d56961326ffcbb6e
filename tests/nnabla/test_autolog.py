"""nnabla.autolog, which logs the values of monitors to MLflow, and nnabla.utils.nvml without a GPU."""

import importlib
import os
import sys
import types

import numpy as np
import pytest

import compatgrad.nnabla as nn
from compatgrad.nnabla.monitor import Monitor, MonitorImage, MonitorImageTile, MonitorSeries, MonitorTimeElapsed
from compatgrad.nnabla.utils import nvml


@pytest.fixture
def logged(monkeypatch):
    """Replaces mlflow by a fake module; returns the list of the calls to it."""
    calls = []
    mlflow = types.ModuleType("mlflow")
    mlflow.log_metric = lambda name, value, step: calls.append((name, value, step))
    mlflow.log_artifact = lambda path, uri: calls.append((os.path.basename(path), os.path.exists(path), uri))
    info = types.SimpleNamespace(run_id="7")
    mlflow.active_run = lambda: types.SimpleNamespace(info=info)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.delitem(sys.modules, "compatgrad.nnabla.autolog", raising=False)
    return calls


def test_monitors_log_to_mlflow(logged, tmp_path):
    pytest.importorskip("PIL")
    autolog = importlib.import_module("compatgrad.nnabla.autolog")
    monitor = Monitor(str(tmp_path))
    series, times = MonitorSeries("S", monitor, 2), MonitorTimeElapsed("T", monitor, 3)
    images, tile = MonitorImage("I", monitor, 2, num_images=2), MonitorImageTile("P", monitor, 2, num_images=4)
    before = [vars(k).get("add") for k in (MonitorSeries, MonitorTimeElapsed, MonitorImage, MonitorImageTile)]
    save = nn.save_parameters
    autolog.autolog(with_save_parameters=True)
    for i in range(4):
        series.add(i, 10.0 * i)
        times.add(i)
        images.add(i, np.random.rand(3, 3, 4, 4))
        tile.add(i, np.random.rand(3, 3, 4, 4))
    nn.save_parameters(str(tmp_path / "p.protobuf"), {})
    autolog.stop_autolog()
    series.add(9, 1.0)
    # recorded with nnabla 1.39 and mlflow
    assert [c for c in logged if c[0] == "S"] == [("S", 5.0, 1), ("S", 25.0, 3)]
    assert [(name, step) for name, _, step in logged if name == "T"] == [("T", 2)]
    uri = "runs_7/I"
    assert [c for c in logged if c[2] == uri] == [(f"{i:06d}-{n:03d}.png", True, uri) for i in (1, 3) for n in (0, 1)]
    assert [c for c in logged if c[2] == "runs_7/P"] == [(f"{i:06d}.png", True, "runs_7/P") for i in (1, 3)]
    assert logged[-1] == ("p.protobuf", True, "runs_7/parameters")
    assert nn.save_parameters is save
    assert before == [vars(k).get("add") for k in (MonitorSeries, MonitorTimeElapsed, MonitorImage, MonitorImageTile)]


def test_nvml_says_that_there_is_no_library(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(nvml, "nvml_lib", None)
    monkeypatch.setattr(nvml.ctypes, "CDLL", missing)
    with pytest.raises(nvml.NVMLError, match="Library Not Found") as caught:
        nvml.nvmlInit()
    assert caught.value.value == nvml.NVML_ERROR_LIBRARY_NOT_FOUND
    with pytest.raises(nvml.NVMLError, match="Uninitialized"):
        nvml.nvmlDeviceGetCount()


def test_nvml_asks_the_library(monkeypatch):
    class Library:
        def __getattr__(self, name):
            if name == "nvmlDeviceGetMemoryInfo":
                raise AttributeError(name)
            return lambda *args: self.call(name, *args)

        def call(self, name, *args):
            if name == "nvmlDeviceGetCount_v2":
                args[0]._obj.value = 2
            elif name == "nvmlDeviceGetName":
                args[1].value = b"GPU"
            elif name == "nvmlErrorString":
                return b"no such GPU"
            return nvml.NVML_ERROR_INVALID_ARGUMENT if name == "nvmlDeviceGetUtilizationRates" else nvml.NVML_SUCCESS

    monkeypatch.setattr(nvml, "nvml_lib", Library())
    nvml.nvmlInit()
    assert nvml.nvmlDeviceGetCount() == 2
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    assert nvml.nvmlDeviceGetName(handle) == b"GPU"
    with pytest.raises(nvml.NVMLError, match="no such GPU"):
        nvml.nvmlDeviceGetUtilizationRates(handle)
    with pytest.raises(nvml.NVMLError) as caught:
        nvml.nvmlDeviceGetMemoryInfo(handle)
    assert caught.value.value == nvml.NVML_ERROR_FUNCTION_NOT_FOUND
    nvml.nvmlShutdown()
