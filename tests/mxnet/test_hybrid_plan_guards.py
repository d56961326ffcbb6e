"""Plans of hybridized blocks are used only while the operators would give the same results."""

import copy
import pickle
import threading

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.mxnet as mx
from compatgrad import interop
from compatgrad.mxnet import autograd, gluon, nd
from compatgrad.mxnet.gluon import _plan, nn
from tests.mxnet.hybrid_plans import X, agree, call_until_planned, plans, runs_without, small, without_plan

pytestmark = pytest.mark.skipif(not _plan.fixed_layers.available(), reason="torch has no oneDNN")


# ---- what changes parameters -----------------------------------------------------------------------------------------
def set_by_index(net, tmp_path):
    net[0].weight.data()[:] = 0.5


def set_an_element(net, tmp_path):
    net[0].weight.data()[1, 2, 0, 1] = 0.5


def set_through_a_slice(net, tmp_path):
    net[0].weight.data()[1][2] = 0.5


def set_through_a_reshaped_view(net, tmp_path):
    net[0].weight.data().reshape((-1,))[5] = 0.5


def set_through_a_detached_array(net, tmp_path):
    net[0].weight.data().detach()[:] = 0.5


def add_in_place(net, tmp_path):
    w = net[1].beta.data()
    w += 1


def copy_into(net, tmp_path):
    nd.ones(net[0].bias.shape).copyto(net[0].bias.data())


def give_as_out(net, tmp_path):
    nd.random.uniform(0, 1, shape=net[0].weight.shape, out=net[0].weight.data())


def set_data(net, tmp_path):
    net[0].weight.set_data(nd.ones(net[0].weight.shape))


def set_running_statistics(net, tmp_path):
    net[1].running_mean.set_data(nd.ones(8))


def initialize_anew(net, tmp_path):
    net.initialize(mx.init.One(), force_reinit=True)


def load_parameters(net, tmp_path):
    other = small(nn.BatchNorm(), nn.Activation("relu"))
    other[0].weight.set_data(nd.ones(other[0].weight.shape))
    other.save_parameters(str(tmp_path / "p"))
    net.load_parameters(str(tmp_path / "p"))


def train(net, tmp_path):
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        loss = net(nd.array(X)).sum()
    loss.backward()
    trainer.step(1)


def train_inside_another_block(net, tmp_path):
    outer = nn.HybridSequential()
    outer.add(net)
    outer.hybridize(active=True, clear=False)
    train(outer, tmp_path)


def move_statistics(net, tmp_path):
    outer = nn.Sequential()
    outer.add(net[1])
    with autograd.record():
        outer(nd.array(np.ones((2, 8, 4, 4)))).sum().backward()


def replace_the_array(net, tmp_path):
    net[0].weight._data[0] = nd.ones(net[0].weight.shape)


def write_in_torch(net, tmp_path):
    net[0].weight.data().tensor.mul_(2)


def write_in_torch_to_a_view(net, tmp_path):
    net[0].weight.data().tensor.detach().view(-1)[3] = 0.5


def write_by_dlpack(net, tmp_path):
    torch.from_dlpack(net[0].weight.data().to_dlpack_for_write()).fill_(0.5)


def write_by_dlpack_to_a_view(net, tmp_path):
    torch.from_dlpack(nd.to_dlpack_for_write(net[0].weight.data()[1:3])).fill_(0.5)


def write_through_a_torch_module(net, tmp_path):
    module = interop.as_torch_module(net)
    next(iter(module.parameters())).data.fill_(0.5)


def change_an_attribute(net, tmp_path):
    net[2]._act_type = "tanh"


def replace_a_child(net, tmp_path):
    net._children["2"] = nn.Activation("tanh")


def remove_a_child(net, tmp_path):
    del net._children["2"]


def add_a_child(net, tmp_path):
    net.add(nn.Activation("tanh"))


def load_the_wrong_way_round(net, tmp_path):
    net._children.move_to_end("1")


CHANGES = [
    set_by_index, set_an_element, set_through_a_slice, set_through_a_reshaped_view, set_through_a_detached_array,
    add_in_place, copy_into, give_as_out, set_data, set_running_statistics, initialize_anew, load_parameters, train,
    train_inside_another_block, move_statistics, replace_the_array, write_in_torch, write_in_torch_to_a_view,
    write_by_dlpack, write_by_dlpack_to_a_view, write_through_a_torch_module, change_an_attribute, replace_a_child,
    remove_a_child, add_a_child,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_a_change_reaches_the_next_call(change, tmp_path):
    net, x = small(nn.BatchNorm(), nn.Activation("relu")), nd.array(X)
    call_until_planned(net, x)
    before = net(x).asnumpy()
    change(net, tmp_path)
    out = runs_without(net, x).asnumpy()
    assert out.shape != before.shape or np.abs(out - before).max() > 1e-3
    for _ in range(2 * _plan._CALLS + 3):
        np.testing.assert_allclose(net(x).asnumpy(), out, rtol=1e-5, atol=1e-5 * np.abs(out).max())


@pytest.mark.parametrize("place", [0, -1], ids=["a parameter", "a running statistic"])
def test_a_torch_module_that_shares_memory(place):
    net, x = small(*([nn.BatchNorm()] if place else [])), nd.array(X)
    call_until_planned(net, x)
    module = interop.as_torch_module(net)
    shared = [*module.buffers()][-1] if place else next(iter(module.parameters()))
    shared.data.fill_(0.5)
    np.testing.assert_allclose(net(x).asnumpy(), without_plan(net, x)[0], rtol=1e-5, atol=1e-5)


def test_memory_that_was_given_away_before_gets_no_plan():
    net, x = small(), nd.array(X)
    t = torch.from_dlpack(net[0].weight.data().to_dlpack_for_write())
    for i in range(_plan._CALLS + 3):
        t.fill_(i)
        assert net(x).asnumpy()[0, 0, 0, 0] == pytest.approx(without_plan(net, x)[0][0, 0, 0, 0])
    assert not plans(net)


def test_a_block_of_torch_that_shares_parameters_gets_no_plan():
    module = torch.nn.Conv2d(3, 8, 3, padding=1)
    block = interop.as_gluon_block(module)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, in_channels=3), nn.Conv2D(4, 3, in_channels=8))
    net.initialize()
    net[0].weight._data[0] = list(block.collect_params(".*weight").values())[0].data()
    net.hybridize()
    for i in range(_plan._CALLS + 3):
        module.weight.data.fill_(i)
        np.testing.assert_allclose(net(nd.array(X)).asnumpy(), without_plan(net, nd.array(X))[0])
    assert not plans(net)


# ---- how blocks are called -------------------------------------------------------------------------------------------
def test_recorded_and_training_calls_run_without_a_plan():
    net, x = small(nn.Dropout(0.5)), nd.array(X)
    call_until_planned(net, x)
    x.attach_grad()
    agree(net, x)  # a marked array is like any other outside of record()
    with autograd.train_mode():
        assert (runs_without(net, x).asnumpy() != net(x).asnumpy()).any()  # dropout drops
    assert not plans(net)  # its memory is free while the network trains
    call_until_planned(net, x)
    with autograd.record(train_mode=False):
        y = runs_without(net, x)
    y.backward()
    assert np.abs(x.grad.asnumpy()).max() > 0
    call_until_planned(net, x)
    with autograd.record():
        with autograd.pause():
            agree(net, x)


@pytest.mark.parametrize("train_mode", [True, False])
def test_calls_in_training_do_not_count(train_mode):
    net, x = small(nn.Dropout(0.5)), nd.array(X)
    for _ in range(3 * _plan._CALLS):
        with autograd.record(train_mode=train_mode):
            net(x)
        assert not net._planner.calls and not plans(net)
    call_until_planned(net, x)
    agree(net, x)


def test_each_shape_has_a_plan_and_their_number_is_limited():
    net = small()
    arrays = [nd.array(np.repeat(X, n, 0)) for n in (1, 2, 3)]
    for x in arrays:
        for _ in range(_plan._CALLS + 2):
            net(x)
    assert plans(net) == _plan._SIGNATURES
    for x in arrays[-_plan._SIGNATURES :]:
        agree(net, x)
    runs_without(net, arrays[0])


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_dtypes_have_no_plan(dtype):
    net, x = small(nn.BatchNorm()), nd.array(X)
    call_until_planned(net, x)
    net.cast(dtype)
    assert not plans(net)
    x = x.astype(dtype)
    for _ in range(_plan._CALLS + 2):
        assert net(x).dtype == np.dtype(dtype)
    assert not plans(net) and not net._planner.refused


def test_other_contexts_have_no_plan():
    net, x = small(), nd.array(X)
    call_until_planned(net, x)
    net.collect_params().reset_ctx([mx.cpu(1), mx.cpu(2)])
    x = x.as_in_context(mx.cpu(1))
    for _ in range(_plan._CALLS + 2):
        assert net(x).context == mx.cpu(1)
    net.collect_params().reset_ctx(mx.cpu())
    agree_later = net(nd.array(X)).asnumpy()
    np.testing.assert_allclose(agree_later, without_plan(net, nd.array(X))[0], rtol=1e-5)


def attach_a_hook(net):
    return net.register_forward_hook


def attach_a_pre_hook_inside(net):
    return net[0].register_forward_pre_hook


def attach_a_hook_inside(net):
    return net[0].register_forward_hook


@pytest.mark.parametrize("attach", [attach_a_hook, attach_a_pre_hook_inside, attach_a_hook_inside])
def test_hooks_are_called_each_time(attach):
    net, x, seen = small(), nd.array(X), []
    call_until_planned(net, x)
    handle = attach(net)(lambda *args: seen.append(args))
    for n in range(5 * _plan._CALLS):
        assert len(seen) == n
        net(x)
    assert all(type(array) is nd.NDArray for _, arrays, *_ in seen for array in arrays)
    handle.detach()
    call_until_planned(net, x)
    agree(net, x)


def test_hooks_of_functions_see_each_operator():
    class Names(compatgrad.FunctionHook):
        name = "names"

        def forward_postprocess(self, function, in_data):
            seen.append(function.label if hasattr(function, "label") else type(function).__name__)

    net, x, seen = small(), nd.array(X), []
    call_until_planned(net, x)
    with Names():
        runs_without(net, x)
    assert len(seen) >= 2


def test_the_profiler_records_the_operators(tmp_path):
    net, x = small(), nd.array(X)
    call_until_planned(net, x)
    mx.profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "profile.json"))
    mx.profiler.set_state("run")
    try:
        runs_without(net, x)
    finally:
        mx.profiler.set_state("stop")
    assert "onvolution" in mx.profiler.dumps(reset=True)


def test_a_block_with_its_own_forward_has_no_plan():
    class Own(nn.HybridSequential):
        def forward(self, x):
            seen.append(type(x))
            return super().forward(x)

    seen = []
    inner, outer = Own(), nn.HybridSequential()
    inner.add(nn.Conv2D(3, 1, in_channels=3), nn.Conv2D(3, 1, in_channels=3))
    outer.add(inner)
    outer.initialize()
    outer.hybridize()
    for net in (inner, outer):
        seen.clear()
        for _ in range(_plan._CALLS + 3):
            net(nd.array(X))
        assert seen == [nd.NDArray] * (_plan._CALLS + 3)
        assert not plans(net)


def with_convolutions(method):
    """A hybridized block of two convolutions whose `hybrid_forward` is given."""

    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2D(3, 1, in_channels=3), nn.Conv2D(3, 1, in_channels=3)
            self.count = 0

        hybrid_forward = method

    net = Net()
    net.initialize()
    net.hybridize()
    return net


def looks_at_values(self, F, x):
    y = self.a(x)
    return self.b(y) if float(y.asnumpy().sum()) > 1e9 else y


def looks_at_a_truth_value(self, F, x):
    y = self.a(x)
    return self.b(y) if y.sum() > 1e9 else y


def looks_at_a_shape(self, F, x):
    return self.b(self.a(x)) * x.shape[0]


def counts_calls(self, F, x):
    self.count += 1
    return self.b(self.a(x)) * self.count


def draws(self, F, x):
    return self.b(self.a(x)) + F.random.uniform(0, 1, shape=(1,))


def draws_like(self, F, x):
    return F.broadcast_add(self.b(self.a(x)), F.random.normal(0, 1, shape=(1,)))


def drops_always(self, F, x):
    return F.Dropout(self.b(self.a(x)), p=0.5, mode="always")


def loops(self, F, x):
    return F.contrib.foreach(lambda row, s: (row * 2, s), self.b(self.a(x)), [])[0]


@pytest.mark.parametrize(
    "method",
    [looks_at_values, looks_at_a_truth_value, looks_at_a_shape, counts_calls, draws, draws_like, drops_always, loops],
    ids=lambda f: f.__name__,
)
def test_blocks_that_a_program_cannot_stand_for(method):
    net, x = with_convolutions(method), nd.array(X)
    outs = [net(x).asnumpy() for _ in range(3 * _plan._CALLS)]
    assert net._planner.used == 0
    changes = method in (counts_calls, draws, draws_like, drops_always)
    assert (outs[-1] != outs[-2]).any() == changes
    if method is counts_calls:
        # one call more was made with symbols, as in MXNet, for each plan that was tried
        np.testing.assert_allclose(outs[1], 2 * outs[0], rtol=1e-5)


def test_custom_operators_have_no_plan():
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            ran.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("twice_in_a_plan")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    ran = []
    net = with_convolutions(lambda self, F, x: F.Custom(self.b(self.a(x)), op_type="twice_in_a_plan"))
    for n in range(_plan._CALLS + 3):
        assert len(ran) == n
        net(nd.array(X))
    assert not plans(net)


def test_constants_and_computed_filters():
    class Scaled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get_constant("scale", nd.array([[[[2.0]], [[3.0]], [[4.0]]]]))
            self.w = self.params.get("w", shape=(3, 3, 1, 1))
            self.a, self.b = nn.Conv2D(3, 1, in_channels=3), nn.Conv2D(3, 1, in_channels=3)

        def hybrid_forward(self, F, x, scale, w):
            y = F.broadcast_mul(self.b(self.a(x)), scale)
            return F.Convolution(y, w * 2, kernel=(1, 1), num_filter=3, no_bias=True)

    net = Scaled()
    net.initialize()
    net.hybridize()
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))
    net.w.set_data(nd.ones((3, 3, 1, 1)))
    runs_without(net, nd.array(X))


# ---- blocks that are copied, written, read or changed ----------------------------------------------------------------
def test_hybridize_switches_plans_off_and_on():
    net, x = small(), nd.array(X)
    call_until_planned(net, x)
    net.hybridize(False)
    assert net._planner is None
    first = net(x).asnumpy()
    for _ in range(_plan._CALLS + 2):
        assert (net(x).asnumpy() == first).all()
    net.hybridize()
    call_until_planned(net, x)
    agree(net, x)


def test_the_switch_of_the_environment(monkeypatch):
    monkeypatch.setattr("compatgrad.mxnet.gluon._hybrid.PLANS", False)
    assert small()._planner is None


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda net: pickle.loads(pickle.dumps(net))], ids=["deep", "shallow", "pickle"]
)
def test_copies_make_their_own_plans(copied):
    net, x = small(nn.Activation("relu")), nd.array(X)
    call_until_planned(net, x)
    other = copied(net)
    other._planner_before = other._planner
    call_until_planned_after = [other(x) for _ in range(_plan._CALLS + 2)]
    assert plans(other) and other._planner is not net._planner
    agree(other, x)
    agree(net, x)
    np.testing.assert_allclose(call_until_planned_after[0].asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-5)
    if copied is not copy.copy:  # a shallow copy has the same layers
        other[0].weight.data()[:] = 0
        assert np.abs(runs_without(other, x).asnumpy() - net(x).asnumpy()).max() > 1e-3
        agree(net, x)


def test_export_and_imported_blocks(tmp_path):
    net, x = small(nn.BatchNorm(), nn.Activation("relu")), nd.array(X)
    call_until_planned(net, x)
    net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    block.hybridize()
    call_until_planned(block, x)
    np.testing.assert_allclose(agree(block, x)[0], without_plan(net, x)[0], rtol=1e-5, atol=1e-5)
    next(iter(block.collect_params().values())).data()[:] = 0.5
    runs_without(block, x)
    outer = nn.HybridSequential()
    outer.add(block, nn.Conv2D(2, 1, in_channels=4))
    outer[1].initialize()
    outer.hybridize()
    call_until_planned(outer, x)
    agree(outer, x)


def test_children_of_a_block_that_is_not_hybridized():
    class Net(gluon.Block):
        def __init__(self, body):
            super().__init__()
            self.body = body

        def forward(self, x):
            return self.body(x) if float(x.sum().asscalar()) > 0 else x

    body, x = small(nn.Activation("relu")), nd.array(X)
    net = Net(body)
    net.hybridize()
    call_until_planned(body, x)
    used = body._planner.used
    np.testing.assert_allclose(net(x).asnumpy(), without_plan(body, x)[0], rtol=1e-5, atol=1e-5)
    assert body._planner.used == used + 1
    assert net(-x).shape == x.shape


def test_one_convolution_has_no_plan():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(3, 3), nn.Dense(2))
    net.initialize()
    net.hybridize()
    for _ in range(_plan._CALLS + 2):
        net(nd.array(X))
    assert not plans(net)


def test_threads():
    net, x = small(nn.BatchNorm(), nn.Activation("relu")), nd.array(X)
    wanted, wrong = net(x).asnumpy(), []

    def work():
        for _ in range(30):
            if not np.allclose(net(x).asnumpy(), wanted, rtol=1e-4, atol=1e-4):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and plans(net)


def test_arrays_of_numpy_have_no_plan():
    net = small()
    call_until_planned(net, nd.array(X))
    mx.npx.set_np()
    try:
        y = runs_without(net, mx.np.array(X))
        assert isinstance(y, mx.np.ndarray)
    finally:
        mx.npx.reset_np()


# ---- torch's modes ---------------------------------------------------------------------------------------------------
def test_torchs_modes():
    net, x = small(), nd.array(X)
    call_until_planned(net, x)
    with torch.no_grad():
        agree(net, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        runs_without(net, x)
    torch.use_deterministic_algorithms(True)
    try:
        runs_without(net, x)
    finally:
        torch.use_deterministic_algorithms(False)
    with torch.backends.mkldnn.flags(enabled=False):
        runs_without(net, x)
    agree(net, x)


def test_programs_that_torch_traces():
    net, x = small(), nd.array(X)
    call_until_planned(net, x)
    exported = interop.export(net, (torch.from_numpy(X),))
    wanted = without_plan(net, x)[0]
    np.testing.assert_allclose(exported(torch.from_numpy(X)).detach().numpy(), wanted, rtol=1e-5, atol=1e-5)
    module = interop.as_torch_module(net)
    with torch.no_grad():
        for _ in range(_plan._CALLS + 3):
            next(iter(module.parameters())).data.mul_(0.9)
            np.testing.assert_allclose(module(torch.from_numpy(X)).numpy(), without_plan(net, x)[0], rtol=1e-5)


def test_gradients_of_torch():
    net = small()
    call_until_planned(net, nd.array(X))
    t = torch.from_numpy(X.copy()).requires_grad_()
    with autograd.record(train_mode=False):
        y = runs_without(net, interop.to("mxnet", t))
    interop.to("torch", y).sum().backward()
    assert t.grad.abs().max() > 0
