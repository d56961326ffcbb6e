"""Errors of the native API name the argument, what was expected and what was passed."""

import numpy as np
import pytest
import torch

import compatgrad
import compatgrad.chainer as chainer
from compatgrad import Variable, interop


def leaf(*numbers):
    return Variable(torch.tensor(numbers))


@pytest.mark.parametrize("combine, expected", [
    (lambda x: x + torch.ones(2), [4, 5]),
    (lambda x: torch.ones(2) - x, [-2, -3]),
    (lambda x: np.ones(2, np.float32) - x, [-2, -3]),
    (lambda x: x * np.float64(2), [6, 8]),
    (lambda x: x * True, [3, 4]),
    (lambda x: x * Variable(torch.tensor([1.0, 2.0], dtype=torch.float64)), [3, 8]),
    (lambda x: x + Variable(torch.tensor([1, 2])), [4, 6]),
])  # fmt: skip
def test_operators_take_tensors_arrays_numbers_and_other_types(combine, expected):
    x = leaf(3.0, 4.0)
    y = combine(x)
    assert y.tensor.tolist() == expected
    (gx,) = compatgrad.grad([y.sum()], [x])
    assert gx.dtype == torch.float32 and gx.shape == (2,)


def test_operators_of_integers():
    n = leaf(1, 2)
    assert [(-n).tensor.tolist(), abs(-n).tensor.tolist(), (n - 1).tensor.tolist()] == [[-1, -2], [1, 2], [0, 1]]
    assert (1 / n).tensor.tolist() == [1, 0.5]


@pytest.mark.parametrize("call, error, words", [
    (lambda x: x + leaf(1.0, 2.0, 3.0), ValueError, r"add\(Float\[2\], Float\[3\]\)"),
    (lambda x: x * Variable(torch.ones(2, device="meta")), ValueError, "mul: .* different devices: cpu and meta"),
    (lambda x: x + "two", TypeError, "unsupported operand"),
    (lambda x: x + Variable(), ValueError, "add: an operand has no data"),
    (lambda x: -Variable(), ValueError, "neg: the Variable has no data"),
    (lambda x: Variable().item(), ValueError, "item: the Variable has no data"),
    (lambda x: Variable().zerograd(), ValueError, "zerograd: the Variable has no data"),
    (lambda x: Variable().backward(), ValueError, "backward: the Variable has no data"),
    (lambda x: compatgrad.backward(Variable()), ValueError, r"outputs\[0\] has no data"),
    (lambda x: compatgrad.grad([Variable()], [x]), ValueError, r"outputs\[0\] has no data"),
    (lambda x: compatgrad.grad(), TypeError, r"^grad\(\) missing"),
    (lambda x: compatgrad.backward(), TypeError, r"^backward\(\) missing"),
    (lambda x: compatgrad.grad([x * 2], [x], [torch.ones(3)]), ValueError, r"grad_outputs\[0\] has shape \(3,\), out"),
    (lambda x: compatgrad.backward([x * 2], [torch.ones(3)]), ValueError, r"grad_outputs\[0\] has shape \(3,\), out"),
    (lambda x: compatgrad.grad([x * 2], [x], None, [torch.ones(3)]), ValueError, r"grad_inputs\[0\] has shape"),
    (lambda x: interop.call(5, x), TypeError, "interop.call: function: expected .*, got int"),
    (lambda x: interop.compile(5), TypeError, "interop.compile: fn: expected .*, got int"),
    (lambda x: interop.as_torch_module(abs, parameters=[x]), TypeError, "parameters: expected a dict .*, got list"),
    (lambda x: interop.as_torch_module(abs, parameters={"a": 5}), TypeError, r"parameters\['a'\]: .*, got int"),
    (lambda x: interop.cuda_graph(5, x), TypeError, "cuda_graph: step: expected .*, got int"),
    (lambda x: interop.cuda_graph(list, x, warmup=0), ValueError, "warmup: expected 1 or more, got 0"),
    (lambda x: interop.cuda_graph(list), ValueError, "outputs: expected at least one Variable"),
    (lambda x: compatgrad.ops.sum(x, axis=5), IndexError, r"^sum\(Float\[2\]\): Dimension out of range"),
    (lambda x: x["a"], TypeError, "^index: expected integers, slices, .*, got str"),
    (lambda x: compatgrad.ops.sin(Variable()), TypeError, "input 0: .*, got an empty Variable"),
    (lambda x: np.asarray(Variable(torch.ones(2, dtype=torch.bfloat16)).array), TypeError, "NumPy .* no bfloat16"),
])  # fmt: skip
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call(leaf(3.0, 4.0))


def test_a_gradient_of_another_shape_is_an_error():
    class Wrong(compatgrad.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            return (Variable(torch.ones(3)),)

    x = leaf(3.0, 4.0)
    with pytest.raises(ValueError, match=r"the gradient of inputs\[0\] has shape \(3,\), expected \(2,\)"):
        compatgrad.grad(Wrong().apply((x,)), [x], set_grad=True)
    assert x.grad is None


@pytest.mark.parametrize("returned, error, words", [
    ((), ValueError, "backward of Wrong must return one gradient per input: 0 != 1"),
    (5, TypeError, "backward of Wrong must return a tuple .*, not <class 'int'>"),
    ((torch.ones(3),), ValueError, "gradient 0 of Wrong has shape"),
])  # fmt: skip
def test_gradients_of_a_function(returned, error, words):
    class Wrong(compatgrad.Function):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, inputs, grad_outputs):
            return returned

    x = leaf(3.0, 4.0)
    with pytest.raises(error, match=words):
        compatgrad.grad([Wrong()(x).sum()], [x])


@pytest.mark.parametrize("base", [compatgrad.FunctionNode, chainer.FunctionNode], ids=["native", "chainer"])
@pytest.mark.parametrize("returned, error, words", [
    (lambda gys: None, TypeError, "not None: is `return` missing"),
    (lambda gys: gys[0], ValueError, r"not a Variable: \(gx,\)"),
])  # fmt: skip
@pytest.mark.parametrize("size", [1, 3])
def test_a_gradient_without_its_tuple_is_an_error(base, returned, error, words, size):
    class Wrong(base):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            return returned(grad_outputs)

    x = leaf(*[1.0] * size) if base is compatgrad.FunctionNode else chainer.Variable(np.ones(size, "f"))
    (y,) = Wrong().apply((x,))
    with pytest.raises(error, match=f"backward of Wrong must return a tuple of Variables or None, {words}"):
        compatgrad.grad([y], [x])


def test_a_gradient_in_place_of_retain_grad_is_told():
    y = leaf(1.0, 2.0) * 2
    for gradient in (torch.ones(2), y, np.ones(2)):
        with pytest.raises(TypeError, match=r"retain_grad must be a bool, .* assign it to `grad` first, or call"):
            y.backward(gradient)
    with pytest.raises(ValueError, match="set its grad, or pass grad_outputs to compatgrad.backward"):
        y.backward()
