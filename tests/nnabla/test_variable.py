"""Variable: need_grad, gradients that accumulate, static graphs and what forward and backward free."""

import gc

import numpy as np
import pytest
import torch

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla import solvers


@pytest.fixture(autouse=True)
def fresh():
    nn.clear_parameters()
    yield
    nn.clear_parameters()
    nn.set_auto_forward(False)


def leaf(*values, need_grad=True):
    return nn.Variable.from_numpy_array(np.array(values, np.float32), need_grad=need_grad)


# ---- arrays and identity -------------------------------------------------------------------------------------------
def test_arrays():
    v = nn.Variable((2, 3))
    assert (v.shape, v.size, v.ndim, v.size_from_axis(1)) == ((2, 3), 6, 2, 3)
    assert v.d.dtype == v.g.dtype == np.float32 and not v.d.any() and not v.g.any()
    v.d = np.arange(6).reshape(2, 3)
    assert v.d.dtype == np.int64 and v.data.dtype == np.int64
    v.d[0, 0] = 7
    assert v.data.data[0, 0] == 7
    v.g = 2
    assert (v.grad.data == 2).all()
    w = nn.Variable.from_numpy_array([1, 2], [3.0, 4.0])
    assert w.d.dtype == np.int64 and w.g.tolist() == [3, 4] and w.g.dtype == np.float64
    assert nn.Variable.from_numpy_array(3).shape == ()
    with pytest.raises(AssertionError):
        nn.Variable.from_numpy_array([1, 2], [3])
    with pytest.raises(TypeError):
        v.data = np.zeros((2, 3))
    with pytest.raises(RuntimeError):
        v.data = nn.NdArray((2, 2))
    array = nn.NdArray((2, 3))
    v.grad = array
    array.fill(5)
    assert (v.g == 5).all()
    assert v.apply(persistent=True, name="v") is v and v.persistent and v.name == "v"
    with pytest.raises(AttributeError, match="presistent"):
        v.apply(presistent=True)


def test_equality_is_sharing_of_arrays():
    v, w = nn.Variable((2,)), nn.Variable((2,))
    u = v.get_unlinked_variable()
    assert v == u and hash(v) == hash(u) and v is not u and v != w
    assert u in {v} and w not in {v}
    with pytest.raises(TypeError):
        v == 3  # noqa: B015
    with pytest.raises(TypeError):
        v > w  # noqa: B015
    with pytest.raises(TypeError):
        len(v)
    assert bool(v)


def test_iteration_gives_rows():
    v = nn.Variable.from_numpy_array(np.arange(6.0).reshape(2, 3))
    rows = list(v)
    nn.forward_all(rows)
    assert [r.d.tolist() for r in rows] == [[0, 1, 2], [3, 4, 5]]
    assert list(nn.Variable(())) == []
    assert not hasattr(v, "__iter__")  # programs use it to distinguish lists from Variables


def test_reset_shape():
    v = leaf(1, 2, 3, 4)
    v.reset_shape((2, 2))
    assert v.shape == (2, 2) and v.d.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="force"):
        v.reset_shape((5,))
    data, view = v.data, v.data.view((4,))
    v.reset_shape((5,), True)
    assert v.d.tolist() == [0] * 5 and v.g.shape == (5,)
    assert v.data == data and data.shape == (5,) and view.data.tolist() == [1, 2, 3, 4]
    part = v.data.narrow(0, 0, 2)
    with pytest.raises(RuntimeError, match="shares"):
        v.reset_shape((6,), True)
    assert v.shape == (5,) and part.shape == (2,)


@pytest.mark.semantics("N13")
def test_graphs_follow_new_shapes():
    x = nn.Variable((2, 3), need_grad=True)
    h = x * 2
    y = F.sum(F.exp(h))
    for n in (2, 5, 1):
        x.reset_shape((n, 3), True)
        x.d = np.ones((n, 3))
        x.grad.zero()
        y.forward(clear_no_need_grad=True)
        y.backward(clear_buffer=True)
        assert h.shape == (n, 3)
        np.testing.assert_allclose(y.d, n * 3 * np.exp(2), rtol=1e-5)
        np.testing.assert_allclose(x.g, np.full((n, 3), 2 * np.exp(2)), rtol=1e-5)


def test_reshape():
    v = leaf(1, 2, 3, 4, 5, 6)
    y = v.reshape((2, 3))
    assert y.parent.info.type_name == "Reshape"
    y.forward()
    v.d = 4
    assert (y.d == 4).all()
    z = F.sum((v * 2).reshape((3, 2)) * 3)
    for options in ({"clear_buffer": True}, {"clear_no_need_grad": True}):
        z.forward(**options)
        assert z.d == 6 * 24
    v.d = np.full(6, 2.0)
    y.forward()
    assert v.d.dtype == np.float64 and (y.d == 2).all()
    v.reset_shape((3,), True)
    with pytest.raises(RuntimeError):
        y.forward()
    v.reset_shape((6,), True)
    u = v.reshape((3, 2), unlink=True)
    assert u.parent is None and u.need_grad and u != v
    v.d = np.arange(6)
    assert u.d.tolist() == [[0, 1], [2, 3], [4, 5]]
    u.grad.zero()
    assert v.grad.zeroing
    u.g[0] = 3
    assert v.g.tolist() == [3, 3, 0, 0, 0, 0]
    z = v * 2
    w = z.reshape((2, 3), unlink=True)
    z.forward()
    assert w.d.tolist() == [[0, 2, 4], [6, 8, 10]]
    v.d = 1
    z.forward()
    assert (w.d == 2).all()
    assert not z.apply(need_grad=False).reshape((6,), unlink=True).need_grad
    with pytest.raises(RuntimeError):
        v.reshape((5,), unlink=True)


# ---- need_grad and gradients ---------------------------------------------------------------------------------------
@pytest.mark.semantics("N12")
def test_need_grad():
    a, b, c = nn.Variable((2,)), nn.Variable((2,), need_grad=True), nn.Variable((2,), need_grad=False)
    assert [v.need_grad for v in (a, b, c)] == [False, True, False]
    assert (a + b).need_grad and not (a + c).need_grad
    assert PF.affine(nn.Variable((1, 2)), 3).need_grad
    assert not PF.affine(nn.Variable((1, 2)), 3, name="fixed", fix_parameters=True).need_grad
    y = a * 2
    z = y + 1
    a.need_grad = True
    a.grad.zero()
    z.forward()
    z.backward()
    assert y.need_grad and a.g.tolist() == [2, 2]


@pytest.mark.semantics("N12")
def test_need_grad_false_cuts():
    x, w = leaf(1, 2), leaf(3, 4)
    h = x * 5
    h.need_grad = False
    y = F.sum(h * w)
    x.g, w.g = 7, 0
    y.forward()
    y.backward()
    assert x.g.tolist() == [7, 7] and w.g.tolist() == [5, 10]
    h.need_grad = True
    y.forward()
    y.backward()
    assert x.g.tolist() == [7 + 15, 7 + 20]


@pytest.mark.semantics("N12")
def test_leaves_accumulate_and_the_rest_is_replaced():
    x = leaf(1, 2)
    h = x * 3
    y = F.sum(h * h)
    y.forward()
    x.grad.zero()
    for times in (1, 2, 3):
        y.backward()
        assert x.g.tolist() == [18 * times, 36 * times] and h.g.tolist() == [6, 12]
    x.g = 0
    y.backward()
    assert x.g.tolist() == [18, 36]
    x.g = [1, 2]
    y.backward()
    assert x.g.tolist() == [19, 38]
    solver = solvers.Sgd()
    solver.set_parameters({"x": x})
    solver.zero_grad()
    assert x.grad.zeroing
    y.backward()
    assert x.g.tolist() == [18, 36]


@pytest.mark.semantics("N12")
def test_one_leaf_twice():
    x = leaf(1, 2)
    for y in (x + x, F.mul2(x, x), x * 2 + x * 3):
        expected = np.ones(2) * 2 if y.parent.name == "Add2" else 2 * x.d
        if y.parent.inputs[0] != x:
            expected = np.ones(2) * 5
        x.grad.zero()
        y.forward()
        y.backward()
        np.testing.assert_allclose(x.g, expected)


@pytest.mark.semantics("N12")
def test_where_backward_starts_from():
    x = leaf(1, 2)
    y = x * 2
    y.forward()
    y.g = 5

    def gradient(*args):
        x.grad.zero()
        y.backward(*args)
        return x.g.tolist()

    assert gradient() == [2, 2]
    assert gradient(3) == [6, 6]
    assert gradient(np.array([1, 2])) == [2, 4]
    assert y.g.tolist() == [5, 5]  # the arguments did not change the gradient of y
    assert gradient(None) == [10, 10]
    assert gradient(nn.NdArray.from_numpy_array(np.array([1.0, 0.0]))) == [2, 0]
    with pytest.raises(RuntimeError, match=r"\(3,\)"):
        y.backward(np.zeros(3))
    for f in (x.forward, x.backward):
        with pytest.raises(RuntimeError, match="no parent"):
            f()


# ---- static graphs -------------------------------------------------------------------------------------------------
@pytest.mark.semantics("N13")
def test_nothing_runs_before_forward():
    ran = []

    class Spy(nn.function.PythonFunction):
        name = "Spy"

        def min_outputs(self):
            return 1

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            return False

        def setup_impl(self, inputs, outputs):
            ran.append("setup")
            outputs[0].reset_shape((3, 2), True)

        def forward_impl(self, inputs, outputs):
            ran.append("forward")
            outputs[0].data.copy_from(inputs[0].data)

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            ran.append("backward")

    x = nn.Variable.from_numpy_array(np.arange(6.0).reshape(3, 2))
    y = Spy(nn.Context())(x)
    z = y * 2
    assert (y.shape, z.shape, ran) == ((3, 2), (3, 2), ["setup"])
    assert not z.d.any()
    z.forward()
    assert ran == ["setup", "forward"] and z.d.tolist() == [[0, 2], [4, 6], [8, 10]]
    x.d = 1
    z.forward()
    assert (z.d == 2).all()
    with nn.auto_forward():
        ran.clear()
        y = Spy(nn.Context())(x)
        assert ran == ["setup", "forward"] and (y.d == 1).all()


@pytest.mark.semantics("N13")
def test_auto_forward():
    x = leaf(1, 2)
    with nn.auto_forward():
        y = x * 3
        assert y.d.tolist() == [3, 6]
        z = F.sum(y * y)
    x.d = np.array([2.0, 2.0])
    assert z.d == 45
    z.forward()
    assert z.d == 72
    x.grad.zero()
    z.backward()
    assert x.g.tolist() == [36, 36]


@pytest.mark.semantics("N13")
def test_clear_buffer():
    x = leaf(1, 2)
    a = F.exp(x)
    b = F.sin(a)
    c = b + 1
    y = F.sum(c)
    y.forward()
    assert not any(v.data.clear_called for v in (x, a, b, c, y))
    y.forward(clear_no_need_grad=True)  # backward of sin and of exp reads a
    assert [v.data.clear_called for v in (x, a, b, c, y)] == [False, False, True, True, False]
    x.grad.zero()
    y.backward(clear_buffer=True)
    np.testing.assert_allclose(x.g, np.cos(np.exp([1, 2])) * np.exp([1, 2]), rtol=1e-5)
    assert [v.data.clear_called for v in (x, a, b, c)] == [False, True, True, True]
    assert [v.grad.clear_called for v in (x, a, b, c)] == [False, True, True, True]
    y.forward(clear_buffer=True)
    assert [v.data.clear_called for v in (x, a, b, c, y)] == [False, True, True, True, False]
    b.persistent = True
    y.forward(clear_buffer=True)
    np.testing.assert_allclose(b.d, np.sin(np.exp([1, 2])), rtol=1e-5)
    y.forward(clear_no_need_grad=True)
    y.backward(clear_buffer=True)
    assert not b.data.clear_called and not b.grad.clear_called and c.data.clear_called
    np.testing.assert_allclose(b.g, [1, 1])


@pytest.mark.semantics("N13")
def test_a_second_backward_over_a_shared_part():
    x = leaf(1, 2)
    w = leaf(3, 4)
    h = x * 2
    y, z = F.sum(h * w), F.sum(h * w * w)
    nn.forward_all([y, z])
    w.grad.zero()
    y.backward(clear_buffer=True)
    assert w.g.tolist() == [2, 4]
    w.grad.zero()
    z.backward(clear_buffer=True)
    assert w.g.tolist() == [12, 32]


@pytest.mark.semantics("N13")
@pytest.mark.parametrize("options", [{}, {"clear_buffer": True}, {"clear_no_need_grad": True}])
def test_forward_all_shares_work(options):
    ran = []
    x = leaf(1, 2)
    h = F.exp(x)
    y, z = h + 1, h * 2
    nn.forward_all([y, z, h], function_pre_hook=lambda f: ran.append(f.name), **options)
    assert sorted(ran) == ["AddScalar", "Exp", "MulScalar"] and ran[0] == "Exp"
    e = np.exp(np.array([1, 2], np.float32))
    for v, expected in ((y, e + 1), (z, 2 * e), (h, e)):
        np.testing.assert_allclose(v.d, expected, rtol=1e-6)


@pytest.mark.semantics("N13")
def test_results_survive_hooks_and_order():
    seen = []
    x = leaf(1, 2)
    y = F.sum(F.sin(x * 2))
    y.forward(
        function_pre_hook=lambda f: seen.append(("before", f.name, f.outputs[0].d.any())),
        function_post_hook=lambda f: seen.append(("after", f.name)),
    )
    names = ["MulScalar", "Sin", "Sum"]
    assert [s[:2] for s in seen] == [(when, n) for n in names for when in ("before", "after")]
    seen.clear()
    y.backward(function_pre_hook=lambda f: seen.append(f.name))
    assert seen == names[::-1]
    seen.clear()
    y.visit(lambda f: seen.append(f.name))
    assert seen == names
    assert y.visit_check(lambda f: f.name == "Sin") and not y.visit_check(lambda f: False)


# ---- links ---------------------------------------------------------------------------------------------------------
def test_unlinked_variables():
    x = leaf(1, 2)
    h = x * 2
    u = h.get_unlinked_variable()
    assert u.parent is None and u.need_grad and h.get_unlinked_variable(need_grad=False).need_grad is False
    y = F.sum(u * u)
    h.forward()
    y.forward()
    assert y.d == 20
    x.g, u.g = 9, 0
    y.backward()
    assert u.g.tolist() == h.g.tolist() == [4, 8] and x.g.tolist() == [9, 9]
    x.grad.zero()
    h.backward(None)
    assert x.g.tolist() == [8, 16]


def test_rewire_on():
    x, a = leaf(1, 2), nn.Variable((2,))
    y = F.sum(a * 3)
    h = F.exp(x)
    a.rewire_on(h)
    assert h.parent is None and a.parent.name == "Exp"
    y.forward()
    np.testing.assert_allclose(y.d, 3 * np.exp([1, 2]).sum(), rtol=1e-6)
    x.grad.zero()
    y.backward()
    np.testing.assert_allclose(x.g, 3 * np.exp([1, 2]), rtol=1e-6)
    with pytest.raises(RuntimeError):
        a.rewire_on(nn.Variable((2,)))
    with pytest.raises(RuntimeError):
        nn.Variable((3,)).rewire_on(a)


def test_clear_all_graph_links():
    state = leaf(1, 2)
    total = 0
    x = nn.Variable.from_numpy_array(np.ones(2))
    for _ in range(3):
        state = state * x
        total = total + F.sum(state)
    total.forward()
    total.clear_all_graph_links()
    assert state.parent is None and total.parent is None and state.d.tolist() == [1, 2]
    y = F.sum(state * 2)
    y.forward()
    assert y.d == 6
    state.clear_all_graph_links()  # has no effect


def test_function_references():
    x = leaf(1, 2)
    assert x.function_references == []
    y, z = x + 1, x * 2
    assert y.parent in x.function_references and len(x.function_references) == 2
    del y
    gc.collect()
    assert [f.name for f in x.function_references] == ["MulScalar"]
    del z
    gc.collect()
    assert x.function_references == []


def test_no_grad_fixes_the_parameters():
    x = nn.Variable.from_numpy_array(np.array([[1.0, 2.0]]), need_grad=True)
    y = F.sum(F.exp(PF.affine(x, 3)) * 2)
    z = y.no_grad()
    w = nn.get_parameters()["affine/W"]
    assert z != y and w.need_grad
    y.forward()
    z.forward()
    assert z.d == y.d
    w.g, x.g = 3, 0
    z.backward()
    assert (w.g == 3).all() and x.g.any()
    y.backward()
    assert not (w.g == 3).all()


def test_names_reach_the_graph():
    y = F.sum(leaf(1, 2) * 2)
    y.visit(lambda f: [o.apply(name=f.name.lower()) for o in f.outputs])
    names = []
    y.visit(lambda f: names.extend(o.name for o in f.outputs))
    assert names == ["mulscalar", "sum"] and y.name == "sum"


class Parameter(nn.Variable):
    """A subclass that uses the Variable before `__init__` runs, as in published programs."""

    def __new__(cls, shape, need_grad=True):
        made = super().__new__(cls, shape, need_grad)
        made.d = np.ones(shape)
        return made

    def __init__(self, *args, **kwargs):
        super().__init__()


def test_subclasses_with_a_new_of_their_own():
    p = Parameter((2, 3))
    assert type(p) is Parameter and p.need_grad and p.d.sum() == 6
    y = F.sum(p * 2)
    p.grad.zero()
    y.forward()
    y.backward()
    assert p.g.tolist() == [[2.0] * 3] * 2
    assert nn.Variable.__new__(nn.Variable, (2, 3)).shape == nn.NdArray.__new__(nn.NdArray, (2, 3)).shape == (2, 3)


def test_initialising_again_changes_nothing():
    x = nn.Variable((2,), need_grad=True, info="one")
    x.d = [1, 2]
    x.__init__((3,))
    assert x.shape == (2,) and x.need_grad and x.info == "one" and x.d.tolist() == [1, 2]


def test_fills_by_a_mask():
    a = nn.NdArray.from_numpy_array(np.arange(4.0).reshape(2, 2))
    mask = nn.NdArray.from_numpy_array(np.eye(2))
    for fill in (a.bool_fill, a.masked_fill):
        fill(mask, value=7)
        assert a.data.tolist() == [[7, 1], [2, 7]]


def test_what_follows_a_rewired_variable_is_visited_before_it():
    """rewire_on must update the ranks of the functions that read the variable. Otherwise backward visits the new parent
    too early, with an incomplete gradient."""

    def graph():
        a, x = leaf(1, 2, 3), nn.Variable((3,), need_grad=True)
        out = F.sin(F.sin(x)) * x
        end = a
        for _ in range(6):
            end = F.tanh(end)
        x.rewire_on(end)
        return a, out

    t = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    end = t
    for _ in range(6):
        end = end.tanh()
    (end.sin().sin() * end).sum().backward()
    a, out = graph()
    out.forward()
    a.grad.zero()
    order = []
    out.backward(function_post_hook=lambda f: order.append(f.info.type_name))
    np.testing.assert_allclose(a.g, t.grad, rtol=1e-5)
    assert order == ["Mul2", "Sin", "Sin", *["Tanh"] * 6]
    a, out = graph()
    (g,) = nn.grad([out], [a])
    g.forward()
    np.testing.assert_allclose(g.d, t.grad, rtol=1e-5)


def test_a_rewired_graph_with_a_cycle_is_refused_by_grad_and_ends_in_passes():
    x, w = leaf(1, 2, 3), leaf(1, 1, 1)
    y = F.sin(x * w)
    x.rewire_on(y)
    out = F.tanh(x)
    with pytest.raises(RuntimeError, match="the graph has a cycle: "):
        nn.grad([out], [w])
    out.forward()
    out.backward()
