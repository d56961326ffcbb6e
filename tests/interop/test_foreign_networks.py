"""Networks of one framework inside networks of another, whose optimizers and files would miss their parameters."""

import itertools
import warnings

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import interop
from compatgrad.mxnet.gluon.nn import Dense


@pytest.fixture(autouse=True)
def no_parameters():
    yield
    nn.clear_parameters()


class NnablaNet(nn.Module):
    def call(self, x):
        return PF.affine(x, 2)


def nnabla_net():
    net = NnablaNet()
    net(nn.Variable((2, 3)))
    return net


NETWORKS = {
    "torch": lambda: torch.nn.Linear(3, 2),
    "chainer": lambda: L.Linear(3, 2),
    "mxnet": lambda: Dense(2, in_units=3),
    "nnabla": nnabla_net,
}
PARAMETERS = {
    "torch": lambda: torch.nn.Parameter(torch.ones(2)),
    "chainer": lambda: chainer.Parameter(np.ones(2, "f")),
    "mxnet": lambda: mx.gluon.Parameter("w", shape=(2,)),
    "nnabla": lambda: nn.parameter.get_parameter_or_create("w", (2,), need_grad=True),
}
WRAPPERS = {"chainer": "as_chainer_link", "mxnet": "as_gluon_block", "nnabla": "as_parametric_function"}
EVERY = [(own, other) for own, other in itertools.product(WRAPPERS, NETWORKS) if own != other]


def place(own, value, contained=False):
    """Makes a network of the frontend `own` with `value` as an attribute, and asks it for its parameters."""
    value = [value] if contained else value
    if own == "chainer":
        net = chainer.Chain()
        with net.init_scope():
            net.inner = value
        return list(net.params())
    if own == "mxnet":
        net = mx.gluon.Block()
        net.inner = value
        return net.collect_params()
    net = NnablaNet()
    net.inner = value
    return net.get_parameters()


def expected(own, match):
    return pytest.raises(TypeError, match=match) if own == "chainer" else pytest.warns(UserWarning, match=match)


@pytest.mark.parametrize("own, other", EVERY)
def test_an_attribute_that_would_not_be_trained_is_named_with_its_wrapper(own, other):
    inner = r"\(interop.as_torch_module\(" if other != "torch" else r"\(module\)"
    with expected(own, rf"\.inner\"? is an? .* (\(Linear|\(Dense|\(NnablaNet).*interop\.{WRAPPERS[own]}{inner}"):
        place(own, NETWORKS[other]())
    with expected(own, r"\.inner\"? is an? .* parameter, .*use|Use"):
        place(own, PARAMETERS[other]())


@pytest.mark.parametrize("own, other", [pair for pair in EVERY if pair[0] != "chainer"])
def test_networks_in_containers_are_found(own, other):
    with pytest.warns(UserWarning, match=rf'\.inner" contains a.*interop\.{WRAPPERS[own]}'):
        place(own, NETWORKS[other](), contained=True)
    with pytest.warns(UserWarning, match=r'\.inner" contains a'):
        place(own, {"a": (1, NETWORKS[other]())}, contained=True)


def frozen():
    return torch.nn.Linear(3, 2).requires_grad_(False)


@pytest.mark.parametrize("own", WRAPPERS)
@pytest.mark.parametrize("value", [
    frozen, torch.nn.ReLU, lambda: torch.nn.Linear, lambda: L.Linear, lambda: torch.ones(2), lambda: 3,
    lambda: nn.Variable((2,)), lambda: mx.nd.ones(2), lambda: chainer.Variable(np.ones(2, "f")), lambda: [1, "a", {}],
])  # fmt: skip
def test_nothing_is_said_of_what_has_nothing_to_train(own, value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place(own, value())


def test_the_warning_names_the_line_of_the_program():
    net = mx.gluon.Block()
    net.inner = torch.nn.Linear(3, 2)
    for collects in (net.collect_params, net.initialize, lambda: net.collect_params(".*weight")):
        with pytest.warns(UserWarning, match="a Trainer does not train them") as found:
            collects()
        assert {w.filename for w in found} == {__file__}


def test_nothing_is_said_of_a_module_whose_wrapper_is_registered():
    class Net(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.plain = torch.nn.Linear(3, 2)
            self.wrapped = interop.as_gluon_block(self.plain)
            self.link = L.Linear(2, 2)
            self.also = interop.as_gluon_block(interop.as_torch_module(self.link))

    class Module(nn.Module):
        def __init__(self):
            self.body = torch.nn.Linear(3, 2)

        def call(self, x):
            return interop.as_parametric_function(self.body)(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(Net().collect_params())) == 4
        net = Module()
        net(nn.Variable((2, 3)))
        assert len(net.get_parameters()) == 2
        chain = chainer.Chain()
        with chain.init_scope():
            chain.wrapped = interop.as_chainer_link(torch.nn.Linear(2, 2))
        assert len(list(chain.params())) == 2


def test_a_module_outside_init_scope_is_a_plain_attribute():
    chain = chainer.Chain()
    chain.layer = torch.nn.Linear(2, 2)
    assert list(chain.params()) == [] and isinstance(chain.layer, torch.nn.Linear)


@pytest.mark.parametrize("add", [
    lambda m: chainer.ChainList(m), lambda m: chainer.ChainList(L.Linear(1, 1)).append(m),
    lambda m: chainer.ChainList(L.Linear(1, 1)).insert(0, m), lambda m: chainer.ChainList(L.Linear(1, 1)).add_link(m),
    lambda m: chainer.ChainList(L.Linear(1, 1)).__setitem__(0, m),
    lambda m: chainer.ChainList(L.Linear(1, 1)).__setitem__(slice(0, 1), [m]),
    lambda m: chainer.Sequential(L.Linear(1, 1), m), lambda m: chainer.Sequential(L.Linear(1, 1)).append(m),
    lambda m: chainer.Sequential(L.Linear(1, 1)).insert(0, m), lambda m: chainer.Chain(a=m),
    lambda m: chainer.optimizers.SGD().setup(m),
])  # fmt: skip
@pytest.mark.parametrize("other", ["torch", "mxnet"])
def test_chainers_containers_refuse_what_they_would_not_train(add, other):
    with pytest.raises(TypeError, match=r"use interop\.as_chainer_link"):
        add(NETWORKS[other]())


def test_a_refused_link_changes_no_container():
    chains = chainer.ChainList(L.Linear(1, 1)), chainer.Sequential(L.Linear(1, 1))
    for chain in chains:
        with pytest.raises(TypeError):
            chain.append(torch.nn.Linear(1, 1))
        assert len(chain) == 1 and len(list(chain.params())) == 2


@pytest.mark.parametrize("other", ["torch", "chainer", "nnabla"])
def test_gluons_containers_refuse_what_they_would_not_train(other):
    net = mx.gluon.nn.Sequential()
    with pytest.raises(TypeError, match=r"use interop\.as_gluon_block"):
        net.add(Dense(2), NETWORKS[other]())
    with pytest.raises(TypeError, match=r"use interop\.as_gluon_block"):
        net.register_child(NETWORKS[other]())
    with pytest.raises(ValueError, match=r"must also be HybridBlock.*use interop\.as_gluon_block"):
        mx.gluon.nn.HybridSequential().add(NETWORKS[other]())
    assert len(net) == 1


def test_a_hybrid_block_says_why_it_takes_no_torch_module():
    block = interop.as_gluon_block(torch.nn.Linear(3, 2))
    assert repr(block) == "TorchBlock(Linear(in_features=3, out_features=2, bias=True))"
    with pytest.raises(ValueError, match=r"HybridBlock, but TorchBlock\(Linear.*use gluon\.Block and nn\.Sequential"):
        mx.gluon.nn.HybridSequential().add(block)
    net = mx.gluon.nn.Sequential()
    net.add(block, Dense(2))
    net.initialize()
    net.hybridize()
    assert net(mx.nd.ones((4, 3))).shape == (4, 2)


def test_optimizers_say_whose_parameters_they_got():
    with pytest.raises(ValueError, match=r"list or dict of Parameters.*parameters of interop\.as_gluon_block\(network"):
        mx.gluon.Trainer(list(torch.nn.Linear(3, 2).parameters()), "sgd")
    with pytest.raises(ValueError, match=r"as_gluon_block\(interop\.as_torch_module\(network"):
        mx.gluon.Trainer(list(L.Linear(3, 2).params()), "sgd")
    with pytest.raises(TypeError, match=r"expected Variable as 'weight', got Parameter. It is a torch parameter"):
        S.Sgd(0.1).set_parameters(dict(torch.nn.Linear(3, 2).named_parameters()))
    for wrapper in ("as_chainer_link", "as_gluon_block", "as_parametric_function"):
        with pytest.raises(TypeError, match=r"got compatgrad.*Dense. It is a Gluon block .*as_torch_module\(block\)"):
            getattr(interop, wrapper)(Dense(2, in_units=2))


def test_wrappers_of_modules_and_networks_warn_of_what_they_miss():
    module = torch.nn.Sequential(torch.nn.Linear(2, 2))
    module[0].inner = L.Linear(2, 2)
    module[0].known = interop.as_torch_module(L.Linear(2, 2))
    for wrapper in ("as_chainer_link", "as_gluon_block", "as_parametric_function"):
        with pytest.warns(UserWarning, match=rf'"Linear.inner" is a Chainer link.*{wrapper}.*as_torch_module') as found:
            getattr(interop, wrapper)(module)
        assert len(found) == 1
    chain = chainer.Chain(a=chainer.Chain())
    chain.a.body = torch.nn.Linear(2, 2)
    with pytest.warns(UserWarning, match=r'"Chain.body" is a torch module .*as_chainer_link\(module\)'):
        interop.as_torch_module(chain)


def test_a_torch_block_saves_and_loads_running_statistics(tmp_path):
    def make():
        return interop.as_gluon_block(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)), prefix="b_")

    block, twin = make(), make()
    x = mx.nd.array(np.random.rand(8, 3))
    with mx.autograd.record():
        loss = block(x).square().sum()
    loss.backward()
    mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1}).step(1)
    assert block.module[1].num_batches_tracked == 1 and block.module[1].running_mean.any()
    path = str(tmp_path / "b.params")
    block.save_parameters(path)
    twin.load_parameters(path)
    for a, b in zip(block.module.state_dict().values(), twin.module.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    np.testing.assert_array_equal(block(x).asnumpy(), twin(x).asnumpy())
    twin.initialize(force_reinit=True)
    twin(x)
    norm = twin.module[1]
    assert norm.num_batches_tracked == 0 and not norm.running_mean.any() and norm.running_var.eq(1).all()
    twin.cast("float64")
    assert twin(x.astype("float64")).dtype == np.float64 and twin.module[1].num_batches_tracked.dtype == torch.int64


def test_every_pair_of_wrappers_trains():
    """The combinations of wrappers that the messages name train the parameters."""
    nets = {"torch": NETWORKS["torch"](), "chainer": interop.as_torch_module(NETWORKS["chainer"]())}
    block = NETWORKS["mxnet"]()
    block.initialize()
    nets["mxnet"] = interop.as_torch_module(block)
    net = nnabla_net()
    nets["nnabla"] = interop.as_torch_module(net, net.get_parameters(), frontend="nnabla")
    x = np.random.rand(4, 3).astype("f")
    for inner in nets.values():
        before = [p.detach().clone() for p in inner.parameters()]
        link = interop.as_chainer_link(inner)
        chainer.optimizers.SGD(0.1).setup(link).update(lambda link=link: chainer.functions.sum(link(x)))
        between = [p.detach().clone() for p in inner.parameters()]
        assert not any(torch.equal(a, b) for a, b in zip(before, between, strict=True))
        wrapped = interop.as_gluon_block(inner)
        with mx.autograd.record():
            loss = wrapped(mx.nd.array(x)).sum()
        loss.backward()
        mx.gluon.Trainer(wrapped.collect_params(), "sgd", {"learning_rate": 0.1}).step(1)
        assert not any(torch.equal(a, b) for a, b in zip(between, inner.parameters(), strict=True))
