"""The gradient of a weight that many functions of a graph use is computed from all their rows at once; programs must
get the numbers that they would get from one product for each function."""

import gc
import weakref

import pytest
import torch

import compatgrad as cg
from compatgrad import ops

torch.manual_seed(0)


def leaf(*shape, dtype=torch.float64):
    return cg.Variable(torch.randn(*shape, dtype=dtype))


def through_linear(x, w, b):
    return ops.linear(x, w, b)


def through_product(x, w, b):
    return ops.matmul(x, w, transb=True) + b


def through_turned_product(x, w, b):
    return ops.matmul(x, ops.transpose(w)) + b


USES = [through_linear, through_product, through_turned_product]


def sequence(use, xs, w, b, h):
    """A recurrent network: the sum of all its states."""
    total = None
    for x in xs:
        h = ops.tanh(use(x, w, b) + h)
        total = ops.sum(h) if total is None else total + ops.sum(h * h)
    return total


def by_torch(xs, w, b, h):
    w, b, h = (v.tensor.clone().requires_grad_() for v in (w, b, h))
    total, state = 0, h
    for k, x in enumerate(xs):
        state = torch.tanh(torch.nn.functional.linear(x.tensor, w, b) + state)
        total = total + (state * state if k else state).sum()
    return torch.autograd.grad(total, [w, b, h])


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [1, 3, 300])
@pytest.mark.parametrize("use", USES)
def test_a_weight_in_each_step(use, rows):
    """300 rows are too many to wait."""
    xs = [cg.Variable(torch.randn(rows, 4).double(), requires_grad=False) for _ in range(7)]
    w, b, h = leaf(5, 4), leaf(5), leaf(rows, 5)
    expected = by_torch(xs, w, b, h)
    for g, e in zip(cg.grad([sequence(use, xs, w, b, h)], [w, b, h]), expected, strict=True):
        close(g.tensor, e)
    sequence(use, xs, w, b, h).backward()
    for v, e in zip((w, b, h), expected, strict=True):
        close(v.grad, e)
    sequence(use, xs, w, b, h).backward()  # adds to the gradients that are there
    for v, e in zip((w, b, h), expected, strict=True):
        close(v.grad, 2 * e)


def test_steps_with_different_numbers_of_rows_and_other_uses():
    w = leaf(3, 4)
    xs = [torch.randn(n, 4).double() for n in (2, 5, 1, 0, 3)]

    def program(w, linear, product, zero):
        y = zero
        for k, x in enumerate(xs):
            y = y + (linear(x, w) * (k + 1)).sum()
            if k == 2:
                y = y + (w * w).sum() + product(w[:, :3], w).sum()
        return y

    t = w.tensor.clone().requires_grad_()
    (expected,) = torch.autograd.grad(program(t, torch.nn.functional.linear, torch.matmul, 0.0), [t])

    class Summed:
        def __init__(self, v):
            self.v = v

        def __mul__(self, k):
            return Summed(self.v * k)

        def sum(self):
            return ops.sum(self.v)

    y = None
    for k, x in enumerate(xs):
        part = ops.sum(ops.linear(cg.Variable(x, requires_grad=False), w, None) * (k + 1.0))
        y = part if y is None else y + part
        if k == 2:
            y = y + ops.sum(w * w) + ops.sum(ops.matmul(w[:, :3], w))
    y.backward()
    close(w.grad, expected)


def test_more_rows_than_may_wait():
    """40 steps of 256 rows of 60 numbers are computed in several parts."""
    xs = [cg.Variable(torch.randn(256, 40).double(), requires_grad=False) for _ in range(40)]
    w, b, h = leaf(20, 40), leaf(20), leaf(256, 20)
    for g, e in zip(cg.grad([sequence(through_linear, xs, w, b, h)], [w, b, h]), by_torch(xs, w, b, h), strict=True):
        close(g.tensor, e)


@pytest.mark.parametrize("counts", [[1] * 200, [32] * 11, [100] * 4, [128] * 4, [200] * 3, range(70, 40, -3), [0] * 3])
def test_parts_of_the_rows_of_a_large_weight(counts):
    """128 rows of 1,100 numbers are enough to be added."""
    w = cg.Variable(torch.randn(600, 500).double() / 20)
    xs = [torch.randn(n, 500).double() for n in counts]
    y = None
    for k, x in enumerate(xs):
        part = ops.sum(ops.tanh(ops.linear(cg.Variable(x, requires_grad=False), w, None)) * (0.01 * (k + 1)))
        y = part if y is None else y + part
    t = w.tensor.clone().requires_grad_()
    z = sum((torch.tanh(x @ t.T) * (0.01 * (k + 1))).sum() for k, x in enumerate(xs))
    (expected,) = torch.autograd.grad(z, [t], create_graph=True)
    (g,) = cg.grad([y], [w], enable_double_backprop=True)
    close(g.tensor, expected.detach())
    (second,) = torch.autograd.grad((expected * expected).sum(), [t])
    torch.testing.assert_close(cg.grad([ops.sum(g * g)], [w])[0].tensor, second, rtol=1e-8, atol=1e-8)
    y.backward()
    close(w.grad, expected.detach())


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_rows_of_a_table(kind):
    table = leaf(6, 3)
    ids = [torch.tensor([0, 5, -1, 5]), torch.tensor([2]), torch.tensor([[1, 1], [3, -6]]), torch.tensor([5, 4])]
    y = None
    for k, i in enumerate(ids):
        part = ops.sum(ops.exp(ops.embedding(table, cg.Variable(i.to(kind), requires_grad=False))) * (k + 1.0))
        y = part if y is None else y + part
    t = table.tensor.clone().requires_grad_()
    sum((torch.exp(t[i]) * (k + 1)).sum() for k, i in enumerate(ids)).backward()
    y.backward()
    close(table.grad, t.grad)


def test_ids_of_two_types():
    table = leaf(4, 2)
    y = None
    for k in range(6):
        ids = torch.tensor([k % 4, 1]).to(torch.int32 if k % 2 else torch.int64)
        part = ops.sum(ops.embedding(table, cg.Variable(ids, requires_grad=False)) * (k + 1.0))
        y = part if y is None else y + part
    y.backward()
    t = torch.zeros(4, 2).double()
    for k in range(6):
        t[k % 4] += k + 1
        t[1] += k + 1
    close(table.grad, t)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types_of_16_bits_are_summed_as_before(dtype):
    w = leaf(3, 4, dtype=dtype)
    xs = [cg.Variable(torch.randn(2, 4).to(dtype), requires_grad=False) for _ in range(5)]
    y = None
    for x in xs:
        part = ops.sum(ops.linear(x, w, None))
        y = part if y is None else y + part
    y.backward()
    expected = sum(x.tensor.double().sum(0) for x in xs).expand(3, 4)
    assert w.grad.dtype == dtype
    torch.testing.assert_close(
        w.grad.double(),
        expected,
        rtol=1e-5 if dtype == torch.float32 else 5e-2,
        atol=1e-5 if dtype == torch.float32 else 0.1,
    )


# ---- user code while rows wait --------------------------------------------------------------------------------------
class Spoils(cg.FunctionNode):
    """The identity, whose backward overwrites the arrays of a list."""

    def __init__(self, arrays):
        super().__init__()
        self.arrays = arrays

    def forward(self, xs):
        return (xs[0].clone(),)

    def backward(self, indexes, gys):
        for a in self.arrays:
            a.fill_(float("nan"))
        return (gys[0],)


def test_user_code_that_overwrites_inputs_changes_no_gradient_that_was_due_before():
    w = leaf(3, 3)
    xs = [torch.randn(2, 3).double() for _ in range(6)]
    copies = [x.clone() for x in xs]
    h = leaf(2, 3)
    start = h.tensor.clone()
    y = Spoils(xs[3:]).apply((h,))[0]
    for x in xs:  # the pass visits the last steps first
        y = y + ops.linear(cg.Variable(x, requires_grad=False), w, None)
    ops.sum(y * y).backward()
    t = w.tensor.clone().requires_grad_()
    z = start + sum(torch.nn.functional.linear(x, t) for x in copies)
    (z * z).sum().backward()
    close(w.grad, t.grad)


def test_a_hook_sees_each_gradient():
    """While a hook looks on, nothing waits."""
    seen = []

    class Looks(cg.FunctionHook):
        name = "looks"

        def backward_postprocess(self, function, in_data, out_grad):
            seen.append(function.label)

    w, x = leaf(3, 3), cg.Variable(torch.randn(2, 3).double(), requires_grad=False)
    y = ops.sum(ops.linear(x, w, None)) + ops.sum(ops.linear(x, w, None)) + ops.sum(ops.linear(x, w, None))
    with Looks():
        y.backward()
    assert len([s for s in seen if "linear" in s.lower()]) == 3
    close(w.grad, 3 * x.tensor.sum(0).expand(3, 3))


class Fails(cg.FunctionNode):
    def forward(self, xs):
        return (xs[0].clone(),)

    def backward(self, indexes, gys):
        raise ValueError("on purpose")


def test_a_pass_that_fails_leaves_the_gradients_of_before():
    w, h = leaf(3, 3), leaf(2, 3)
    xs = [cg.Variable(torch.randn(2, 3).double(), requires_grad=False) for _ in range(5)]
    w.grad = torch.full((3, 3), 7.0, dtype=torch.float64)
    y = Fails().apply((h,))[0]
    for x in xs:
        y = y + ops.linear(x, w, None)
    with pytest.raises(ValueError, match="on purpose"):
        ops.sum(y).backward()
    assert w.grad.tolist() == [[7.0] * 3] * 3


def test_nothing_is_kept_after_the_pass():
    w = leaf(3, 3)
    xs = [torch.randn(2, 3).double() for _ in range(5)]
    gone = [weakref.ref(x) for x in xs]
    y = None
    for x in xs:
        part = ops.sum(ops.linear(cg.Variable(x, requires_grad=False), w, None))
        y = part if y is None else y + part
    y.backward()
    del xs, x, part, y
    gc.collect()
    assert [r() for r in gone] == [None] * 5


def test_a_recorded_pass_gives_the_same_numbers():
    xs = [cg.Variable(torch.randn(3, 4).double(), requires_grad=False) for _ in range(5)]
    w, b, h = leaf(5, 4), leaf(5), leaf(3, 5)
    plain = cg.grad([sequence(through_linear, xs, w, b, h)], [w, b])
    recorded = cg.grad([sequence(through_linear, xs, w, b, h)], [w, b], enable_double_backprop=True)
    for p, r in zip(plain, recorded, strict=True):
        close(p.tensor, r.tensor)


# ---- graphs that run later ------------------------------------------------------------------------------------------
def static_network(steps, batch=2):
    import numpy as np

    import compatgrad.nnabla as nn
    import compatgrad.nnabla.functions as F

    random = np.random.RandomState(0)
    w, b, h = (nn.Variable.from_numpy_array(random.randn(*s), need_grad=True) for s in [(7, 4), (4,), (batch, 4)])
    xs = [nn.Variable.from_numpy_array(random.randn(batch, 3)) for _ in range(steps)]
    state, total = h, None
    for x in xs:
        state = F.tanh(F.affine(F.concatenate(x, state, axis=1), w, b))
        part = F.sum(state * state)
        total = part if total is None else total + part
    tw, tb, th = (torch.tensor(np.array(v.d)).float().requires_grad_() for v in (w, b, h))
    s, expected = th, 0
    for x in xs:
        s = torch.tanh(torch.cat([torch.tensor(np.array(x.d)).float(), s], 1) @ tw + tb)
        expected = expected + (s * s).sum()
    return total, (w, b, h), torch.autograd.grad(expected, [tw, tb, th])


@pytest.mark.parametrize("clear", [False, True])
def test_a_static_graph(clear):
    y, leaves, expected = static_network(9)
    for times in (1, 2):  # nnabla adds to the gradients that are there
        y.forward(clear_no_need_grad=clear)
        if times == 1:
            for v in leaves:
                v.grad.zero()
        y.backward(clear_buffer=clear)
        for v, e in zip(leaves, expected, strict=True):
            torch.testing.assert_close(torch.tensor(v.g.copy()), times * e, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("auto", [False, True])
def test_variables_of_one_parameter(auto):
    """nnabla makes a new Variable at each use of a parameter; one of them may have another shape."""
    import numpy as np

    import compatgrad.nnabla as nn
    import compatgrad.nnabla.functions as F

    random = np.random.RandomState(2)
    w, b = (nn.Variable.from_numpy_array(random.randn(*s), need_grad=True) for s in [(5, 4), (4,)])
    xs = [nn.Variable.from_numpy_array(random.randn(3, 5)) for _ in range(7)]
    tw, tb = (torch.tensor(v.d.copy()).double().requires_grad_() for v in (w, b))
    with nn.auto_forward(auto):
        total, expected = None, 0
        for k, x in enumerate(xs):
            wide = k in (2, 3)
            v = w.reshape((5, 2, 2), unlink=True) if wide else w.get_unlinked_variable(need_grad=True)
            c = b.reshape((2, 2), unlink=True) if wide else b.get_unlinked_variable(need_grad=True)
            part = F.sum(F.sin(F.affine(x, v, c)))
            total = part if total is None else total + part
            expected = expected + torch.sin(torch.tensor(x.d.copy()).double() @ tw + tb).sum()
    expected.backward()
    for times in (1, 2):
        total.forward()
        if times == 1:
            w.grad.zero(), b.grad.zero()
        total.backward()
        for v, t in ((w, tw), (b, tb)):
            torch.testing.assert_close(torch.tensor(v.g.copy()), (times * t.grad).float(), rtol=1e-4, atol=1e-5)


def test_callbacks_of_a_static_graph_see_sums_that_are_complete_so_far():
    """A communicator sends gradients from such a callback."""
    y, leaves, expected = static_network(5)
    y.forward()
    for v in leaves:
        v.grad.zero()
    sums = []
    y.backward(function_post_hook=lambda f: sums.append(float(abs(leaves[0].g).sum())))
    assert len(set(sums)) >= 5
    for v, e in zip(leaves, expected, strict=True):
        torch.testing.assert_close(torch.tensor(v.g.copy()), e, rtol=2e-4, atol=2e-5)


def test_a_python_function_between_the_steps_of_a_static_graph():
    import numpy as np

    import compatgrad.nnabla as nn
    import compatgrad.nnabla.functions as F
    from compatgrad.nnabla.function import PythonFunction

    random = np.random.RandomState(1)
    w = nn.Variable.from_numpy_array(random.randn(3, 3), need_grad=True)
    h = nn.Variable.from_numpy_array(random.randn(2, 3), need_grad=True)
    xs = [nn.Variable.from_numpy_array(random.randn(2, 3)) for _ in range(4)]
    old = [x.d.copy() for x in xs]

    class Overwrites(PythonFunction):
        @property
        def name(self):
            return "Overwrites"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            return False

        def forward_impl(self, inputs, outputs):
            outputs[0].data.copy_from(inputs[0].data)

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            for x in xs[1:]:  # the pass visits the first step last
                x.d = np.nan
            inputs[0].g = inputs[0].g + outputs[0].g if accum[0] else outputs[0].g

    y = Overwrites()(h)
    for x in xs:
        y = y + F.affine(x, w)
    y = F.sum(y)
    y.forward()
    for v in (w, h):
        v.grad.zero()
    y.backward()
    expected = sum(a.sum(0) for a in old)[:, None].repeat(3, 1)
    np.testing.assert_allclose(w.g, expected, rtol=1e-5)
