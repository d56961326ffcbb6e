"""Common uses of torch modules work on legacy networks in torch, and on torch modules in the engine."""

import copy
import io
import pickle
import re

import numpy as np
import pytest
import torch
from torch.nn.utils import parametrizations

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import interop


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(3, 4)
            self.norm = L.BatchNormalization(4)
            self.last = L.Linear(4, 2)

    def forward(self, x):
        return self.last(F.tanh(self.norm(self.first(x))))


def of_chainer():
    np.random.seed(0)
    return interop.as_torch_module(Net())


def of_gluon():
    mx.random.seed(0)
    block = mx.gluon.nn.HybridSequential()
    block.add(
        mx.gluon.nn.Dense(4, in_units=3),
        mx.gluon.nn.BatchNorm(in_channels=4),
        mx.gluon.nn.Activation("tanh"),
        mx.gluon.nn.Dense(2, in_units=4),
    )
    block.initialize(mx.init.Xavier())
    return interop.as_torch_module(block)


@pytest.fixture(params=[of_chainer, of_gluon])
def net(request):
    return request.param()


@pytest.fixture
def x():
    return torch.rand(5, 3, generator=torch.Generator().manual_seed(0))


def legacy(net, x):
    """The prediction of the legacy network itself."""
    with chainer.using_config("train", False):
        y = net._target(
            mx.nd.array(x.numpy(), dtype=x.numpy().dtype) if isinstance(net._target, mx.gluon.Block) else x.numpy()
        )
    return y.tensor.detach()


def first_weight(net):
    return next(p for p in net.parameters() if p.dim() == 2)


# ---- hooks -----------------------------------------------------------------------------------------------------------
def test_forward_hooks_may_change_what_goes_in_and_out(net, x):
    expected = net.eval()(x * 2) + 1
    net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.register_forward_hook(lambda module, args, y: y + 1)
    assert torch.equal(net(x), expected)
    net(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


def test_full_backward_hooks(net, x):
    seen = []
    net.register_full_backward_pre_hook(lambda module, gys: (gys[0] * 2,))
    net.register_full_backward_hook(lambda module, gxs, gys: seen.append((gxs[0].shape, gys[0])) or (gxs[0] * 3,))
    x.requires_grad_()
    net.eval()(x).sum().backward()
    got = x.grad.clone()
    plain = copy.deepcopy(net)
    plain._backward_hooks.clear(), plain._backward_pre_hooks.clear()
    (expected,) = torch.autograd.grad(plain(x).sum(), x)
    torch.testing.assert_close(got, 6 * expected)
    assert seen[0][0] == (5, 3) and seen[0][1].eq(2).all()


def test_hooks_of_parameters(net, x):
    net.eval()
    w = first_weight(net)
    (expected,) = torch.autograd.grad(net(x).sum(), w)
    seen = []
    w.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    net(x).sum().backward()
    torch.testing.assert_close(w.grad, 2 * expected)
    assert len(seen) == 1 and torch.equal(seen[0], w.grad)


def test_an_optimizer_inside_backward(net, x):
    before = [p.detach().clone() for p in net.parameters()]
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in net.parameters()}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(step)
    (net(x) ** 2).sum().backward()
    assert all(p.grad is None for p in net.parameters())
    assert any(not torch.equal(p, b) for p, b in zip(net.parameters(), before, strict=True))


# ---- training --------------------------------------------------------------------------------------------------------
def test_clipping(net, x):
    (net(x) ** 2).sum().backward()
    size = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
    assert size > 0.1
    torch.testing.assert_close(torch.nn.utils.get_total_norm([p.grad for p in net.parameters()]), torch.tensor(0.1))


def test_frozen_parameters(net, x):
    w = first_weight(net).requires_grad_(False)
    net(x).sum().backward()
    assert w.grad is None and all(p.grad is not None for p in net.parameters() if p is not w)
    net.requires_grad_(False)
    assert not net(x).requires_grad
    x.requires_grad_()
    net(x).sum().backward()
    assert x.grad is not None


def test_unused_parameters_get_no_gradient(x):
    class Half(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.used, self.other = L.Linear(3, 2), L.Linear(3, 2)

        def forward(self, x):
            return self.used(x)

    net = interop.as_torch_module(Half())
    net(x).sum().backward()
    assert net.used.W.grad is not None and net.other.W.grad is None


@pytest.mark.parametrize("optimizer", [
    lambda ps: torch.optim.Adam(ps, fused=True),
    lambda ps: torch.optim.SGD(ps, 0.05, momentum=0.9, foreach=True),
    lambda ps: torch.optim.LBFGS(ps, max_iter=5),
], ids=["fused", "foreach", "closure"])  # fmt: skip
def test_optimizers(net, x, optimizer):
    optimizer = optimizer(net.parameters())

    def closure():
        optimizer.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        return loss

    first = closure().item()
    for _ in range(10):
        optimizer.step(closure)
    assert closure().item() < first


def test_checkpointing(net, x):
    net.eval()
    expected = torch.autograd.grad(net(x).sum(), list(net.parameters()))
    torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum().backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], list(expected))


def test_averaged_model(net, x):
    average = torch.optim.swa_utils.AveragedModel(net)
    average.update_parameters(net)
    with torch.no_grad():
        first_weight(net).add_(1)
    average.update_parameters(net)
    torch.testing.assert_close(first_weight(average.module), first_weight(net) - 0.5)


@pytest.mark.parametrize(
    "kind", [parametrizations.weight_norm, parametrizations.spectral_norm], ids=["weight", "spectral"]
)
def test_parametrizations(net, x, kind):
    kind(*((net.first, "W") if hasattr(net, "first") else (net.get_submodule("0"), "weight")))
    net.double().eval()
    names = [n for n, _ in net.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in net.parameters()]
    assert any("parametrizations" in n for n in names)

    def run(*values):
        return torch.func.functional_call(net, dict(zip(names, values, strict=True)), (x.double(),))

    assert torch.autograd.gradcheck(run, values, fast_mode=True)
    net(x.double()).sum().backward()
    assert all(p.grad is not None for p in net.parameters())


# ---- files and copies ------------------------------------------------------------------------------------------------
def test_state_dict_round_trip(net, x):
    net(x)  # changes the running statistics
    state = net.state_dict()
    other = copy.deepcopy(net)
    with torch.no_grad():
        for t in other.state_dict().values():
            t.add_(1)
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert torch.equal(other.eval()(x), net.eval()(x)) and torch.equal(legacy(other, x), net(x))
    with pytest.raises(RuntimeError, match="Unexpected key.*nowhere"):
        net.load_state_dict({**state, "nowhere": x})
    name = next(iter(state))
    with pytest.raises(RuntimeError, match=f"Missing key.*{name}"):
        net.load_state_dict({k: v for k, v in state.items() if k != name})
    with pytest.raises(RuntimeError, match="size mismatch"):
        net.load_state_dict({**state, name: torch.zeros(7, 7, 7)})


def test_loading_by_assignment(net, x):
    state = {k: torch.full_like(v, 0.5) for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert torch.equal(net.eval()(x), legacy(net, x))
    net.train()(x).sum().backward()  # MXNet's statistics move in backward
    moved = [k for k, v in net.state_dict().items() if not v.eq(0.5).all()]
    assert len(moved) == 2 and set(moved) == {k for k, _ in net.named_buffers()}


def by_pickle(net):
    return pickle.loads(pickle.dumps(net))


def by_torch_save(net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, by_pickle, by_torch_save])
def test_copies_train_by_themselves(net, x, duplicate):
    net(x)
    twin = duplicate(net)
    before = {k: v.clone() for k, v in net.state_dict().items()}
    assert torch.equal(twin.eval()(x), net.eval()(x))
    optimizer = torch.optim.SGD(twin.parameters(), 0.1)
    (twin.train()(x + 1) ** 2).sum().backward()
    optimizer.step()
    for k, v in twin.state_dict().items():
        if "beta" not in k and "bias" not in k and "b" != k[-1]:
            assert not torch.equal(v, before[k]), k
    torch.testing.assert_close(dict(net.state_dict()), before, rtol=0, atol=0)
    assert all(p.grad is None for p in net.parameters())
    assert torch.equal(legacy(twin, x), twin.eval()(x).detach())


# ---- dtypes, devices, modes ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_other_dtypes(net, x, dtype):
    expected = copy.deepcopy(net)(x)
    net.to(dtype)
    y = net(x.to(dtype))
    y.sum().backward()
    assert y.dtype == dtype and all(p.grad.dtype == dtype for p in net.parameters())
    torch.testing.assert_close(y.float(), expected, rtol=0.01, atol=0.01)
    before = [b.clone() for b in net.buffers()]
    net(x.to(dtype) + 1).sum().backward()
    assert all(b.dtype == dtype and not torch.equal(b, e) for b, e in zip(net.buffers(), before, strict=True))
    if dtype == torch.float64:
        assert torch.equal(legacy(net, x.double()), net.eval()(x.double()))


def test_a_float64_input_is_not_silently_rounded(x):
    """The legacy framework's rule for mixed dtypes applies: Chainer refuses them."""
    with pytest.raises(chainer.utils.type_check.InvalidType):
        of_chainer()(x.double())


def test_bfloat16(x):
    assert of_gluon().bfloat16()(x.bfloat16()).dtype == torch.bfloat16
    with pytest.raises(TypeError, match="BFloat16"):  # NumPy has no bfloat16
        of_chainer().bfloat16()(x.bfloat16())


def test_a_device_that_numpy_does_not_reach(x):
    assert of_gluon().to("meta")(x.to("meta")).is_meta
    with pytest.raises((ImportError, TypeError), match="meta"):
        of_chainer().to("meta")(x.to("meta"))


def test_no_grad_and_inference_mode(net, x):
    net.eval()
    expected = net(x)
    with torch.no_grad():
        y = net(x)
    assert not y.requires_grad and torch.equal(y, expected)
    with torch.inference_mode():
        y = net(x)
    assert y.is_inference() and torch.equal(y, expected)
    with torch.inference_mode():
        made = x * 1
    net(made).sum().backward()  # torch saves no inference tensor for the backward
    got = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    expected.sum().backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], got)


def test_nothing_is_recorded_without_gradients(x):
    recorded = []

    def f(v):
        y = F.sigmoid(v)
        recorded.append(y.creator is not None)
        return y

    module = interop.as_torch_module(f, frontend="chainer")
    with torch.no_grad():
        module(x.clone().requires_grad_())
    with torch.inference_mode():
        module(x)
    module(x.clone().requires_grad_())
    assert recorded == [False, False, True]


def test_autocast(net, x):
    """Under autocast a legacy network keeps its dtypes, while torch's layers around it change theirs."""
    net.eval()
    expected = net(x)
    layer = torch.nn.Linear(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(net(x), expected)
        y = net(layer(x))
    assert y.dtype == torch.float32
    y.sum().backward()
    assert layer.weight.grad is not None and all(p.grad.dtype == torch.float32 for p in net.parameters())


def test_two_passes_and_changed_parameters(net, x):
    y = (net(x) ** 2).sum()
    y.backward(retain_graph=True)
    first = [p.grad.clone() for p in net.parameters()]
    y.backward()
    torch.testing.assert_close([p.grad for p in net.parameters()], [2 * g for g in first])
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    y = (net(x.requires_grad_()) ** 2).sum()
    with torch.no_grad():
        first_weight(net).add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_a_result_may_be_written_to(net, x):
    y = net.eval()(x)
    expected = y.detach() * 2
    y.mul_(2)
    y.sum().backward()
    assert torch.equal(y, expected) and all(p.grad is not None for p in net.parameters())


def forward_mode(net, x):
    with torch.autograd.forward_ad.dual_level():
        return net(torch.autograd.forward_ad.make_dual(x, x))


@pytest.mark.parametrize("transform", [
    lambda net, x: torch.vmap(net)(x[None]),
    lambda net, x: torch.func.grad(lambda x: net(x).sum())(x),
    lambda net, x: torch.func.jvp(net, (x,), (x,)),
    lambda net, x: torch.func.hessian(lambda x: net(x).sum())(x),
    forward_mode,
], ids=["vmap", "grad", "jvp", "hessian", "forward"])  # fmt: skip
def test_transforms_that_would_lose_a_gradient_are_refused(net, x, transform):
    with pytest.raises(RuntimeError, match="as_torch_module"):
        transform(net.eval(), x)


# ---- torch inside the engine -----------------------------------------------------------------------------------------
def variable(**more):
    return chainer.Variable(np.random.RandomState(0).rand(5, 3).astype("f"), **more)


def test_hooks_of_a_module_inside():
    layer, seen = torch.nn.Linear(3, 2, bias=False), []
    layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    layer.register_full_backward_hook(lambda *args: seen.append("module"))
    layer.weight.register_hook(lambda g: g * 3)
    layer.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    v = variable()
    F.sum(interop.call(layer, v)).backward()
    expected = 6 * torch.from_numpy(v.array).sum(0).expand(2, 3)
    torch.testing.assert_close(layer.weight.grad, expected)
    assert seen[0] == "module" and len(seen) == 2
    torch.testing.assert_close(seen[1], expected)


def test_frozen_parameters_of_a_module_inside():
    layer = torch.nn.Linear(3, 2)
    layer.weight.requires_grad_(False)
    v = variable()
    F.sum(interop.call(layer, v)).backward()
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [5, 5] and v.grad is not None
    layer.requires_grad_(False)
    F.sum(interop.call(layer, v)).backward()
    assert layer.bias.grad.tolist() == [5, 5]


def test_constants_need_no_gradient():
    """torch's functions get tensors with the right requires_grad, as some refuse an input without a derivative."""
    v, target = variable(), variable(requires_grad=False)
    needs = []
    interop.call(lambda *ts: needs.extend(t.requires_grad for t in ts) or ts[0] * ts[1], v, target)
    assert needs == [True, False]
    F.sum(interop.call(torch.nn.functional.soft_margin_loss, v, target)).backward()
    assert v.grad is not None and target.grad is None


def test_torch_modes_around_the_engine():
    """torch.no_grad does not stop the engine, which follows its own modes."""
    v, layer = variable(), torch.nn.Linear(3, 2)
    with torch.no_grad():
        y = F.sum(interop.call(layer, F.sigmoid(v)))
    y.backward()
    assert v.grad is not None and layer.weight.grad is not None
    with chainer.no_backprop_mode():
        assert interop.call(layer, v).creator is None
    with torch.inference_mode():
        y = F.sum(F.sigmoid(v))
        h = F.sigmoid(v)
    y.backward()
    with pytest.raises(RuntimeError, match="nference tensor"):
        interop.call(layer, h)


def test_autocast_of_a_module_inside():
    """A torch module in the engine is autocast, and gradients have the dtypes of their Variables and parameters."""
    layer, v = torch.nn.Linear(3, 3), variable()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = interop.call(layer, v)
        assert y.tensor.dtype == torch.bfloat16
        z = interop.call(torch.Tensor.float, y)
    F.sum(z).backward()
    assert v.grad.dtype == np.float32 and layer.weight.grad.dtype == torch.float32


def test_writing_to_saved_tensors_raises():
    layer, v = torch.nn.Linear(3, 2), variable()
    y = F.sum(interop.call(layer, v) ** 2)
    with torch.no_grad():
        layer.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_function_hooks_of_chainer():
    seen = []

    class Hook(chainer.FunctionHook):
        def forward_preprocess(self, function, in_data):
            seen.append(("forward", in_data[0].shape))

        def backward_postprocess(self, function, in_data, out_grad):
            seen.append(("backward", out_grad[0].shape))

    with Hook():
        y = interop.call(torch.nn.Linear(3, 2), variable())
        y.grad = np.ones_like(y.array)
        y.backward()
    assert seen == [("forward", (5, 3)), ("backward", (5, 2))]


@pytest.mark.parametrize("layer", [torch.tanh, torch.nn.Linear(3, 2)], ids=["function", "module"])
def test_function_hooks_of_nnabla(layer):
    seen = []
    v = nn.Variable.from_numpy_array(np.ones((5, 3)), need_grad=True)
    y = NF.sum(interop.call(layer, v))

    def note(when):
        return lambda f: seen.append((when, f.info.type_name))

    y.forward(function_pre_hook=note("before"), function_post_hook=note("after"))
    y.backward(function_pre_hook=note("back"))
    name = getattr(layer, "__name__", "Linear")
    assert seen == [
        ("before", name),
        ("after", name),
        ("before", "Sum"),
        ("after", "Sum"),
        ("back", "Sum"),
        ("back", name),
    ]
    assert abs(v.g).sum() > 0


@pytest.mark.parametrize("convert", [torch.from_dlpack, np.from_dlpack])
def test_dlpack_of_variables_says_what_to_pass(convert):
    array = np.ones(3, np.float32)
    for x, instead in (
        (chainer.Variable(array), "x.array"), (chainer.Parameter(array), "x.array"),
        (compatgrad.Variable(torch.from_numpy(array)), "x.tensor"),
        (nn.Variable.from_numpy_array(array), "x.d"), (nn.NdArray.from_numpy_array(array), "x.data"),
        (mx.nd.ones(3), "x.asnumpy()"), (mx.np.ones(3), "x.asnumpy()"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=re.escape(f"pass {instead}")):
            convert(x)
        assert convert(eval(instead)).tolist() == [1, 1, 1]
