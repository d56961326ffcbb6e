"""Operators defined in Python, by mx.operator: arrays, symbols, blocks, second derivatives, mistakes."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd, sym
from compatgrad.mxnet.base import MXNetError


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("test_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


@mx.operator.register("test_scaled_cube")
class ScaledCubeProp(mx.operator.CustomOpProp):
    """factor * x ** 3; an auxiliary state counts the runs."""

    def __init__(self, factor="1"):
        super().__init__()
        self.factor = float(factor)

    def list_auxiliary_states(self):
        return ["runs"]

    def list_outputs(self):
        return ["cube", "square"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        factor = self.factor

        class Op(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                x = in_data[0]
                self.assign(out_data[0], req[0], factor * x * x * x)
                self.assign(out_data[1], req[1], x * x)
                aux[0][:] = aux[0] + 1

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                x = in_data[0]
                self.assign(in_grad[0], req[0], out_grad[0] * 3 * factor * x * x)
                self.assign(in_grad[0], "add", out_grad[1] * 2 * x)

        return Op()


def test_on_arrays():
    x = nd.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    label = nd.array([2, 0])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, label, op_type="test_softmax")
    y.backward()
    expected = np.exp(x.asnumpy()) / np.exp(x.asnumpy()).sum(1, keepdims=True)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)
    expected[[0, 1], [2, 0]] -= 1
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert nd.Custom(label=label, data=x, op_type="test_softmax").shape == (2, 3)


def test_second_derivatives_and_states():
    x, runs, v = nd.array([1.0, -2.0]), nd.zeros((1,)), nd.array([3.0, 5.0])
    x.attach_grad()
    with autograd.record():
        cube, square = nd.Custom(x, runs, op_type="test_scaled_cube", factor=2)
        (g,) = autograd.grad((cube * v).sum() + square.sum(), x, create_graph=True)
        h = (g * g).sum()
    h.backward()
    a, b = x.asnumpy(), v.asnumpy()
    first = 6 * b * a**2 + 2 * a
    np.testing.assert_allclose(g.asnumpy(), first, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * first * (12 * b * a + 2), rtol=1e-5)
    assert runs.asscalar() == 1


def test_in_symbols():
    s = sym.Custom(sym.Variable("x"), op_type="test_scaled_cube", factor=2, name="c")
    assert s.list_arguments() == ["x"] and s.list_auxiliary_states() == ["c_runs"] and len(s) == 2
    assert s.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3), (2, 3)], [(1,)])
    e = sym.load_json(s.tojson()).simple_bind(mx.cpu(), x=(3,))
    e.arg_dict["x"][:] = nd.array([1, 2, 3])
    outputs = e.forward(is_train=True)
    assert outputs[0].asnumpy().tolist() == [2, 16, 54] and outputs[1].asnumpy().tolist() == [1, 4, 9]
    e.backward([nd.ones((3,)), nd.zeros((3,))])
    assert e.grad_dict["x"].asnumpy().tolist() == [6, 24, 54] and e.aux_dict["c_runs"].asscalar() == 1
    net = sym.Custom(data=sym.Variable("data"), op_type="test_softmax", name="out")
    assert net.list_arguments() == ["data", "out_label"] and net.infer_shape(data=(4, 3))[0] == [(4, 3), (4,)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: nd.Custom(x, op_type="nothing"), MXNetError, "op_type 'nothing' is not registered"),
        (lambda x: nd.Custom(x), MXNetError, "op_type None is not registered"),
        (lambda x: nd.Custom(x, op_type="test_softmax"), MXNetError, r"takes \['data', 'label'\], got 1 arrays"),
        (lambda x: nd.Custom(x, x, op_type="test_softmax"), MXNetError, r"label has shape \(2, 3\), expected \(2,\)"),
        (lambda x: nd.Custom(3, x, op_type="test_softmax"), AssertionError, "argument data must have NDArray type"),
        (lambda x: sym.Custom(x, op_type="test_softmax"), TypeError, "argument 0: expected a Symbol"),
        (lambda x: mx.operator.CustomOp().assign(x, "foo", x), ValueError, "req must be"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call(nd.ones((2, 3)))


def test_shapes_are_inferred_without_a_call():
    """Binding must not call the operator: a sampling one (MXNet's Boltzmann machine) would draw random numbers."""
    calls = []

    class Counting(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(is_train)
            self.assign(out_data[0], req[0], in_data[0].sum(axis=1))
            self.assign(out_data[1], req[1], in_data[1] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], 1)

    @mx.operator.register("counting")
    class CountingProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "bias"]

        def list_outputs(self):
            return ["sums", "doubled"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][1],)], [(in_shape[0][0],), (in_shape[0][1],)], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Counting()

    y = mx.sym.Custom(mx.sym.var("data"), op_type="counting", name="c")
    assert y.infer_shape(data=(2, 3)) == ([(2, 3), (3,)], [(2,), (3,)], [])
    assert mx.sym.relu(y[0]).infer_shape(data=(2, 3))[1] == [(2,)]
    bound = y.simple_bind(mx.cpu(), data=(2, 3))
    assert calls == []
    assert [o.shape for o in bound.forward()] == [(2,), (3,)] and calls == [False]


def test_blocks_learn_shapes_from_custom_operators():
    class Scaled(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * in_data[1] + aux[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
            self.assign(in_grad[1], req[1], (out_grad[0] * in_data[0]).sum(axis=0))

    @mx.operator.register("scaled_with_state")
    class ScaledProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "scale"]

        def list_auxiliary_states(self):
            return ["state"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][1],)], [in_shape[0]], [in_shape[0]]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Scaled()

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=(0,), allow_deferred_init=True)
            self.state = self.params.get("state", shape=(0, 0), allow_deferred_init=True)

        def hybrid_forward(self, F, x, scale, state):
            return F.Custom(x, scale, state, op_type="scaled_with_state")

    for hybridized in (False, True):
        net = Net()
        net.initialize(mx.init.One())
        if hybridized:
            net.hybridize()
        assert (net(nd.ones((2, 3))).asnumpy() == 2).all()
        assert net.scale.shape == (3,) and net.state.shape == (2, 3)


def test_contributed_modules():
    assert mx.contrib.nd is nd.contrib and mx.contrib.ndarray is nd.contrib and mx.contrib.sym is sym.contrib
    old = mx.contrib.autograd
    x = nd.array([1.0, 2.0])
    grads, loss = old.grad_and_loss(lambda x: x * x)(x)
    assert grads[0].asnumpy().tolist() == [2, 4] and loss.asnumpy().tolist() == [1, 4]
    assert old.grad(lambda a, b: a * b, argnum=1)(x, x.copy())[0].asnumpy().tolist() == [1, 2]
    with old.train_section():
        assert autograd.is_recording() and autograd.is_training()
        with old.test_section():
            assert not autograd.is_recording() and not autograd.is_training()
    with pytest.raises(AssertionError, match="target_dtype"):
        mx.contrib.amp.init("float8")


def test_errors_of_an_operator_are_named():
    @mx.operator.register("test_broken")
    class Broken(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            class Op(mx.operator.CustomOp):
                def forward(self, is_train, req, in_data, out_data, aux):
                    raise KeyError("weights")

            return Op()

    with pytest.raises(MXNetError, match="Error in CustomOp.forward of test_broken: KeyError: 'weights'") as e:
        nd.Custom(nd.ones((1,)), op_type="test_broken")
    assert isinstance(e.value.__cause__, KeyError)
    with pytest.raises(AssertionError, match="input 0 to be csr"):
        nd.Custom(nd.ones((1, 1)).tostype("csr"), op_type="test_broken")


class Twice(mx.operator.NumpyOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = 2 * in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = 2 * out_grad[0] + out_data[0]


class Sums(mx.operator.NDArrayOp):
    def list_arguments(self):
        return ["x", "y"]

    def list_outputs(self):
        return ["sum", "difference"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0], in_shape[0]]

    def forward(self, in_data, out_data):
        x, y = in_data
        out_data[0][:], out_data[1][:] = x + y, x - y

    def backward(self, out_grad, in_data, out_data, in_grad):
        a, b = out_grad
        in_grad[0][:], in_grad[1][:] = a + b, a - b


def test_operators_of_numpy_arrays():
    with pytest.warns(UserWarning, match="NumpyOp has been deprecated"):
        s = Twice()(sym.Variable("x"), name="twice")
    assert s.name == "twice" and s.list_outputs() == ["twice_output"]
    assert Twice()(sym.Variable("x")).name.startswith("_native")
    exe = s.simple_bind(mx.cpu(), x=(3,))
    exe.arg_dict["x"][:] = nd.array([1, 2, 3])
    np.testing.assert_array_equal(exe.forward(is_train=True)[0].asnumpy(), [2, 4, 6])
    exe.backward(nd.array([1, 10, 100]))
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [4, 24, 206])


def test_operators_of_ndarrays_in_the_old_form():
    s = Sums()(x=sym.Variable("a"), y=sym.Variable("b"), name="s")
    assert s.list_arguments() == ["a", "b"] and s.list_outputs() == ["s_sum", "s_difference"]
    exe = s.simple_bind(mx.cpu(), a=(2,), b=(2,))
    exe.arg_dict["a"][:], exe.arg_dict["b"][:] = 5, 3
    assert [y.asnumpy()[0] for y in exe.forward(is_train=True)] == [8, 2]
    exe.backward([nd.array([1, 2]), nd.array([10, 20])])
    np.testing.assert_array_equal(exe.grad_dict["a"].asnumpy(), [11, 22])
    np.testing.assert_array_equal(exe.grad_dict["b"].asnumpy(), [-9, -18])


def test_the_defaults_of_old_operators():
    s = mx.operator.NumpyOp(need_top_grad=False)(sym.Variable("x"))
    exe = s.simple_bind(mx.cpu(), x=(2,))
    exe.arg_dict["x"][:] = 7
    assert exe.forward(is_train=True)[0].asnumpy().tolist() == [7, 7]
    exe.backward()
    assert exe.grad_dict["x"].asnumpy().tolist() == [1, 1]


class Clip(mx.operator.CustomOp):
    """Records a computation in forward, and calls backward on it in backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.inputs = in_data
        x, limit = in_data
        for a in in_data:
            a.attach_grad()
        with autograd.record():
            self.y = nd.where(x < limit, x, limit.broadcast_like(x))
        self.assign(out_data[0], req[0], self.y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.y.backward(out_grad[0])
        for i, a in enumerate(self.inputs):
            self.assign(in_grad[i], req[i], a.grad)


@mx.operator.register("test_clip")
class ClipProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "limit"]

    def infer_shape(self, in_shape):
        return [in_shape[0], [1]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Clip()


@pytest.mark.parametrize("inner", [False, True])  # inputs are variables (False), or results of other operators
def test_custom_op_that_records_in_forward_and_differentiates_in_backward(inner):
    x, limit = sym.var("x"), sym.var("limit", shape=(1,))
    y = sym.Custom(x * 2, limit + 0, op_type="test_clip") * 3 if inner else sym.Custom(x, limit, op_type="test_clip")
    scale, factor = (2, 3) if inner else (1, 1)
    executor = y.simple_bind(mx.cpu(), x=(2, 3))
    for step in range(2):
        values = np.array([[-1, 0, 1], [2, 3, -2]], "f") + step
        executor.forward(is_train=True, x=nd.array(values), limit=nd.array([0.5]))
        np.testing.assert_allclose(executor.outputs[0].asnumpy(), factor * np.minimum(scale * values, 0.5))
        executor.backward(nd.array([[1, 2, 3], [4, 5, 6]]))
        below = scale * values < 0.5
        g = np.array([[1, 2, 3], [4, 5, 6]])
        np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), factor * scale * g * below)
        np.testing.assert_allclose(executor.grad_dict["limit"].asnumpy(), [factor * (g * ~below).sum()])


def test_custom_op_that_attaches_gradients_leaves_those_of_arrays_alone():
    x, limit = nd.array([1.0, 3.0]), nd.array([2.0])
    x.attach_grad()
    limit.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = nd.Custom(x, limit, op_type="test_clip") * nd.array([5.0, 7.0])
        y.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), [5, 0])
        np.testing.assert_allclose(limit.grad.asnumpy(), [7])


class Count(mx.operator.CustomOp):
    """Adds the number of its calls to its input."""

    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, is_train, req, in_data, out_data, aux):
        self.n += 1
        self.assign(out_data[0], req[0], in_data[0] + self.n)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.n)


@mx.operator.register("test_count")
class CountProp(mx.operator.CustomOpProp):
    made = 0

    def create_operator(self, ctx, shapes, dtypes):
        CountProp.made += 1
        return Count()


def test_an_executor_creates_a_custom_op_once():
    x = sym.var("data")
    y = sym.Custom(sym.Custom(x, op_type="test_count", name="a"), op_type="test_count", name="b")
    for _ in range(2):  # a second executor creates operators of its own
        CountProp.made = 0
        executor = y.simple_bind(mx.cpu(), data=(1,))
        for step in range(1, 4):
            executor.forward(is_train=True)
            executor.backward(nd.ones(1))
            assert executor.outputs[0].asscalar() == 2 * step
            assert executor.grad_dict["data"].asscalar() == step * step
        executor.forward(is_train=False)
        assert executor.outputs[0].asscalar() == 8
        assert CountProp.made == 2


def test_a_module_keeps_a_custom_op_and_an_imperative_call_does_not():
    module = mx.mod.Module(sym.Custom(sym.var("data"), op_type="test_count"), label_names=None)
    module.bind([("data", (1,))])
    module.init_params()
    found = []
    for train in (True, True, False, True):
        module.forward(mx.io.DataBatch([nd.zeros(1)]), is_train=train)
        found.append(module.get_outputs()[0].asscalar())
    assert found == [1, 2, 3, 4]
    assert [nd.Custom(nd.zeros(1), op_type="test_count").asscalar() for _ in range(2)] == [1, 1]
    block = mx.gluon.SymbolBlock(sym.Custom(sym.var("data"), op_type="test_count"), sym.var("data"))
    assert [block(nd.zeros(1)).asscalar() for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("names", [("x", "y"), ("y", "x")])
def test_two_operators_with_and_without_the_gradient_of_their_outputs(names):
    # MXNet 1.9.1 raises "unknown storage type: -1", because all custom operators share one list of dependencies.
    softmax = sym.Custom(sym.Variable(names[0]), sym.Variable("label"), op_type="test_softmax")
    cube = sym.MakeLoss(sym.Custom(sym.Variable(names[1]), op_type="test_scaled_cube", name="cube")[0])
    values = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]], "f")
    exe = sym.Group([softmax, cube]).simple_bind(mx.cpu(), grad_req="write", x=(2, 3), y=(2, 3), label=(2,))
    for name in ("x", "y"):
        exe.arg_dict[name][:] = values
    exe.arg_dict["label"][:] = nd.array([2, 0])
    exe.forward(is_train=True)
    exe.backward()
    probabilities = np.exp(values) / np.exp(values).sum(1, keepdims=True)
    expected = probabilities - np.array([[0, 0, 1], [1, 0, 0]])
    np.testing.assert_allclose(exe.grad_dict[names[0]].asnumpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(exe.grad_dict[names[1]].asnumpy(), 3 * values**2, rtol=1e-5)
