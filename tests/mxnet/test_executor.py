"""Executors: shared arrays, reshape, dtypes, outputs before a run, monitors, errors."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import nd, sym
from compatgrad.mxnet.base import MXNetError


def _times_three(args, grads=None, **kwargs):
    return (mx.sym.Variable("x") * 3).bind(mx.cpu(), args=args, args_grad=grads, **kwargs)


def test_an_array_bound_twice_gets_the_gradient_of_either():
    x, g = mx.nd.ones((2,)), mx.nd.zeros((2,))
    first, other, third = _times_three([x], [g]), _times_three([x]), _times_three({"x": x}, {"x": g})
    first.forward()
    other.forward()
    third.forward()
    first.backward([mx.nd.ones((2,))])
    assert g.asnumpy().tolist() == [3, 3]
    assert x.grad is None  # binding does not attach a gradient to the array itself


def test_reshape_shares_arguments_and_outputs():
    exe = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4).simple_bind(mx.cpu(), x=(5, 4), grad_req="null")
    for array, value in zip(exe.arg_arrays, (1, 1, 0), strict=True):
        array[:] = value
    small = exe.reshape(x=(3, 4))
    small.forward(is_train=False)
    assert (small.outputs[0].asnumpy() == 4).all() and (exe.outputs[0].asnumpy()[:3] == 4).all()
    exe.forward()
    assert (exe.outputs[0].asnumpy() == 4).all()
    large = exe.reshape(allow_up_sizing=True, x=(6, 4))
    large.arg_arrays[0][:] = 0
    assert (exe.arg_arrays[0].asnumpy() == 1).all() and (large.arg_arrays[1].asnumpy() == 1).all()


def test_reshape_refuses_what_would_lose_weights():
    exe = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4).simple_bind(mx.cpu(), x=(5, 4))
    with pytest.raises(mx.MXNetError, match="unspecified arg: .*weight changed"):
        exe.reshape(x=(5, 3))
    with pytest.raises(mx.MXNetError, match="larger than original"):
        exe.reshape(x=(6, 4))
    assert exe.reshape(partial_shaping=True, x=(5, 3)).arg_arrays[1].shape == (4, 3)


def test_heads_have_the_type_of_the_outputs():
    x, g = mx.nd.ones((2,), dtype="float64"), mx.nd.zeros((2,), dtype="float64")
    exe = _times_three([x], [g])
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones((2,))])
    assert g.asnumpy().tolist() == [3, 3]


def test_backward_runs_a_missing_forward():
    g = mx.nd.zeros((2,))
    _times_three([mx.nd.ones((2,))], [g]).backward([mx.nd.ones((2,))])
    assert g.asnumpy().tolist() == [3, 3]


def test_outputs_before_a_run():
    exe = mx.sym.SliceChannel(mx.sym.Variable("x"), num_outputs=3).simple_bind(mx.cpu(), x=(2, 3))
    assert [y.shape for y in exe.outputs] == [(2, 1)] * 3
    before = exe.outputs[0]
    exe.arg_dict["x"][:] = 7
    exe.forward()
    assert before.asnumpy().tolist() == [[7], [7]]


def test_simple_bind_takes_types_from_variables_and_ignores_other_names():
    x = mx.sym.Variable("x", dtype="int32")
    exe = mx.sym.Cast(x, dtype="float16").simple_bind(mx.cpu(), x=(2,), axis=1)
    assert exe.arg_dict["x"].dtype == np.int32 and exe.outputs[0].dtype == np.float16


def test_a_monitor_sees_every_operator():
    y = mx.sym.exp(mx.sym.Variable("x") * 2, name="e")
    exe, seen = y.simple_bind(mx.cpu(), x=(2,)), []
    exe.set_monitor_callback(lambda name, array: seen.append((name, array.shape)))
    exe.forward()
    assert [n for n, _ in seen] == [f"{y.get_internals().list_outputs()[1]}", "e_output"]
    seen.clear()
    exe.set_monitor_callback(lambda name, array: seen.append(name), monitor_all=True)
    exe.forward()
    assert "e_data" in seen and len(seen) == 5


def test_a_monitor_sees_the_gradients_that_operators_give():
    x = mx.sym.Variable("data")
    y = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), act_type="sigmoid", name="act")
    exe, seen = (y + y * y).simple_bind(mx.cpu(), data=(2, 3), grad_req={"fc_weight": "write"}), {}
    for a in exe.arg_dict.values():
        a[:] = 0.5
    monitor = mx.mon.Monitor(1, pattern=".*backward")
    monitor.install(exe)
    monitor.tic()
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones((2, 2))])
    seen = {name: float(text) for _, name, text in monitor.toc()}
    names = [n for n in seen if n.startswith(("act", "fc"))]  # the last operator first
    assert names == ["act_backward_output", *(f"fc_backward_output{i}" for i in range(3))]
    np.testing.assert_allclose([seen[n] for n in names], [0.44221, 0.44221, 0.44221, 0.88443], rtol=1e-4)
    np.testing.assert_allclose(exe.grad_dict["fc_weight"].asnumpy(), 0.44221, rtol=1e-4)


def test_a_monitor_of_a_run_without_gradients_sees_none_and_states_are_written():
    x = mx.sym.BatchNorm(mx.sym.Variable("data"), name="bn", momentum=0.5)
    exe, seen = x.simple_bind(mx.cpu(), data=(4, 2)), []
    exe.arg_dict["data"][:] = mx.nd.array([[1, 2], [3, 4], [5, 6], [7, 8]])
    exe.arg_dict["bn_gamma"][:] = 0.5
    exe.set_monitor_callback(lambda name, array: seen.append(name))
    exe.forward(is_train=True)
    assert seen == ["bn_output"] and exe.arg_dict["bn_gamma"].asnumpy().tolist() == [1, 1]  # fix_gamma
    exe.backward([mx.nd.ones((4, 2))])
    assert seen == ["bn_output", *(f"bn_backward_output{i}" for i in range(3))]
    np.testing.assert_allclose(exe.aux_dict["bn_moving_mean"].asnumpy(), [2, 2.5])
    exe = x.simple_bind(mx.cpu(), grad_req="null", data=(4, 2))
    exe.set_monitor_callback(lambda name, array: seen.append(name))
    seen.clear()
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones((4, 2))])
    assert seen == ["bn_output"]


@mx.use_np_shape
def test_gradients_without_elements_may_have_another_shape():
    exe = mx.sym.contrib.index_array(mx.sym.Variable("x"), axes=(2, 1)).bind(
        mx.cpu(), {"x": mx.nd.ones((0, 0, 0, 0))}, {"x": mx.nd.ones((0, 0, 0, 0))}
    )
    exe.forward(is_train=True)
    assert exe.outputs[0].shape == (0, 0, 0, 0, 2)
    exe.backward([mx.nd.ones((0, 0, 2))])
    y = mx.sym.Variable("x") * 2
    exe = y.bind(mx.cpu(), {"x": mx.nd.ones((0, 3))}, {"x": mx.nd.ones((0, 3))})
    exe.forward(is_train=True)
    exe.backward([mx.nd.ones((0,))])
    assert exe.grad_dict["x"].shape == (0, 3)


def test_repetitions_are_one_node():
    x = mx.sym.Variable("x")
    y = mx.sym.exp(x) + mx.sym.exp(x)
    exe = y.simple_bind(mx.cpu(), x=(1,))
    assert len(exe.get_optimized_symbol().get_internals()) == len(y.get_internals()) - 1
    drawn = mx.sym.Dropout(x) + mx.sym.Dropout(x)
    same = drawn.simple_bind(mx.cpu(), x=(1,)).get_optimized_symbol()
    assert len(same.get_internals()) == len(drawn.get_internals())


def test_unsupported_methods_of_symbols_say_so():
    x = mx.sym.Variable("x")
    assert hasattr(x, "asnumpy") and not hasattr(x, "copyto")
    with pytest.raises(mx.base.NotImplementedForSymbol, match="asnumpy"):
        x.asnumpy()


def test_keywords_that_an_operator_does_not_have_are_refused():
    x = mx.sym.Variable("x")
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'strides'.*in operator Convolution"):
        mx.sym.Convolution(x, num_filter=2, kernel=(3, 3), strides=(2, 2))
    with pytest.raises(mx.MXNetError, match="'pp'"):
        mx.sym.Dropout(x, pp=0.9)
    y = mx.sym.Convolution(x, num_filter=2, kernel=(3, 3), workspace=512, cudnn_tune="off", __note__="kept")
    assert y.attr("__note__") == "kept"


def test_functions_named_like_distributions_and_their_arguments():
    x = mx.sym.Variable("x")
    assert mx.sym.gamma(x).eval(x=mx.nd.array([4.0]))[0].asnumpy().round(3).tolist() == [6]
    y = mx.sym.random.normal(3, 1e-6, (2,)).eval()[0].asnumpy()
    assert np.allclose(y, 3, atol=1e-3)


def test_symbols_are_cut_like_arrays(tmp_path):
    class Last(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x[:, -1, 1:] * 2 + x[:, 0, None][:, 0, :-1]

    mx.npx.set_np()
    try:
        net = Last()
        net.hybridize()
        x = mx.np.arange(24).reshape((2, 3, 4))
        expected = net(x).asnumpy()
        net.export(str(tmp_path / "last"))
        again = mx.gluon.SymbolBlock.imports(str(tmp_path / "last-symbol.json"), ["data"])
        assert (again(x).asnumpy() == expected).all() and expected.shape == (2, 3)
    finally:
        mx.npx.reset_np()


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (lambda x: [x * x, sym.BlockGrad(x * 3)], [1.0] * 3),
        (lambda x: [x * x, sym.MakeLoss(x * x * x)], [1.75] * 3),
        (lambda x: [x * x, sym.relu(sym.MakeLoss(x * x * x))], [1.75] * 3),
        (lambda x: [x * x, sym.SoftmaxOutput(x, sym.BlockGrad(sym.sum(x, axis=1)))], [4 / 3, 1 / 3, 4 / 3]),
        (lambda x: [x * x, x * x * x], None),
        (lambda x: [sym.MakeLoss(x * x * x), x * x], None),
    ],
)
def test_gradients_of_the_first_outputs_only(outputs, expected):
    """Outputs of losses and those behind BlockGrad need no head gradient (expected values from MXNet 1.9.1)."""
    exe = sym.Group(outputs(sym.Variable("x"))).simple_bind(mx.cpu(), x=(2, 3))
    exe.arg_dict["x"][:] = 0.5
    exe.forward(is_train=True)
    if expected is None:
        with pytest.raises(MXNetError, match="output 1 is not of a loss"):
            exe.backward([nd.ones((2, 3))])
    else:
        exe.backward([nd.ones((2, 3))])
        np.testing.assert_allclose(exe.grad_dict["x"].asnumpy(), [expected] * 2, rtol=1e-6)


@pytest.mark.parametrize("heads", [None, [], nd.ones((3,)), [nd.ones((1,))]])
def test_gradients_of_outputs_that_are_needed_must_be_given(heads):
    g = nd.zeros((2,))
    e = _times_three([nd.ones((2,))], [g])
    e.forward(is_train=True)
    with pytest.raises(MXNetError, match="head_gradient|expected the shape of output 0, \\(2,\\)"):
        e.backward(heads)
    assert g.asnumpy().tolist() == [0, 0]
    e.backward(nd.ones((2,)))
    assert g.asnumpy().tolist() == [3, 3]


class _Loss(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], in_data[0] * 5)


@mx.operator.register("executor_loss")
class _LossProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def create_operator(self, ctx, shapes, dtypes):
        return _Loss()


@pytest.mark.parametrize(
    "symbol, found",
    [
        (lambda x: sym.MakeLoss(x * 2), [2, 2]),
        (lambda x: sym.Custom(x, op_type="executor_loss"), [5, 5]),
        (lambda x: sym.argmax(x, axis=0), [0, 0]),
        (lambda x: sym.floor(x) * 2, [0, 0]),
        (lambda x: x > 0, [0, 0]),
        (lambda x: sym.topk(x, k=1), [0, 0]),
        (lambda x: sym.Group([sym.make_loss(x), sym.BlockGrad(x) * 3]), [1, 1]),
    ],
)
def test_losses_and_steps_need_no_gradients_of_outputs(symbol, found):
    g = nd.zeros((2,))
    e = symbol(sym.Variable("x")).bind(mx.cpu(), [nd.ones((2,))], [g])
    e.forward(is_train=True)
    e.backward()
    assert g.asnumpy().tolist() == found
