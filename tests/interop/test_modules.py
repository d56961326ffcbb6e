"""Networks as torch modules, and torch modules as links and blocks."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop

X = np.random.RandomState(0).rand(16, 3).astype("f")
T = X @ np.float32([[1], [-2], [3]])


class Net(chainer.Chain):
    def __init__(self, dtype="d"):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(3, 4)
            self.norm = L.BatchNormalization(4, dtype=np.dtype(dtype))
            self.last = L.Linear(4, 1)
        for p in self.params():
            p.array = p.array.astype(dtype)

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def block(dtype="float64"):
    b = mx.gluon.nn.HybridSequential()
    b.add(mx.gluon.nn.Dense(4, activation="tanh"), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(1))
    b.initialize(mx.init.Xavier())
    b.cast(dtype)
    return b


def modules():
    yield interop.as_torch_module(Net())
    yield interop.as_torch_module(block(), example_inputs=[torch.zeros(1, 3, dtype=torch.float64)])
    w = compatgrad.Variable(torch.rand(3, 2, dtype=torch.float64))
    yield interop.as_torch_module(lambda x: (x @ w).tanh() if hasattr(x, "tanh") else compatgrad.ops.tanh(x @ w),
                                  {"w": w})  # fmt: skip


@pytest.mark.parametrize("k", range(3))
def test_gradcheck_and_gradgradcheck(k):
    m = list(modules())[k]
    m.eval()
    x = torch.rand(5, 3, dtype=torch.float64, requires_grad=True)
    names = [n for n, _ in m.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in m.parameters()]

    def call(x, *values):
        for p, v in zip(m.parameters(), values, strict=True):
            p.data = v.detach()
        return _through(m, names, x, values)

    assert torch.autograd.gradcheck(m, (x,))
    assert torch.autograd.gradgradcheck(m, (x,))
    assert torch.autograd.gradcheck(call, (x, *values))
    assert torch.autograd.gradgradcheck(call, (x, *values))


def _through(m, names, x, values):
    return torch.func.functional_call(m, dict(zip(names, values, strict=True)), (x,))


def test_torch_trains_a_chainer_network():
    net = Net("f")
    m = interop.as_torch_module(net)
    optimizer = torch.optim.Adam(m.parameters(), lr=0.05)
    x, t = torch.from_numpy(X), torch.from_numpy(T)
    for _ in range(150):
        optimizer.zero_grad()
        loss = ((m(x) - t) ** 2).mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    with chainer.using_config("train", False):
        seen = net(X).array  # training the module changed the link
    m.eval()
    np.testing.assert_array_equal(m(x).detach().numpy(), seen)
    assert abs(net.norm.avg_mean).sum() > 0


def test_state_dict_names_and_memory():
    net = Net("f")
    m = interop.as_torch_module(net)
    state = m.state_dict()
    assert sorted(state) == ["first.W", "first.b", "last.W", "last.b", "norm.avg_mean", "norm.avg_var", "norm.beta",
                             "norm.gamma"]  # fmt: skip
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    other = Net("f")
    interop.as_torch_module(other).load_state_dict(torch.load(file))
    np.testing.assert_array_equal(other.first.W.array, net.first.W.array)
    net.first.W.array[0, 0] = 7
    assert m.first.W[0, 0] == 7


def test_copies_are_networks_of_their_own():
    m = interop.as_torch_module(Net("f"))
    twin = copy.deepcopy(m)
    with torch.no_grad():
        twin.first.W.fill_(0)
    m.eval(), twin.eval()
    x = torch.from_numpy(X)
    assert not torch.equal(m(x), twin(x)) and m.first.W.abs().sum() > 0
    twin(x).sum().backward()
    assert m.first.W.grad is None and twin.first.W.grad is not None


def test_hooks_and_keyword_arguments():
    m = interop.as_torch_module(lambda x, scale=1, shift=None: (x * scale, x + shift), frontend="chainer")
    seen = []
    m.register_forward_hook(lambda *a: seen.append(type(a[2])))
    m.register_full_backward_hook(lambda *a: seen.append("backward"))
    x = torch.rand(2, 3, requires_grad=True)
    s = torch.rand(2, 3, requires_grad=True)
    a, b = m(x, scale=3, shift=s)
    (a.sum() + b.sum()).backward()
    assert seen == [tuple, "backward"] and x.grad.eq(4).all() and s.grad.eq(1).all()


def test_nnabla_function():
    nn.clear_parameters()

    def f(x):
        with nn.parameter_scope("net"):
            return NF.tanh(PF.affine(x, 2))

    m = interop.as_torch_module(f, frontend="nnabla", example_inputs=[torch.zeros(4, 3)])
    assert not list(m.parameters())  # parameters of a function must be given by name
    m = interop.as_torch_module(f, nn.get_parameters())
    x = torch.rand(4, 3, requires_grad=True)
    (g,) = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    (g**2).sum().backward()
    got = [x.grad, *(p.grad for p in m.parameters())]
    w, b = (p.detach().clone().requires_grad_() for p in m.parameters())
    z = x.detach().clone().requires_grad_()
    (g,) = torch.autograd.grad(torch.tanh(z @ w + b).sum(), z, create_graph=True)
    (g**2).sum().backward()
    for a, e in zip(got, (z.grad, w.grad, b.grad), strict=True):
        torch.testing.assert_close(a, e)
    nn.clear_parameters()


def test_a_link_of_a_module_learns_and_is_saved():
    torch.manual_seed(0)

    def make():
        layers = torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
        return torch.nn.Sequential(*layers)

    module = make()
    link = interop.as_chainer_link(module)
    assert sorted(n for n, _ in link.namedparams()) == ["/_0/bias", "/_0/weight", "/_1/bias", "/_1/weight", "/_3/bias",
                                                        "/_3/weight"]  # fmt: skip
    optimizer = chainer.optimizers.Adam(0.05).setup(link)
    for _ in range(150):
        loss = F.mean_squared_error(link(X), T)
        link.cleargrads()
        loss.backward()
        optimizer.update()
    assert loss.array < 0.05 and all(p.grad is None for p in module.parameters())
    file = io.BytesIO()
    chainer.serializers.save_npz(file, link)
    file.seek(0)
    other = make()
    chainer.serializers.load_npz(file, interop.as_chainer_link(other))
    module.eval(), other.eval()
    assert torch.equal(module(torch.from_numpy(X)), other(torch.from_numpy(X)))


def test_a_block_of_a_module_learns():
    torch.manual_seed(0)
    net = interop.as_gluon_block(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    x, t = mx.nd.array(X), mx.nd.array(T)
    for _ in range(150):
        with mx.autograd.record():
            loss = ((net(x) - t) ** 2).mean()
        loss.backward()
        trainer.step(1)
    assert loss.asscalar() < 0.05
    assert ((net.module(torch.from_numpy(X)) - torch.from_numpy(T)) ** 2).mean() < 0.05


@pytest.mark.parametrize("call, error, message", [
    (lambda: interop.as_torch_module(3), TypeError, "target: expected a link, a block or a function, got int"),
    (lambda: interop.as_torch_module(abs, frontend="jax"), ValueError, "frontend: expected one of .*, got 'jax'"),
    (lambda: interop.as_torch_module(L.Linear(None, 3)), ValueError, "parameter W has no value yet"),
    (lambda: interop.as_torch_module(lambda x: 3, frontend="chainer")(torch.ones(1)), TypeError,
     "output: expected a Variable, got int"),
    (lambda: interop.as_torch_module(torch.nn.Linear(3, 2)), TypeError, "target: Linear is a torch module already"),
    (lambda: interop.as_chainer_link(L.Linear(3, 2)), TypeError, r"got .*chainer.links.*Linear"),
    (lambda: interop.as_chainer_link(3), TypeError, "as_chainer_link: module: expected a torch.nn.Module, got int"),
    (lambda: interop.as_chainer_link(torch.nn.LazyLinear(3)), ValueError,
     "as_chainer_link: module: parameter weight has no shape yet"),
    (lambda: interop.as_chainer_link(torch.nn.ModuleDict({"xp": torch.nn.Linear(1, 1)})), ValueError,
     "a Chain already has an attribute 'xp'"),
    (lambda: interop.as_gluon_block(3), TypeError, "as_gluon_block: module: expected a torch.nn.Module, got int"),
])  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def small():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


@pytest.mark.parametrize("how", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: x.copy("copy")])
def test_copies_of_a_link_of_a_module_are_their_own(how):
    link = chainer.Sequential(interop.as_chainer_link(small()))
    link(X)
    twin = how(link)
    with chainer.using_config("train", False):
        np.testing.assert_array_equal(twin(X).array, link(X).array)
        twin[0]["_0"].weight.array[...] = 0
        twin[0]["_1"].running_mean[...] = 5
        module = twin[0].module
        assert not module[0].weight.any() and module[1].running_mean.eq(5).all()
        assert link[0].module[0].weight.all() and link[0].module[1].running_mean.ne(5).all()
        twin.cleargrads()
        F.sum(twin(X)).backward()
    assert twin[0]["_0"].weight.grad is not None


def test_shared_and_fresh_copies_of_a_link_of_a_module():
    link = interop.as_chainer_link(small())
    shared, fresh = link.copy("share"), link.copy("init")
    shared.cleargrads(), link.cleargrads()
    F.sum(shared(X)).backward()
    assert shared["_0"].weight.grad is not None and link["_0"].weight.grad is None
    assert shared["_0"].weight.array is link["_0"].weight.array
    assert abs(fresh["_0"].weight.array - link["_0"].weight.array).min() > 0
    assert fresh.module[0].weight.data_ptr() == fresh["_0"].weight.array.ctypes.data
    assert len(list(chainer.Sequential(link).repeat(2).params())) == 12


def test_frozen_tensors_of_a_module_are_saved_but_no_parameters():
    module = small()
    module[0].weight.requires_grad_(False)
    link, old = interop.as_chainer_link(module), module[0].weight.clone()
    assert [n for n, _ in link.namedparams()] == ["/_0/bias", "/_1/bias", "/_1/weight", "/_3/bias", "/_3/weight"]
    optimizer = chainer.optimizers.SGD(0.1).setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    optimizer.update(lambda: F.sum(link(X)))
    assert torch.equal(module[0].weight, old)
    file = io.BytesIO()
    chainer.serializers.save_npz(file, link)
    file.seek(0)
    names = sorted(np.load(file))
    assert "_0/weight" in names and "_1/running_mean" in names and "_1/num_batches_tracked" in names
    twin = small()
    twin[0].weight.requires_grad_(False)
    other = interop.as_chainer_link(twin)
    other.copyparams(link)
    assert torch.equal(other.module[1].running_mean, module[1].running_mean)
    assert torch.equal(other.module[0].weight, module[0].weight)


def test_hooks_name_a_torch_function():
    link = interop.as_chainer_link(small())
    with chainer.function_hooks.TimerHook() as timer:
        F.sum(interop.call(torch.relu, link(X))).backward()
    assert {"Sequential", "relu"} <= set(timer.summary())


def test_torchs_exporter_is_referred_to_ours():
    module = interop.as_torch_module(L.Linear(3, 2))
    with pytest.raises(Exception, match="compatgrad.interop.export"):
        torch.export.export(module, (torch.zeros(2, 3),), strict=False)


@pytest.mark.parametrize("frontend", [None, "chainer", "mxnet", "nnabla"])
def test_result_of_nnabla_in_a_function_of_any_frontend(frontend):
    """nnabla's functions return static Variables, which the module executes, also if it passes another frontend's."""

    def function(x):
        return NF.sin(NF.pow_scalar(x, 2.0)), {"product": x * NF.sigmoid(x)}

    def reference(x):
        return torch.sin(x**2), {"product": x * torch.sigmoid(x)}

    m = interop.as_torch_module(function, frontend=frontend)
    x = torch.rand(3, 2, requires_grad=True)
    with torch.no_grad():
        y, rest = m(x)
        torch.testing.assert_close(y, reference(x)[0])
        assert not y.requires_grad and not rest["product"].requires_grad
    totals = []
    for run in (m, reference):
        y, rest = run(x)
        total = y.sum() + (rest["product"] ** 2).sum()
        (g,) = torch.autograd.grad(total, x, create_graph=True)
        (gg,) = torch.autograd.grad((g**2).sum(), x)
        totals.append((y, rest["product"], g, gg))
    torch.testing.assert_close(*totals)


class Biases(chainer.Chain):
    """Adds two parameters to an input; in Chainer their three gradients are one array."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a, self.b = (chainer.Parameter(np.zeros(3, "f")) for _ in range(2))

    def forward(self, x):
        return x + self.a + F.concat([self.b[:1], self.b[1:]], 0)


def test_gradients_that_torch_gets_do_not_share_memory():
    m = interop.as_torch_module(Biases())
    x = torch.zeros(3, requires_grad=True)
    m(x).mul(10).sum().backward()
    grads = [x.grad, *(p.grad for p in m.parameters())]
    assert len({g.untyped_storage().data_ptr() for g in grads}) == 3
    assert torch.nn.utils.clip_grad_norm_([x, *m.parameters()], 0.01) == pytest.approx(30)
    assert sum(float((g**2).sum()) for g in grads) ** 0.5 == pytest.approx(0.01, rel=1e-4)


def test_gradients_of_torch_parameters_in_a_legacy_pass_do_not_share_memory():
    a, b = torch.nn.Linear(1, 3, bias=True), torch.nn.Linear(1, 3, bias=True)
    x = chainer.Variable(np.ones((1, 1), "f"))
    y = interop.call(a, x) + interop.call(b, x)
    F.sum(y).backward()
    a.bias.grad.zero_()
    assert b.bias.grad.tolist() == [1, 1, 1]
