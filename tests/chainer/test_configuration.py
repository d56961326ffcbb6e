"""Global and thread-local configuration."""

import importlib
import io
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer

configuration = importlib.import_module(chainer.__name__ + ".configuration")

ENGINE_ENTRIES = ["debug", "enable_backprop", "lazy_grad_sum", "train", "type_check"]


def in_thread(f):
    results = []
    thread = threading.Thread(target=lambda: results.append(f()))
    thread.start()
    thread.join()
    return results[0]


@pytest.mark.semantics("C21")
@pytest.mark.parametrize("name", [*ENGINE_ENTRIES, "dtype", "an_entry_of_a_third_party"])
def test_using_config_is_thread_local_and_restores(name):
    chainer.global_config.an_entry_of_a_third_party = "default"
    try:
        before = getattr(chainer.config, name)
        other = not before if name in ENGINE_ENTRIES else np.dtype(np.float64)
        with chainer.using_config(name, other):
            assert getattr(chainer.config, name) == other
            assert getattr(chainer.global_config, name) == before
            assert in_thread(lambda: getattr(chainer.config, name)) == before
            with chainer.using_config(name, before):
                assert getattr(chainer.config, name) == before
            assert getattr(chainer.config, name) == other
        assert getattr(chainer.config, name) == before
        with pytest.raises(ZeroDivisionError), chainer.using_config(name, other):
            _ = 1 / 0
        assert getattr(chainer.config, name) == before
    finally:
        del chainer.global_config.an_entry_of_a_third_party


@pytest.mark.semantics("C21")
@pytest.mark.parametrize("name", ["train", "autotune"])
def test_default_reaches_threads_without_a_value_of_their_own(name):
    before = getattr(chainer.global_config, name)
    try:
        with chainer.using_config(name, before):
            setattr(chainer.global_config, name, not before)
            assert getattr(chainer.config, name) == before
            assert in_thread(lambda: getattr(chainer.config, name)) is not before
        assert getattr(chainer.config, name) is not before
    finally:
        setattr(chainer.global_config, name, before)


@pytest.mark.parametrize("name", ["train", "unheard_of"])
def test_delete(name):
    with pytest.raises(AttributeError):
        delattr(chainer.config, name)
    setattr(chainer.config, name, False)
    delattr(chainer.config, name)
    assert getattr(chainer.config, name, True) is True


def test_unknown_entry():
    assert not hasattr(chainer.config, "unheard_of")
    assert not hasattr(chainer.global_config, "unheard_of")


def test_show_lists_what_the_original_has():
    chainer.config.zzz = "mine"
    try:
        out = io.StringIO()
        chainer.config.show(out)
    finally:
        del chainer.config.zzz
    entries = dict(line.split(maxsplit=1) for line in out.getvalue().splitlines())
    assert entries == {
        "_will_recompute": "False",
        "autotune": "False",
        "compute_mode": "None",
        "cudnn_deterministic": "False",
        "cudnn_fast_batch_normalization": "False",
        "debug": "False",
        "dtype": "float32",
        "enable_backprop": "True",
        "in_recomputing": "False",
        "keep_graph_on_report": "False",
        "lazy_grad_sum": "False",
        "schedule_func": "None",
        "train": "True",
        "type_check": "True",
        "use_cudnn": "auto",
        "use_cudnn_tensor_core": "auto",
        "use_ideep": "never",
        "use_static_graph": "True",
        "warn_nondeterministic": "False",
        "zzz": "mine",
    }
    assert list(entries) == sorted(entries)
    out = io.StringIO()
    chainer.global_config.show(out)
    assert "train " in out.getvalue() and "zzz" not in out.getvalue()


def test_custom_configuration():
    shared = configuration.GlobalConfig()
    own = configuration.LocalConfig(shared)
    shared.x = 1
    shared.train = "any value"
    with chainer.using_config("x", 2, own):
        assert own.x == 2
        assert in_thread(lambda: own.x) == 1
    assert own.x == 1
    assert own.train == "any value"
    with chainer.using_config("train", 3, config=own):
        assert own.train == 3
        assert chainer.config.train is True


def test_debug():
    assert not chainer.is_debug()
    chainer.set_debug(True)
    try:
        assert chainer.is_debug()
        with pytest.warns(DeprecationWarning), chainer.DebugMode(False):
            assert not chainer.is_debug()
        assert chainer.is_debug()
    finally:
        del chainer.config.debug


@pytest.mark.parametrize(
    "dtype, argument, mixed, expected",
    [
        ("float64", None, None, "float64"),
        ("float64", np.float16, None, "float16"),
        ("mixed16", None, None, "float16"),
        ("mixed16", None, "f", "float32"),
        ("float64", "mixed16", "d", "float64"),
        ("float64", None, "f", "float64"),
    ],
)
def test_get_dtype(dtype, argument, mixed, expected):
    dtype, argument = (chainer.mixed16 if x == "mixed16" else x for x in (dtype, argument))
    with chainer.using_config("dtype", dtype):
        result = chainer.get_dtype(argument, map_mixed16=mixed)
    assert isinstance(result, np.dtype) and result == expected
    assert repr(chainer.mixed16) == "dtype('mixed16')"


@pytest.mark.parametrize(
    "variable, value, entry, expected",
    [
        ("CHAINER_DEBUG", "1", "debug", "True"),
        ("CHAINER_TYPE_CHECK", "0", "type_check", "False"),
        ("CHAINER_LAZY_GRAD_SUM", "1", "lazy_grad_sum", "True"),
        ("CHAINER_KEEP_GRAPH_ON_REPORT", "1", "keep_graph_on_report", "True"),
        ("CHAINER_DTYPE", "float64", "dtype", "float64"),
        ("CHAINER_DTYPE", "mixed16", "dtype", "dtype('mixed16')"),
        ("CHAINER_USE_CUDNN", "never", "use_cudnn", "never"),
        ("CHAINER_USE_IDEEP", "auto", "use_ideep", "auto"),
        ("CHAINER_DTYPE", "int32", "dtype", TypeError),
    ],
)
def test_environment(monkeypatch, variable, value, entry, expected):
    monkeypatch.setenv(variable, value)
    code = f"import {chainer.__name__} as chainer; print(chainer.config.{entry})"
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    if expected is TypeError:
        assert run.returncode == 1 and "TypeError" in run.stderr and "CHAINER_DTYPE" in run.stderr
    else:
        assert run.stdout.strip() == expected, run.stderr


@pytest.mark.skipif(ORIGINAL, reason="about compatgrad's implementation")
def test_using_config_costs_three_frames():
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    context = chainer.using_config
    sys.setprofile(profile)
    try:
        with context("train", False):
            pass
    finally:
        sys.setprofile(None)
    assert count == 3


def test_a_missing_entry_is_reported_with_chainers_class_name():
    with pytest.raises(AttributeError, match="^'GlobalConfig' object has no attribute 'no_such_entry'"):
        getattr(chainer.config, "no_such_entry")  # noqa: B009
