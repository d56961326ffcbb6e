"""torch's idioms on the native API work as with tensors, or raise an error that says what to write instead."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad as cg
from compatgrad import Variable


def v(*values, **more):
    return Variable(torch.tensor(values, **more))


def test_interop_is_there_after_the_import():
    code = "import compatgrad; print(compatgrad.interop.to.__name__, 'interop' in dir(compatgrad))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["to", "True"]


# ---- operators -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("other", [
    torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.0], dtype=torch.float64), torch.tensor([3, 4]), torch.tensor(2.0),
    np.array([3.0, 4.0]), 2, 2.5, np.float32(2),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("mine", [torch.float32, torch.float64, torch.int64])
def test_operators_promote_as_torch_does(other, mine):
    t = torch.tensor([1, 2]).to(mine)
    same = torch.from_numpy(other) if isinstance(other, np.ndarray) else other
    same = same.item() if isinstance(same, np.number) else same
    for f in ("add", "sub", "mul", "truediv", "pow"):
        f = getattr(__import__("operator"), f)
        for got, expected in ((f(Variable(t), other), f(t, same)), (f(other, Variable(t)), f(same, t))):
            assert type(got) is Variable
            torch.testing.assert_close(got.tensor, expected)


def test_gradients_have_the_dtypes_of_their_variables():
    a, b = v(1.0, 2.0), v(3.0, 4.0, dtype=torch.float64)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (torch.float32, torch.float64)


def test_comparisons_are_tensors_of_booleans():
    x = v(1.0, 2.0, 3.0)
    for other in (v(1.0, 3.0, 3.0), torch.tensor([1.0, 3.0, 3.0]), 2, np.array([1.0, 3.0, 3.0], "f")):
        t = other.tensor if isinstance(other, Variable) else torch.as_tensor(other)
        for f in ("eq", "ne", "lt", "le", "gt", "ge"):
            compare = getattr(__import__("operator"), f)
            got = compare(x, other)
            assert type(got) is torch.Tensor and torch.equal(got, compare(x.tensor, t)), f
    assert torch.equal(torch.tensor([1.0, 3.0, 3.0]) == x, torch.tensor([True, False, True]))
    assert (x == None) is False and (x != None) is True and (x == "x") is False  # noqa: E711
    assert torch.equal(x[x > 1].tensor, torch.tensor([2.0, 3.0]))


def test_variables_are_still_found_by_identity():
    x, y = v(1.0, 2.0), v(1.0, 2.0)
    assert {x: 1, y: 2}[y] == 2 and len({x, y}) == 2 and x in [x]


def test_numbers():
    assert (bool(v(0.0)), bool(v(2.0)), int(v(2.7)), float(v(2.5)), complex(v(1.0))) == (False, True, 2, 2.5, 1)
    assert len(v(1.0, 2.0)) == 2
    for kind in (bool, int, float, complex):
        with pytest.raises(RuntimeError, match=rf"{kind.__name__} of a Variable of shape \(2,\): expected one element"):
            kind(v(1.0, 2.0))


def test_formats():
    x = Variable(torch.tensor(2.3456))
    assert f"{x:.2f}" == "2.35" and f"{x}" == str(x) and f"loss {x:8.1e}" == f"loss {x.item():8.1e}"
    with pytest.raises(TypeError, match=r"format '.2f' of a Variable of shape \(2,\)"):
        f"{v(1.0, 2.0):.2f}"


def test_numpy_is_told_of_the_value():
    with pytest.raises(TypeError, match=r"x\.array"):
        np.asarray(v(1.0))
    np.testing.assert_array_equal(v(1.0).array, np.ones(1, "f"))


# ---- places and dtypes -----------------------------------------------------------------------------------------------
def test_to_and_device():
    x = v(1.0, 2.0)
    assert x.device == x.tensor.device and x.to(torch.float32) is x and x.to("cpu") is x and x.to(v(1.0)) is x
    y = x.to(torch.float64)
    (y * y).sum().backward()
    assert y.dtype == torch.float64 and x.grad.tolist() == [2, 4] and x.grad.dtype == torch.float32
    assert x.to(y).dtype == torch.float64 and x.to("cpu", torch.float16).dtype == torch.float16
    assert x.to("meta").device.type == "meta"
    with pytest.raises(ValueError, match="has no data"):
        Variable().to(torch.float64)
    with pytest.raises(ValueError, match="has no data"):
        _ = Variable().device


# ---- torch's functions -----------------------------------------------------------------------------------------------
def test_functions_of_torch_are_nodes():
    x = v(0.5, 1.5)
    y = torch.exp(x).sum() + torch.stack([x, x * 2])[1].sum()
    assert type(y) is Variable
    (g,) = cg.grad([y], [x], enable_double_backprop=True)
    torch.testing.assert_close(g.tensor, x.tensor.exp() + 2)
    (gg,) = cg.grad([g.sum()], [x])
    torch.testing.assert_close(gg.tensor, x.tensor.exp())


def test_modules_of_torch_take_variables():
    layer, x = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU()), Variable(torch.rand(4, 2))
    layer(x).sum().backward()
    t = x.tensor.clone().requires_grad_()
    grads = torch.autograd.grad(layer(t).sum(), [t, *layer.parameters()])
    torch.testing.assert_close([x.grad, *(p.grad for p in layer.parameters())], list(grads))


def test_a_tensor_on_the_left_computes_with_the_engine_s_operators():
    x, t = v(1.0, 2.0), torch.tensor([3.0, 4.0])
    for y, name in ((t + x, "add"), (t * x, "mul"), (t - x, "sub"), (t / x, "div"), (t**x, "pow"), (t @ x, "matmul")):
        assert type(y) is Variable and y.creator.op_name == name


def test_reading_functions_accept_variables():
    x = v(1.0, 2.0)
    assert torch.equal(x, torch.tensor([1.0, 2.0])) is True and torch.numel(x) == 2 and torch.is_floating_point(x)
    assert torch.allclose(x, v(1.0, 2.0)) is True and torch.eq(x, 1).tolist() == [True, False]


def test_writing_functions_are_refused():
    x, t = v(1.0, 2.0), torch.zeros(2)
    for f in (lambda: t.add_(x), lambda: torch.add(x, x, out=t), lambda: t.__setitem__(0, x[0])):
        with pytest.raises(TypeError, match="writes into a tensor"):
            f()
    assert t.tolist() == [0, 0]


@pytest.mark.parametrize(("name", "words"), [
    ("exp", "compatgrad.ops.exp"), ("clone", r"interop.call\(torch.Tensor.clone"), ("detach", "requires_grad=False"),
    ("numpy", "x.array"), ("data", "x.tensor"), ("view", "x.reshape"), ("add_", "changed in place"),
    ("retain_grad", r"backward\(retain_grad=True\)"), ("grad_fn", "x.creator"),
])  # fmt: skip
def test_a_missing_attribute_says_what_to_write(name, words):
    with pytest.raises(AttributeError, match=f"'Variable' object has no attribute '{name}'.*{words}"):
        getattr(v(1.0), name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        _ = v(1.0).nothing


def test_copies_and_pickles():
    x = v(1.0, 2.0)
    for other in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert torch.equal(other.tensor, x.tensor)


# ---- gradients -------------------------------------------------------------------------------------------------------
def test_gradients_of_a_wrong_shape_are_named():
    x = Variable(torch.ones(3))
    for f in (
        lambda: cg.grad([x * 2], [x], grad_outputs=[torch.ones(2)]),
        lambda: cg.backward([x * 2], [torch.ones(2)]),
        lambda: cg.grad([x * 2], [x], grad_outputs=[torch.ones(1, 3)]),
    ):
        with pytest.raises(ValueError, match=r"grad_outputs\[0\] has shape .*, outputs\[0\] \(3,\)"):
            f()


@pytest.mark.parametrize(("word", "words"), [
    ("create_graph", "enable_double_backprop"), ("retain_graph", "leave it out"),
])  # fmt: skip
def test_torch_s_keywords_are_answered(word, words):
    x = v(1.0)
    for f in (cg.grad, cg.backward, lambda *_, **kw: x.sum().backward(**kw)):
        with pytest.raises(TypeError, match=f"{word} is torch's.*{words}"):
            f([x.sum()], [x], **{word: True})
    for f in (x.backward, x.sum, x.mean):
        with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
            f(nothing=1)


@pytest.mark.parametrize(("word", "words"), [("dim", "axis"), ("keepdim", "keepdims")])
def test_torch_s_keywords_of_sums_are_answered(word, words):
    x = v(1.0)
    for f in (x.sum, x.mean):
        with pytest.raises(TypeError, match=f"Variable.(sum|mean): {word} is torch's.* that is {words}$"):
            f(**{word: 0})


def test_gradients_by_tensors():
    t = torch.ones(2, requires_grad=True)
    (g,) = cg.grad([(Variable(t) ** 2).sum()], [t])
    assert type(g) is torch.Tensor and g.tolist() == [2, 2] and t.grad is None
    h, x = t * 3, v(1.0, 1.0)
    z = (Variable(h) ** 2).sum() + (x * Variable(h)).sum()
    gt, gx, gh = cg.grad([z], [t, x, h], enable_double_backprop=True, grad_inputs=[torch.ones(2), None, None])
    assert (gt.tolist(), gx.tensor.tolist(), gh.tolist()) == ([22, 22], [3, 3], [7, 7])
    ggt, ggx = cg.grad([Variable(gt).sum() + gx.sum()], [t, x])
    assert (ggt.tolist(), ggx.tensor.tolist()) == ([21, 21], [3, 3])
    assert cg.grad(h, t, [torch.tensor([1.0, 5.0])])[0].tolist() == [3, 15]  # outputs may be tensors, too
    cg.grad([z], [t], set_grad=True)
    assert t.grad.tolist() == [21, 21]
    assert cg.grad([(x * 2).sum()], [t]) == [None]
    cg.backward(h.sum())
    assert t.grad.tolist() == [24, 24]
    with pytest.raises(TypeError, match=r"inputs\[0\] is a tensor that does not require torch's grad"):
        cg.grad([z], [torch.ones(2)])


def test_two_variables_of_one_tensor_cause_a_warning():
    t = torch.ones(2)
    held = Variable(t[:])
    for y in ((Variable(t) ** 2).sum(), (held * 2).sum()):
        with pytest.warns(RuntimeWarning, match=r"inputs\[0\].*another Variable on the same tensor"):
            assert cg.grad([y], [Variable(t)]) == [None]


@pytest.mark.filterwarnings("error")
def test_unreachable_variables_cause_no_warning():
    x, y = v(1.0), v(1.0)
    assert cg.grad([x * 2], [y]) == [None] and cg.grad([x * 2], [Variable(torch.ones(0))]) == [None]
