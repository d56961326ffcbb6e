"""Contexts, extensions, configuration and the logger."""

import copy
import logging
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.nnabla import context as contexts
from compatgrad.nnabla.ext_utils import get_extension_context, import_extension_module, list_extensions

no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def test_context():
    ctx = nn.Context()
    assert repr(ctx) == "Context(backend=['cpu:float'], array_class='', device_id='0')"
    assert ctx != nn.Context()  # contexts are compared by identity
    other = nn.Context(["cpu:half", "cpu:float"], "CpuArray", "1")
    for twin in (copy.deepcopy(other), pickle.loads(pickle.dumps(other))):
        assert twin.backend == ["cpu:half", "cpu:float"]
        assert (twin.array_class, twin.device_id) == ("CpuArray", "1")
    other.device_id = "5"
    other.backend = ["cuda:float"]
    assert (other["device_id"], other.backend) == ("5", ["cuda:float"])


def test_scopes():
    before = nn.get_current_context()
    a, b = nn.Context(), nn.Context()
    with nn.context_scope(a):
        assert nn.get_current_context() is a
        with pytest.raises(AssertionError, match="inside any context_scope"):
            nn.set_default_context(b)
        with pytest.raises(KeyError), nn.context_scope(b):
            assert nn.get_current_context() is b
            raise KeyError
        assert nn.get_current_context() is a
    assert nn.get_current_context() is before
    nn.set_default_context(b)
    assert nn.get_current_context() is b
    nn.set_default_context(before)


def test_extension_contexts():
    cpu = get_extension_context("cpu", device_id="3")
    assert repr(cpu) == "Context(backend=['cpu:float'], array_class='CpuCachedArray', device_id='')"
    assert get_extension_context("cpu", type_config="half").backend == ["cpu:half", "cpu:float"]
    gpu = get_extension_context("cudnn", device_id=1, type_config="half")
    assert gpu.backend == ["cudnn:half", "cudnn:float", "cuda:half", "cuda:float", "cpu:float"]
    assert gpu.device_id == "1" and contexts.is_half(gpu)
    assert get_extension_context("cuda.cudnn").backend == ["cudnn:float", "cuda:float", "cpu:float"]
    assert get_extension_context("cuda").backend == ["cuda:float", "cpu:float"]
    for name in ("cpu", "cudnn"):
        with pytest.raises(ValueError, match="type_config must be"):
            get_extension_context(name, type_config="double")
    with pytest.raises(ModuleNotFoundError):
        get_extension_context("tpu")
    assert list_extensions() == (["cpu", "cuda", "cudnn"] if torch.cuda.is_available() else ["cpu"])
    for name in ("cpu", "cuda", "cudnn"):
        module = import_extension_module(name)
        module.clear_memory_cache()
        assert module.get_device_count() == len(module.get_devices())
        module.synchronize(device_id="0")


def test_half_contexts_compute_in_half_precision():
    x = nn.Variable.from_numpy_array(np.array([1.0, 0.1]))
    x.need_grad = True
    with nn.context_scope(get_extension_context("cpu", type_config="half")):
        y = F.sin(x)
        with nn.context_scope(nn.Context()):
            z = F.sin(y)
    z.forward()
    x.grad.zero()
    z.backward()
    assert (x.d.dtype, y.d.dtype, z.d.dtype) == (np.float64, np.float16, np.float32)
    np.testing.assert_array_equal(y.d, np.sin(np.array([1, 0.1], np.float16)))
    np.testing.assert_allclose(z.d, np.sin(y.d.astype(np.float32)), rtol=1e-6)
    np.testing.assert_allclose(x.g, np.cos(np.sin(x.d)) * np.cos(x.d), rtol=2e-3)


@no_gpu
def test_without_a_gpu_the_cpu_computes_and_a_message_is_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(contexts, "_warned", False)
    with caplog.at_level(logging.WARNING, "nnabla"):
        for name in ("cudnn", "cuda", "cudnn"):
            with nn.context_scope(get_extension_context(name)):
                assert contexts.device_of(nn.get_current_context()) == torch.device("cpu")
    # other loggers may speak, too: of code that a garbage collection runs, for example
    assert [message for name, _, message in caplog.record_tuples if name == "nnabla"] == [
        "The context asks for cudnn, but there is no GPU: running on the CPU."
    ]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_gpu_contexts():
    assert contexts.device_of(get_extension_context("cudnn")) == torch.device("cuda", 0)
    with pytest.raises(RuntimeError, match="device_id '99' is out of range"):
        contexts.device_of(get_extension_context("cuda", device_id="99"))


def run(code, folder, **env):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **env}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_configuration_files(tmp_path):
    log = tmp_path / "run.log"
    (tmp_path / "nnabla.conf").write_text(
        f"[LOG]\nlog_console_level = ERROR\nlog_file_name = {log}\nlog_file_format = %(message)s!\n"
    )
    (tmp_path / "more.conf").write_text("[DATA_ITERATOR]\ncache_file_format = .h5\n")
    done = run(
        "from compatgrad.nnabla.logger import logger\n"
        "from compatgrad.nnabla.config import nnabla_config\n"
        "logger.info('one'); logger.error('two')\n"
        "assert nnabla_config.get('DATA_ITERATOR', 'cache_file_format') == '.h5'\n"
        "assert nnabla_config.get('DATA_ITERATOR', 'data_source_file_cache_size') == '100'\n",
        tmp_path,
        NNABLA_CONFIG_FILE_PATH=str(tmp_path / "more.conf"),
    )
    assert "one" not in done.stderr
    assert done.stderr.strip().endswith("[nnabla][ERROR]: two")
    assert log.read_text() == "two!\n"


def test_order_of_array_classes():
    from compatgrad.nnabla_ext import cuda

    try:
        nn.prefer_cached_array(False)
        assert nn.array_classes() == ["CpuArray", "CpuDlpackArray", "CpuCachedArray"]
        assert cuda.array_classes() == ["CudaArray", "CudaCachedArray"]
    finally:
        nn.reset_array_preference()
    assert nn.array_classes() == ["CpuCachedArray", "CpuArray", "CpuDlpackArray"]
    assert cuda.array_classes()[0] == "CudaCachedArray"
