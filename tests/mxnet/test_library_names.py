"""Names outside MXNet's documented API that published libraries import or read."""

import ctypes
import sys
import types

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.base import _as_list, c_str, c_str_array, check_call, data_dir
from compatgrad.mxnet.gluon.block import _flatten, _regroup


def test_names_that_libraries_import():
    from compatgrad.mxnet.metric import ndarray
    from compatgrad.mxnet.ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID

    assert ndarray is mx.nd
    assert _STORAGE_TYPE_STR_TO_ID["row_sparse"] == 1
    assert _as_list(3) == [3] and _as_list((1, 2)) == (1, 2)
    assert c_str("ab").value == b"ab" and c_str_array(["a", "b"])[1] == b"b"
    assert mx.base.NDArrayHandle is ctypes.c_void_p
    check_call(0)
    with pytest.raises(mx.MXNetError):
        check_call(-1)
    with pytest.raises(mx.MXNetError, match="MXGetVersion"):
        mx.base._LIB.MXGetVersion()


def test_the_data_directory_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("MXNET_HOME", "/somewhere")
    assert data_dir() == "/somewhere"
    monkeypatch.delenv("MXNET_HOME")
    assert data_dir().endswith(".mxnet")


def test_flatten_and_regroup():
    a, b, c = (mx.nd.ones((i + 1,)) for i in range(3))
    flat, structure = _flatten([a, [b, None], c], "input")
    assert [x if x is None else x.shape for x in flat] == [(1,), (2,), None, (3,)]
    assert structure == [0, [0, -1], 0]
    again, rest = _regroup(flat, structure)
    assert again[1][0] is b and again[1][1] is None and rest == []
    pair = mx.sym.Group([mx.sym.var("x"), mx.sym.var("y")])
    assert _flatten(pair, "output")[1] == 2
    assert _regroup([1, 2, 3], 2) == ([1, 2], [3])
    with pytest.raises(ValueError, match="input of HybridBlock"):
        _flatten([a, 3], "input")


def test_attributes_that_a_hybridized_block_keeps():
    class Pair(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return x + y, [x * y]

    net = Pair()
    net.hybridize()
    assert net._in_format is None and net._out_format is None and net._cached_graph == () and net._cached_op is None
    x, y = mx.nd.array([1.0, 2]), mx.nd.array([3.0, 5])
    net(x, y)
    assert net._in_format == [0, 0] and net._out_format == [0, [0]]
    inputs, out = net._cached_graph
    assert [i.name for i in inputs] == ["data0", "data1"] and len(out.list_outputs()) == 2
    total, product = net._cached_op(x, y)
    np.testing.assert_array_equal(total.asnumpy(), [4, 7])
    np.testing.assert_array_equal(product.asnumpy(), [3, 10])


def test_a_symbol_block_gives_its_outputs_in_the_format_that_is_set():
    x = mx.sym.var("data")
    block = mx.gluon.SymbolBlock(mx.sym.Group([x + 1, x * 2, x - 1]), [x])
    assert len(block(mx.nd.zeros((2,)))) == 3
    block._out_format = [0, [0, 0]]
    first, (second, third) = block(mx.nd.ones((2,)))
    assert (first.asnumpy()[0], second.asnumpy()[0], third.asnumpy()[0]) == (2, 2, 0)
    block.hybridize()
    assert len(block(mx.nd.ones((2,)))[1]) == 2


def test_metrics_go_to_tensorboard(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "mxboard", None)
    mx.contrib.tensorboard.LogMetricsCallback("logs")
    assert "pip install mxboard" in caplog.text
    written = []
    writer = types.SimpleNamespace(
        add_scalar=lambda name, value, global_step: written.append((name, value, global_step))
    )
    monkeypatch.setitem(sys.modules, "mxboard", types.SimpleNamespace(SummaryWriter=lambda folder: writer))
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0.1, 0.9], [0.2, 0.8]])])
    for prefix in (None, "train"):
        mx.contrib.tensorboard.LogMetricsCallback("logs", prefix)(types.SimpleNamespace(eval_metric=metric, epoch=3))
    mx.contrib.tensorboard.LogMetricsCallback("logs")(types.SimpleNamespace(eval_metric=None, epoch=3))
    assert written == [("accuracy", 0.5, 3), ("train-accuracy", 0.5, 3)]


def test_parameters_of_a_symbol_block_move():
    x = mx.sym.var("data")
    block = mx.gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), [x])
    block.initialize(ctx=mx.cpu(0))
    block(mx.nd.ones((1, 3)))
    block.reset_ctx([mx.cpu(1)])
    assert block.collect_params()["fc_weight"].list_ctx() == [mx.cpu(1)]


def test_contexts_of_a_parameter_by_array():
    p = mx.gluon.Parameter("weight", shape=(2,))
    p.initialize(ctx=[mx.cpu(1), mx.cpu(0)])
    assert p._ctx_map == [[], [1, 0]]


def test_cached_op():
    x, w = mx.sym.var("x"), mx.sym.var("w")
    op = mx.nd.CachedOp(mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True))
    out = mx.nd.zeros((1, 2))
    assert op(mx.nd.ones((1, 3)), mx.nd.ones((2, 3)), out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), [[3, 3]])
    with pytest.raises(mx.MXNetError, match="expected 2 arrays"):
        op(x)


def test_a_subclass_that_calls_forward_with_other_inputs():
    class TopK(mx.gluon.HybridBlock):
        def forward(self, scores, offset):
            return super().forward(scores.reshape((1, -1))) + offset

        def hybrid_forward(self, F, scores):
            return F.argmax(scores, axis=1)

    net = TopK()
    net.hybridize()
    for _ in range(2):
        assert net(mx.nd.array([[1, 3], [5, 2]]), mx.nd.array([10])).asscalar() == 12


def test_the_scope_of_numpys_arrays_has_the_name_that_libraries_know():
    from compatgrad.mxnet.util import _NumpyArrayScope

    assert isinstance(mx.util.np_array(), _NumpyArrayScope) and not mx.util.np_array(False)._is_np_array
    with _NumpyArrayScope(True):
        assert mx.util.is_np_array()
        with _NumpyArrayScope(False):
            assert not mx.util.is_np_array()
    assert not mx.util.is_np_array() and _NumpyArrayScope._current is not None
