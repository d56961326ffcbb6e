"""interop.export: networks of all frontends as graphs of ATen calls."""

import copy
import io
import operator

import numpy as np
import pytest
import torch
from expecttest import assert_expected_inline

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop


@pytest.fixture(autouse=True)
def same_initial_values():
    np.random.seed(0)
    torch.manual_seed(0)
    mx.random.seed(0)


def images(n, seed=0):
    return torch.from_numpy(np.random.RandomState(seed).rand(n, 3, 8, 8).astype("f"))


def rows(n, width=3, seed=0):
    return torch.from_numpy(np.random.RandomState(seed).rand(n, width).astype("f"))


class Convnet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(3, 4, 3)
            self.norm = L.BatchNormalization(4)
            self.last = L.Linear(None, 2)

    def forward(self, x):
        h = F.max_pooling_2d(F.relu(self.norm(self.conv(x))), 2)
        return self.last(F.dropout(F.reshape(h, (len(x), -1))))


class Perceptron(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(3, 4)
            self.norm = L.BatchNormalization(4)
            self.last = L.Linear(4, 1)

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def block():
    b = mx.gluon.nn.HybridSequential()
    b.add(
        mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Activation("relu"), mx.gluon.nn.MaxPool2D(),
        mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.Dropout(0.5), mx.gluon.nn.Dense(2),
    )  # fmt: skip
    b.initialize(mx.init.Xavier())
    return b


def parametric(x, train=False):
    h = PF.convolution(x, 4, (3, 3), name="conv")
    h = PF.batch_normalization(h, batch_stat=train, name="norm")
    return PF.affine(NF.max_pooling(NF.relu(h), (2, 2)), 2, name="last")


@pytest.fixture
def parameters():
    with nn.parameter_scope("export", nn.parameter.OrderedDict()):
        parametric(nn.Variable((1, 3, 8, 8)))
        yield nn.get_parameters(grad_only=False)


def plain(target, *inputs, **how):
    """The results of as_torch_module for the same network."""
    m = interop.as_torch_module(target, **how, example_inputs=inputs)
    m.eval()
    with torch.no_grad():
        return m(*inputs)


def same(a, b, tolerance=1e-6):
    a, b = (t.detach().numpy() if isinstance(t, torch.Tensor) else t for t in (a, b))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def only_aten_calls(gm):
    for node in gm.graph.nodes:
        if node.op == "call_function" and not isinstance(node.target, torch._ops.OpOverload):
            assert node.target.__module__ in ("_operator", "torch")
        else:
            assert node.op != "call_module" and node.op != "call_method"
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            assert node.target.namespace == "aten"
            assert not node.target.__name__.startswith("_assert")
            assert node.users or node.target._schema.is_mutable


# ---- networks --------------------------------------------------------------------------------------------------------


def networks(kind, parameters):
    w = compatgrad.Variable(torch.rand(192, 2))
    return {
        "chainer": (Convnet(), {}),
        "gluon": (block(), {}),
        "nnabla": (parametric, {"parameters": parameters}),
        "native": (lambda x: compatgrad.ops.tanh(x.reshape(x.shape[0], -1) @ w), {"parameters": {"w": w}}),
    }[kind]


@pytest.mark.parametrize("kind", ["chainer", "gluon", "nnabla", "native"])
def test_another_batch_gives_what_the_network_gives(kind, parameters):
    target, how = networks(kind, parameters)
    gm = interop.export(target, images(4), **how)
    only_aten_calls(gm)
    for n in (1, 2, 3, 4, 17):
        same(gm(images(n, n)), plain(target, images(n, n), **how))
    module = interop.as_torch_module(target, **how)
    assert sorted(gm.state_dict()) == sorted(module.state_dict())
    for name, t in module.state_dict().items():
        assert gm.state_dict()[name].data_ptr() == t.data_ptr()


def test_static_graphs_of_nnabla(parameters):
    def static(x):
        with nn.auto_forward(False):
            return parametric(x), NF.mean(x)

    gm = interop.export(static, images(4), parameters=parameters)
    y, mean = gm(images(6))
    same(y, plain(parametric, images(6), parameters=parameters))
    same(mean, images(6).mean())


def test_torch_modules_that_hold_networks(parameters):
    inner = interop.as_torch_module(block(), example_inputs=[images(1)])
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1), inner, torch.nn.BatchNorm1d(2))
    m.train()
    gm = interop.export(m, images(4))
    only_aten_calls(gm)
    assert sorted(gm.state_dict()) == sorted(m.state_dict())
    assert m.training and m[2].training
    m.eval()
    same(gm(images(7)), m(images(7)))


def test_a_network_of_all_frontends(parameters):
    link, dense = L.Linear(3, 4), mx.gluon.nn.Dense(2)
    dense.initialize()
    layer = torch.nn.Linear(2, 2)

    def mixed(x):
        h = NF.tanh(interop.to("nnabla", F.relu(link(x))))
        return interop.call(layer, dense(interop.to("mxnet", h)))

    mixed(chainer.Variable(rows(1).numpy()))
    gm = interop.export(mixed, rows(4), parameters=link)
    only_aten_calls(gm)
    same(gm(rows(9)), mixed(chainer.Variable(rows(9).numpy())).tensor)


def test_readable_code():
    link = L.Linear(3, 2)
    gm = interop.export(lambda x: F.sum(F.relu(link(x))) / len(x), rows(4), parameters=link)
    assert_expected_inline(
        gm.print_readable(print_output=False).replace("    \n", "\n"),
        """\
class Exported(torch.nn.Module):
    def forward(self, x):
        # No stacktrace found for following nodes
        W = self.W
        t = torch.ops.aten.t.default(W);  W = None
        b = self.b
        addmm = torch.ops.aten.addmm.default(b, x, t);  b = t = None
        relu = torch.ops.aten.relu.default(addmm);  addmm = None
        sum_1 = torch.ops.aten.sum.dim_IntList(relu, None);  relu = None
        sym_size = torch.ops.aten.sym_size.int(x, 0);  x = None
        truediv = 1.0 / sym_size;  sym_size = None
        mul = torch.ops.aten.mul.Scalar(sum_1, truediv);  sum_1 = truediv = None
        return mul
""",
    )


def test_integers_and_recurrent_links_that_keep_a_state():
    class Model(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.lstm, self.last = L.EmbedID(10, 3), L.LSTM(3, 4), L.Linear(4, 2)

        def forward(self, x):
            self.lstm.reset_state()
            for k in range(x.shape[1]):
                h = self.lstm(self.embed(x[:, k]))
            return self.last(h)

    model = Model()
    before = model(np.zeros((2, 3), "i"))
    state = model.lstm.h
    gm = interop.export(model, np.zeros((2, 3), "i"))
    assert model.lstm.h is state and before is not None
    x = np.random.RandomState(0).randint(0, 10, (5, 3)).astype("i")
    same(gm(torch.from_numpy(x)), model(x).array)


def test_several_inputs_and_outputs():
    def f(pair, more, k, scale=None):
        return {"sum": pair[0] + pair[1] * k, "list": [more["c"] * scale, None], "size": len(more["c"])}

    args = ([rows(4), rows(4, seed=1)], {"c": rows(4, seed=2)}, 3)
    gm = interop.export(f, args, kwargs={"scale": rows(4, seed=3)}, frontend="chainer")
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["pair_0", "pair_1", "more_c", "scale"]
    a, b, c, d = (rows(6, seed=k) for k in range(4))
    y = gm(a, b, c, scale=d)
    assert sorted(y) == ["list", "size", "sum"] and y["list"][1] is None and y["size"] == 6
    same(y["sum"], a + 3 * b)
    same(y["list"][0], c * d)


def test_parameters_that_layers_share():
    b = mx.gluon.nn.HybridSequential()
    b.add(mx.gluon.nn.Dense(3, in_units=3))
    b.add(mx.gluon.nn.Dense(3, in_units=3, params=b[0].params))
    b.initialize()
    gm = interop.export(b, rows(4)).double()
    assert sorted(gm.state_dict()) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    assert len(list(gm.parameters())) == 2
    same(gm(rows(5).double()), plain(b, rows(5)), 1e-5)


# ---- sizes -----------------------------------------------------------------------------------------------------------


def chainer_function(f):
    return lambda *inputs: f(*(chainer.Variable(x.numpy()) for x in inputs)).tensor


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.reshape(F.reshape(x, (len(x) * 3,)) + 1, (-1, 3)),
        lambda x: F.sum(x) / len(x),
        lambda x: F.sum(x) / (len(x) + 1),
        lambda x: F.sum(x) * (len(x) / (len(x) - 1)),
        lambda x: x[: len(x) // 2] * 2,
        lambda x: x[len(x) // 3 :] * 2,
        lambda x: x[: (len(x) + 1) // 2] * 2,
        lambda x: F.tile(x, (len(x), 1)),
        lambda x: F.broadcast_to(x, (len(x), len(x), 3)),
        lambda x: x * np.arange(len(x), dtype="f")[:, None],
        lambda x: x * (np.arange(2 * len(x), dtype="f")[::2, None] - 1),
        lambda x: x + np.zeros((len(x), 1), "f"),
        lambda x: x + np.full((len(x) + 1, 1), 1 / len(x), "f")[1:],
        lambda x: x * np.tile(np.float32([1, 2, 4]), (len(x), 1)),
    ],
)
def test_numbers_that_follow_from_the_batch(f):
    gm = interop.export(f, rows(4), frontend="chainer")
    for n in (2, 3, 6, 10, 33):
        same(gm(rows(n)), chainer_function(f)(rows(n)))


def test_several_dynamic_sizes():
    def f(x, y):
        both = F.reshape(F.matmul(x, y, transb=True), (-1,))
        return F.reshape(both, (len(x) * len(y),)) / (len(x) * len(y)), F.max_pooling_1d(F.expand_dims(x, 1), 2)

    gm = interop.export(f, (rows(4, 6), rows(5, 6)), frontend="chainer", dynamic=({0: "n"}, {0: "m"}))
    for n, m in ((2, 3), (7, 2), (4, 4)):
        same(gm(rows(n, 6), rows(m, 6))[0], f(*(chainer.Variable(rows(k, 6).numpy()) for k in (n, m)))[0].array)
    widths = {"x": {0: "n", 1: "width"}}
    gm = interop.export(
        lambda x: F.reshape(F.max_pooling_1d(F.expand_dims(x, 1), 2), (-1,)) + len(x) + x.shape[1],
        rows(4, 6), frontend="chainer", dynamic=widths,
    )  # fmt: skip
    same(gm(rows(2, 9)), F.max_pooling_1d(rows(2, 9).numpy()[:, None], 2).array.reshape(-1) + 11)


def test_convolutions_that_run_over_some_images_at_a_time():
    net = L.Convolution2D(8, 8, 3)
    gm = interop.export(net, torch.rand(2, 8, 96, 96))
    assert len(gm.graph.nodes) == 5
    x = torch.rand(12, 8, 96, 96)
    same(gm(x), net(x.numpy()).array, 1e-5)


def test_a_static_graph():
    def loop(x):
        return F.stack([x[k] * k for k in range(len(x))])

    gm = interop.export(loop, rows(3), frontend="chainer", dynamic=False)
    assert not any(n.target is torch.ops.aten.sym_size.int for n in gm.graph.nodes)
    same(gm(rows(3)), rows(3) * torch.arange(3)[:, None])


# ---- training --------------------------------------------------------------------------------------------------------


def test_batch_normalization_in_both_modes():
    net = Perceptron()
    x = rows(6)
    for _ in range(3):
        net(x.numpy())
    same(interop.export(net, rows(4))(x), plain(net, x))
    gm, twin = interop.export(net, rows(4), train=True), copy.deepcopy(net)
    assert gm.training
    same(net.norm.avg_mean, twin.norm.avg_mean, 0)  # exporting leaves the statistics unchanged
    same(gm(x), twin(x.numpy()).array)
    assert gm.state_dict()["norm.avg_mean"].data_ptr() == net.norm.avg_mean.ctypes.data
    same(net.norm.avg_mean, twin.norm.avg_mean)
    same(net.norm.avg_var, twin.norm.avg_var)


def test_torch_trains_an_exported_network():
    net = Convnet()
    net(images(1).numpy())
    gm, twin = interop.export(net, images(4)), interop.as_torch_module(copy.deepcopy(net))
    twin.eval()
    x, t = images(6), torch.arange(6) % 2
    for m in (gm, twin):
        optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(m(x), t).backward()
            optimizer.step()
    for (name, p), (other, q) in zip(sorted(gm.named_parameters()), sorted(twin.named_parameters()), strict=True):
        assert name == other
        same(p, q, 1e-5)
        assert p.data_ptr() == dict(net.namedparams())["/" + name.replace(".", "/")].array.ctypes.data


def test_dropout_draws_anew():
    gm = interop.export(lambda x: F.dropout(x, 0.25), torch.ones(4, 100), frontend="chainer", train=True)
    y = gm(torch.ones(1000, 100))
    assert not torch.equal(y, gm(torch.ones(1000, 100)))
    assert sorted(y.unique().tolist()) == [0, pytest.approx(4 / 3)]
    assert abs((y == 0).float().mean() - 0.25) < 0.01


def test_a_training_step_of_chainer():
    net = Perceptron()

    def step(x, t):
        loss = F.mean_squared_error(net(x), t)
        net.cleargrads()
        loss.backward()
        return loss, {name: p.grad_var for name, p in net.namedparams()}

    net.first.W.grad[:] = 7
    gm = interop.export(step, (rows(4), rows(4, 1)), parameters=net, train=True)
    assert (net.first.W.grad == 7).all()
    twin = copy.deepcopy(net)
    loss, gradients = gm(rows(9), rows(9, 1))
    expected = F.mean_squared_error(twin(rows(9).numpy()), rows(9, 1).numpy())
    twin.cleargrads()
    expected.backward()
    same(loss, expected.array)
    for name, p in twin.namedparams():
        same(gradients[name], p.grad, 1e-5)


def test_a_training_step_of_mxnet():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.BatchNorm(in_channels=4), mx.gluon.nn.Dense(1, in_units=4))
    net.initialize()

    def step(x, t):
        with mx.autograd.record():
            loss = ((net(x) - t) ** 2).mean()
        loss.backward()
        return loss, [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]

    gm = interop.export(step, (rows(4), rows(4, 1)), parameters=net)
    first = gm(rows(9), rows(9, 1))
    kept = [g.clone() for g in first[1]]
    gm(rows(5, seed=3), rows(5, 1))
    moved = net[1].running_mean.data().asnumpy()
    loss, gradients = step(mx.nd.array(rows(9).numpy()), mx.nd.array(rows(9, 1).numpy()))
    same(first[0], loss.asnumpy())
    assert np.abs(moved).sum() > 0  # MXNet's statistics move in backward
    for a, b, c in zip(first[1], kept, gradients, strict=True):
        same(a, b, 0)  # the second call does not overwrite the first one's results
        same(a, c.asnumpy(), 2e-6)


def test_a_training_step_of_nnabla():
    with nn.parameter_scope("step", nn.parameter.OrderedDict()):

        def step(x, t):
            loss = NF.mean(NF.squared_error(PF.affine(NF.tanh(PF.affine(x, 4, name="a")), 1, name="b"), t))
            for p in nn.get_parameters().values():
                p.grad.zero()
            loss.forward()
            loss.backward()
            return loss, [p.grad for p in nn.get_parameters().values()]

        step(nn.Variable((2, 3)), nn.Variable((2, 1)))
        gm = interop.export(step, (rows(4), rows(4, 1)), parameters=nn.get_parameters())
        x, t = (nn.Variable.from_numpy_array(v.numpy()) for v in (rows(9), rows(9, 1)))
        for a, b in zip(gm(rows(9), rows(9, 1))[1], step(x, t)[1], strict=True):
            same(a, b.data)


def test_a_step_with_an_optimizer_that_keeps_a_state():
    net = Perceptron()
    optimizer = chainer.optimizers.MomentumSGD(0.1).setup(net)

    def step(x, t):
        loss = F.mean_squared_error(net(x), t)
        net.cleargrads()
        loss.backward()
        optimizer.update()
        return loss

    step(rows(4).numpy(), rows(4, 1).numpy())
    values = [p.array.copy() for p in net.params()]
    states = [p.update_rule.state["v"].copy() for p in net.params()]
    gm = copy.deepcopy(interop.export(step, (rows(4), rows(4, 1)), parameters=net, train=True))
    for p, value, state in zip(net.params(), values, states, strict=True):
        same(p.array, value, 0)
        same(p.update_rule.state["v"], state, 0)
    for n in (5, 6, 7):
        same(gm(rows(n), rows(n, 1)), step(rows(n).numpy(), rows(n, 1).numpy()).array, 1e-5)
    same(gm.first.W, net.first.W.array, 1e-5)


# ---- what torch does with the result ---------------------------------------------------------------------------------


def test_copies_and_files():
    net = Convnet()
    gm = interop.export(net, images(4))
    x = images(3)
    twin = copy.deepcopy(gm)
    same(twin(x), gm(x), 0)
    with torch.no_grad():
        twin.conv.W.zero_()
    assert gm.conv.W.abs().sum() > 0
    file = io.BytesIO()
    torch.save(gm, file)
    state = io.BytesIO()
    torch.save(gm.state_dict(), state)
    file.seek(0), state.seek(0)
    same(torch.load(file, weights_only=False)(x), gm(x), 0)
    twin.load_state_dict(torch.load(state))
    same(twin(x), gm(x), 0)
    double = twin.to(torch.float64)(x.double())
    assert double.dtype == torch.float64
    same(double, gm(x), 1e-5)


@pytest.mark.parametrize("train", [False, True])
def test_torch_export_and_compile(train):
    net = Perceptron()
    gm = interop.export(net, rows(4), train=train)
    twin = copy.deepcopy(gm)
    program = torch.export.export(twin, (rows(4),), dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert sorted(program.state_dict) == sorted(gm.state_dict())
    same(program.module()(rows(9)), copy.deepcopy(gm)(rows(9)))
    compiled = torch.compile(copy.deepcopy(gm), backend="aot_eager", fullgraph=True, dynamic=True)
    for n in (4, 9):
        same(compiled(rows(n)), gm(rows(n)))


def test_gradients_of_the_graph():
    net = Perceptron()
    for p in net.params():
        p.array = p.array.astype("d")
    net.norm.avg_mean, net.norm.avg_var = net.norm.avg_mean.astype("d"), net.norm.avg_var.astype("d")
    gm = interop.export(net, rows(4).double())
    assert torch.autograd.gradcheck(gm, (rows(3).double().requires_grad_(),))
    for node in gm.graph.nodes:
        assert node.target is not operator.setitem


def test_writes_to_parts_of_arrays():
    def f(x):
        y = mx.nd.zeros((x.shape[0], 4))
        y[:, 1:3] = x[:, :2]
        y[:, 0] += 1
        return y * 2

    gm = interop.export(f, rows(4), frontend="mxnet")
    same(gm(rows(6)), f(mx.nd.array(rows(6).numpy())).asnumpy())
