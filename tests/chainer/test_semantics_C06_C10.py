"""Recording of backward, accumulation of gradients, and the values that functions may return."""

import numpy as np
import pytest

from tests.chainer.subject import Scale, chainer, f32, var


@pytest.mark.semantics("C06")
def test_any_order_of_derivative():
    x = var([2.0, 3.0])
    y = x**4
    y.grad = f32([1, 1])
    y.backward(enable_double_backprop=True)
    g1 = x.grad_var
    assert g1.creator is not None
    expected = [lambda v: 4 * v**3, lambda v: 12 * v**2, lambda v: 24 * v, lambda v: 24 + 0 * v]
    g = g1
    for order, f in enumerate(expected):
        np.testing.assert_allclose(g.array, f(x.array), rtol=1e-5)
        if order == 3:
            break
        x.cleargrad()
        g.grad = f32([1, 1])
        g.backward(enable_double_backprop=True)
        g = x.grad_var


@pytest.mark.semantics("C06")
def test_plain_pass_gives_gradients_without_creator():
    x = var([2.0, 3.0])
    y = x * x
    y.grad = f32([1, 1])
    y.backward()
    assert x.grad_var.creator is None


class Watch(chainer.FunctionNode):
    """The square; its backward records the backprop mode and the results of its operations."""

    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        self.enabled = chainer.config.enable_backprop
        gx = grad_outputs[0] * x * 2
        self.creator = gx.creator
        return (gx,)


@pytest.mark.semantics("C06")
@pytest.mark.semantics("C07")
@pytest.mark.parametrize("run", ["Variable.backward", "backward", "grad"])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("outside", [False, True])
def test_recording_mode_inside_a_pass(run, double, outside):
    x = var([2.0, 3.0])
    f = Watch()
    (y,) = f.apply((x,))
    gy = var([1, 1])
    with chainer.using_config("enable_backprop", outside):
        if run == "Variable.backward":
            y.grad_var = gy
            y.backward(enable_double_backprop=double)
            gx = x.grad_var
        elif run == "backward":
            chainer.backward([y], [gy], enable_double_backprop=double)
            gx = x.grad_var
        else:
            (gx,) = chainer.grad([y], [x], [gy], enable_double_backprop=double)
        assert chainer.config.enable_backprop is outside
    assert f.enabled is double
    assert (f.creator is not None) is double
    assert (gx.creator is not None) is double


class Accumulate(chainer.FunctionNode):
    """a * b + c with its own backward_accumulate, which records its arguments."""

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        a, b, c = inputs
        return (a * b + c,)

    def backward_accumulate(self, indexes, grad_outputs, grad_inputs):
        self.got = tuple(None if g is None else g.array.copy() for g in grad_inputs)
        self.indexes = indexes
        a, b = self.get_retained_inputs()
        (gy,) = grad_outputs
        gxs = (gy * b, gy * a, gy)
        return tuple(
            gxs[i] if g is None else gxs[i] + g
            for i, g in zip(indexes, grad_inputs)  # noqa: B905
        )


@pytest.mark.semantics("C08")
@pytest.mark.parametrize("double", [False, True])
def test_one_variable_in_several_positions(double):
    x = var([2, 3])
    x.grad = f32([100, 200])
    f = Accumulate()
    (y,) = f.apply((x, x, x))
    y.grad = f32([1, 1])
    y.backward(enable_double_backprop=double)
    assert f.indexes == (0, 1, 2)
    np.testing.assert_array_equal(f.got[0], [100, 200])
    assert f.got[1:] == (None, None)
    np.testing.assert_array_equal(x.grad, [100 + 2 + 2 + 1, 200 + 3 + 3 + 1])


@pytest.mark.semantics("C08")
def test_the_default_sums_positions():
    x = var([2, 3])
    y = x * x + x
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(x.grad, [5, 7])


@pytest.mark.semantics("C09")
def test_override_gets_what_is_accumulated_so_far():
    a, b, c = var([2, 3]), var([4, 5], requires_grad=False), var([6, 7])
    (y,) = Accumulate().apply((a, b, c))
    f = Accumulate()
    (z,) = f.apply((a, b, c))  # visited first, because it is pushed first
    c.grad = f32([1000, 1000])
    chainer.backward([z, y], [var([1, 1]), var([10, 10])])
    assert f.indexes == (0, 2)
    assert f.got[0] is None
    np.testing.assert_array_equal(f.got[1], [1000, 1000])
    np.testing.assert_array_equal(a.grad, [44, 55])
    np.testing.assert_array_equal(c.grad, [1011, 1011])
    assert b.grad is None


@pytest.mark.semantics("C09")
def test_override_in_grad():
    a = var([2, 3])
    h = a * 1
    (y,) = Accumulate().apply((h, h, h))
    (g,) = chainer.grad([y], [a], [var([1, 1])])
    np.testing.assert_array_equal(g.array, [5, 7])


@pytest.mark.semantics("C09")
def test_the_default_accumulates_when_it_is_called():
    f = Scale(3)
    x = var([1, 2])
    f.apply((x,))
    (g,) = f.backward_accumulate((0,), (var([1, 1]),), (var([100, 200]),))
    np.testing.assert_array_equal(g.array, [103, 203])
    (g,) = f.backward_accumulate((0,), (var([1, 1]),), (None,))
    np.testing.assert_array_equal(g.array, [3, 3])


class Returns(chainer.FunctionNode):
    def __init__(self, gradients):
        super().__init__()
        self.gradients = gradients

    def forward(self, inputs):
        return (sum(inputs),)

    def backward(self, indexes, grad_outputs):
        return self.gradients


def _run_returns(gradients, requires_grad):
    xs = [var([1, 2], requires_grad=r) for r in requires_grad]
    (y,) = Returns(gradients).apply(xs)
    y.grad = f32([1, 1])
    y.backward()
    return xs


@pytest.mark.semantics("C09")
def test_one_gradient_per_input_or_per_target():
    g, h, i = var([1, 1]), var([2, 2]), var([3, 3])
    for gradients in ((g, h, i), [g, h, i]):
        x, y, z = _run_returns(gradients, (True, False, True))
        assert (x.grad[0], y.grad, z.grad[0]) == (1, None, 3)
    x, y, z = _run_returns((g, h), (True, False, True))
    assert (x.grad[0], y.grad, z.grad[0]) == (1, None, 2)
    x, y, z = _run_returns((g, None, None), (True, True, True))
    assert (x.grad[0], y.grad, z.grad) == (1, None, None)


@pytest.mark.semantics("C09")
@pytest.mark.parametrize("count", [0, 1, 4])
def test_any_other_count_is_an_error(count):
    with pytest.raises(ValueError) as e:
        _run_returns(tuple(var([1, 1]) for _ in range(count)), (True, False, True))
    text = str(e.value)
    assert "number of gradients" in text and "Returns" in text
    assert f"{count} != expected 3 or 2" in text


@pytest.mark.semantics("C10")
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("double", [False, True])
def test_lazy_grad_sum(lazy, double):
    with chainer.using_config("lazy_grad_sum", lazy):
        x = var([1, 2])
        (h,) = Scale(1).apply((x,))
        ys = [Scale(k).apply((h,))[0] for k in (3, 4, 5)] + [h * 6]
        (z,) = Returns(tuple(var([k, k]) for k in (1, 10, 100, 1000))).apply(ys)
        assert z.creator_node.lazy_grad_sum is lazy
        z.grad = f32([1, 1])
        z.backward(enable_double_backprop=double)
    np.testing.assert_array_equal(x.grad, [6543, 6543])


@pytest.mark.semantics("C10")
def test_lazy_grad_sum_of_random_graphs():
    rng = np.random.RandomState(0)
    for _ in range(10):
        pool = [var(rng.rand(3)) for _ in range(2)]
        leaves = list(pool)
        results = []
        for _ in range(8):
            a, b = (pool[i] for i in rng.randint(0, len(pool), 2))
            pool.append(a * b + a)
        for lazy in (False, True):
            with chainer.using_config("lazy_grad_sum", lazy):
                results.append(chainer.grad([pool[-1]], leaves, [var([1, 1, 1])]))
        for a, b in zip(*results):  # noqa: B905
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a.array, b.array, rtol=1e-5)
