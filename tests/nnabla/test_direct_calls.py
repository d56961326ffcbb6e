"""Functions whose calls with plain arguments run in the compiled module: the graph, the values, the gradients and the
freed arrays are those of the bodies in Python."""

import gc

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import _C
from compatgrad.nnabla import parameter
from compatgrad.nnabla.function import PythonFunction
from compatgrad.nnabla.functions import reduction
from compatgrad.nnabla.initializer import UniformInitializer
from compatgrad.nnabla.parametric_functions import recurrent


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def drawn(*shape, seed=0):
    array = np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)
    return nn.Variable.from_numpy_array(array, need_grad=True)


def labels(*values):
    return nn.Variable.from_numpy_array(np.array(values, np.int32).reshape(-1, 1))


class Bodies:
    """The compiled module without chains."""

    def __getattr__(self, name):
        return (lambda *args: None) if name == "run_chain" else getattr(_C, name)


def lstm():
    h = c = drawn(3, 6, seed=1)
    init = UniformInitializer((-1, 1), rng=np.random.RandomState(2))
    with nn.parameter_scope("net"):
        for k in range(3):
            h, c = PF.lstm_cell(drawn(3, 5, seed=3 + k), h, c, 6, w_init=init, name="cell")
    return F.sum(h * h) + F.sum(c)


CASES = {
    "lstm_cell": lstm,
    "affine": lambda: F.affine(drawn(3, 4), drawn(4, 2, seed=1), drawn(2, seed=2)),
    "relu": lambda: F.relu(drawn(3, 4)),
    "sigmoid": lambda: F.sigmoid(drawn(3, 4)),
    "tanh": lambda: F.tanh(drawn(3, 4)),
    "exp": lambda: F.exp(drawn(3, 4)),
    "embed": lambda: F.embed(labels(2, 0, 2), drawn(3, 4)),
    "softmax_cross_entropy": lambda: F.softmax_cross_entropy(drawn(3, 4), labels(1, 3, 0)),
    "mean": lambda: F.mean(drawn(3, 4)),
    "sum": lambda: F.sum(drawn(3, 4)),
}


def outcome(case, auto):
    nn.clear_parameters()
    with nn.auto_forward(auto):
        y = CASES[case]()
    functions, inputs = [], {}

    def see(f):
        functions.append((f.info.type_name, f.info.args, [x.shape for x in f.inputs], [y.shape for y in f.outputs]))
        inputs.update({id(x.data): x for x in f.inputs if x.parent is None and x.need_grad})

    y.visit(see)
    freed = []
    if not auto:
        y.forward(clear_no_need_grad=True)
    y.visit(lambda f: freed.append([x.data.clear_called for x in f.outputs]))
    for x in inputs.values():
        x.g = 0
    y.backward(clear_buffer=True)
    return functions, freed, y.d.copy(), [x.g.copy() for x in inputs.values()]


@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_the_bodies(case, auto, monkeypatch):
    direct = outcome(case, auto)
    for module in (recurrent, reduction):
        monkeypatch.setattr(module, "_C", Bodies())
    for f in (F.affine, F.relu, F.sigmoid, F.tanh, F.exp, F.embed, F.softmax_cross_entropy):
        assert f.__globals__["_run_chain"] is _C.run_chain  # what the function calls
        monkeypatch.setitem(f.__globals__, "_run_chain", lambda *args: None)
    by_bodies = outcome(case, auto)
    assert direct[:2] == by_bodies[:2] and len(direct[0]) > 0
    np.testing.assert_array_equal(direct[2], by_bodies[2])
    assert len(direct[3]) == len(by_bodies[3]) > 0
    for g, expected in zip(direct[3], by_bodies[3], strict=True):
        np.testing.assert_array_equal(g, expected)


def test_arguments_of_functions_are_their_own():
    first, second = F.sum(drawn(3, 4)), F.sum(drawn(3, 4))
    first.parent.info.args["axes"].append(7)
    assert second.parent.info.args == {"axes": [0, 1], "keep_dims": False}


def test_errors_are_those_of_the_bodies():
    with pytest.raises(RuntimeError, match="dimension of axis 1 of inputs"):
        F.softmax_cross_entropy(drawn(3, 4), nn.Variable((3, 2)))
    with pytest.raises(RuntimeError):
        F.affine(drawn(3, 4), drawn(5, 2))
    with pytest.raises(TypeError, match="relu: x: expected a Variable or an NdArray, got float"):
        F.relu(1.0)


def test_layers_find_their_scopes():
    x = drawn(2, 3)
    for _ in range(2):  # the parameters exist in the second round
        PF.affine(x, 4, name="a/b")
        PF.affine(x, 4, name="c")
        PF.affine(x, 4)
    assert list(nn.get_parameters()) == [f"{s}affine/{n}" for s in ("a/b/", "c/", "") for n in "Wb"]
    y = PF.affine(x, 4, name="c")
    assert [v.name for v in y.parent.inputs[1:]] == ["W", "b"]
    with nn.no_grad():
        assert not any(v.need_grad for v in PF.affine(x, 4, name="c").parent.inputs[1:])
    assert not any(v.need_grad for v in PF.affine(x, 4, fix_parameters=True).parent.inputs[1:])
    with pytest.raises(ValueError, match="'c/affine/W' has shape"):
        PF.affine(x, 5, name="c")
    assert parameter.current_scope is parameter.root_scope
    nn.clear_parameters()
    PF.affine(x, 5, name="c")
    assert nn.get_parameters()["c/affine/W"].shape == (3, 5)


@pytest.mark.parametrize(
    ("module", "name"), [*((F, n) for n in ("concatenate", "split", "sigmoid", "tanh")), (PF, "affine")]
)
def test_lstm_cells_call_functions_that_a_program_has_replaced(module, name, monkeypatch):
    x, h, c = drawn(2, 4), drawn(2, 3, seed=1), drawn(2, 3, seed=2)
    PF.lstm_cell(x, h, c, 3)
    own, calls = getattr(module, name), []

    def replaced(*args, **kwargs):
        calls.append(name)
        return own(*args, **kwargs)

    monkeypatch.setattr(module, name, replaced)
    PF.lstm_cell(x, h, c, 3)
    assert calls == [name] * {"sigmoid": 3, "tanh": 2}.get(name, 1)


@pytest.mark.parametrize("wrong", [None, "1", nn.Variable((2, 3)), nn.NdArray((2, 3)), [1]])
def test_an_argument_too_many_is_refused(wrong):
    """It comes in the place of `n_outputs`."""
    x = drawn(2, 3)
    calls = (
        lambda: F.exp(x, wrong), lambda: F.relu(x, False, wrong), lambda: F.identity(nn.NdArray((2, 3)), wrong),
        lambda: F.mul2(x, x, False, wrong), lambda: F.softmax(x, 1, wrong), lambda: F.affine(x, x, x, 1, wrong),
        lambda: F.concatenate(x, x, n_outputs=wrong), lambda: F.prelu(x, x, 1, wrong),
        lambda: F.transpose(x, (1, 0), wrong),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="an integer is required"):
            call()
    for n in (1, -1, True, 1.0, np.int64(1), np.array(1)):  # nnabla reads these as integers
        assert F.exp(x, n).shape == (2, 3)


# ---- one op in place of the functions of a cell ----


def cells(length=3):
    """The outputs of some steps of an LSTM, the last cell, and the inputs."""
    nn.clear_parameters()
    init = UniformInitializer((-1, 1), rng=np.random.RandomState(2))
    first = h = c = drawn(3, 6, seed=1)
    xs, outs = [drawn(3, 5, seed=3 + k) for k in range(length)], []
    for x in xs:
        h, c = PF.lstm_cell(x, h, c, 6, w_init=init)
        outs.append(h)
    return outs, c, [first, *xs, *nn.get_parameters().values()]


def names(y):
    found = []
    y.visit(lambda f: found.append(f.info.type_name))
    return found


GATES = ["Split", "Sigmoid", "Sigmoid", "Mul2", "Sigmoid", "Tanh", "Mul2", "Add2", "Tanh", "Mul2"]  # of the last h


def gradients(outs, c, inputs, look=None, **options):
    for v in inputs:
        v.g = 0
    loss = F.sum(F.concatenate(*outs, axis=1) ** 2) + F.sum(c)
    if look is not None:
        look(outs, c)
    loss.backward(**options)
    return [loss.d.copy(), *(v.g.copy() for v in inputs)]


LOOKS = {
    "parent": lambda outs, c: outs[1].parent,
    "inside": lambda outs, c: outs[-1].parent.inputs[0].parent.inputs[0].parent,
    "visit": lambda outs, c: names(c),
    "users": lambda outs, c: outs[0].function_references,
    "creator": lambda outs, c: c.creator_node,
}


@pytest.mark.parametrize("clear", [False, True])
@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_the_graph_changes_no_number(look, clear):
    with nn.auto_forward():
        unseen = gradients(*cells(), clear_buffer=clear)
        seen = gradients(*cells(), look=LOOKS[look], clear_buffer=clear)
    for a, b in zip(unseen, seen, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_graph_is_that_of_the_functions():
    with nn.auto_forward():
        outs, c, _ = cells()
        assert names(outs[-1]) == (["Concatenate", "Affine", *GATES] * 3)
        assert [f.info.type_name for f in outs[0].function_references] == ["Concatenate"]
        h = outs[-1]
        assert h.parent.outputs[0] == h and c.parent.outputs[0] == c
        assert [x.shape for x in h.parent.inputs] == [(3, 6), (3, 6)]
        ranks = [f.rank for f in (h.parent, h.parent.inputs[1].parent, c.parent)]
        assert ranks[0] > ranks[1] > ranks[2]


def test_hooks_see_the_functions():
    with nn.auto_forward():
        outs, c, inputs = cells()
        seen = []
        F.sum(outs[-1]).backward(function_pre_hook=lambda f: seen.append(f.info.type_name))
    assert seen.count("Sigmoid") == 9 and seen.count("Tanh") == 6 and seen.count("Split") == 3


def test_gradients_of_gradients_of_cells():
    def second():
        outs, c, inputs = cells(2)
        (g,) = nn.grad([F.sum(outs[-1] ** 2)], [inputs[1]])
        for v in inputs:
            v.g = 0
        F.sum(g * g).backward()
        return [g.d.copy(), *(v.g.copy() for v in inputs)]

    with nn.auto_forward():
        found = second()
    outs, c, inputs = cells(2)
    (g,) = nn.grad([F.sum(outs[-1] ** 2)], [inputs[1]])
    loss = F.sum(g * g)
    loss.forward()
    for v in inputs:
        v.g = 0
    loss.backward()
    for a, b in zip(found, [g.d, *(v.g for v in inputs)], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


def test_a_graph_can_run_again_and_be_looked_at_after_its_backward():
    with nn.auto_forward():
        outs, c, inputs = cells()
        y = F.sum(outs[-1])
        first = y.d.copy()
        inputs[1].d *= 2
        y.forward()
        assert not np.array_equal(first, y.d)
        again = y.d.copy()
        names(y)
        y.forward()
        np.testing.assert_array_equal(again, y.d)
        y.backward(clear_buffer=True)
        assert names(y) == [*(["Concatenate", "Affine", *GATES] * 3), "Sum"]

        outs, c, inputs = cells()
        y = F.sum(outs[-1])
        y.backward(clear_buffer=True)  # what the cells have read is freed
        assert names(y) == [*(["Concatenate", "Affine", *GATES] * 3), "Sum"]
        y.forward()
        np.testing.assert_array_equal(y.d, F.sum(cells()[0][-1]).d)


def test_cells_that_are_dropped_leave_nothing_behind():
    with nn.auto_forward():
        outs, c, _ = cells()
        kept = outs[1]
        del outs, c
        assert names(kept) == ["Concatenate", "Affine", *GATES] * 2
        outs, c, _ = cells()
        c.parent = None
        assert names(outs[-1])[-1] == "Mul2" and c.parent is None


def test_what_a_program_writes_into_outputs_changes_no_gradient():
    def trained(look):
        outs, c, inputs = cells(1)
        y = F.sum(outs[0]) + F.sum(c)
        c.d = 7
        if look:
            assert c.parent is not None and (c.d == 7).all()
        for v in inputs:
            v.g = 0
        y.backward()
        return [v.g.copy() for v in inputs]

    with nn.auto_forward():
        for a, b in zip(trained(False), trained(True), strict=True):
            np.testing.assert_array_equal(a, b)


def written(look=False):
    """Gradients if a program writes into the memory of all steps before backward."""
    steps = [(drawn(3, 6, seed=1), drawn(3, 6, seed=9))]
    init = UniformInitializer((-1, 1), rng=np.random.RandomState(2))
    nn.clear_parameters()
    for k in range(3):
        steps.append(PF.lstm_cell(drawn(3, 5, seed=3 + k), *steps[-1], 6, w_init=init))
    inputs = [*steps[0], *nn.get_parameters().values()]
    y = F.sum(steps[-1][0] ** 2) + F.sum(steps[1][0])
    if not nn.get_auto_forward():
        y.forward()
    for v in inputs:
        v.g = 0
    for k, (_, c) in enumerate(steps):
        c.d[...] = k - 0.5
    if look:
        assert len(names(y)) == 40
    y.backward()
    return [v.g.copy() for v in inputs]


@pytest.mark.parametrize("look", [False, True])
def test_gradients_after_a_program_wrote_into_the_memory_of_a_cell(look):
    with nn.auto_forward():
        found = written(look)
    for a, b in zip(found, written(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_states_of_other_shapes_are_those_of_the_functions():
    with nn.auto_forward():
        x, h, c = drawn(3, 5), drawn(3, 6, seed=1), drawn(1, 6, seed=2)
        y, cell = PF.lstm_cell(x, h, c, 6)  # the memory of one sample for all
        assert y.shape == cell.shape == (3, 6)
    z, _ = PF.lstm_cell(x, h, c, 6)
    z.forward()
    np.testing.assert_array_equal(y.d, z.d)


def test_without_gradients_there_is_no_graph():
    with nn.auto_forward(), nn.no_grad():
        outs, c, _ = cells()
        assert outs[-1].parent is None
    with nn.auto_forward():
        np.testing.assert_array_equal(outs[-1].d, cells()[0][-1].d)


class Looks(PythonFunction):
    """The identity; its backward looks at cells of a graph that was made before the pass, and of one of its own."""

    def __init__(self, before):
        super().__init__()
        self.before, self.seen = before, []

    @property
    def name(self):
        return "Looks"

    def min_outputs(self):
        return 1

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return False

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        outputs[0].data.copy_from(inputs[0].data)

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        inputs[0].g = outputs[0].g
        made = PF.lstm_cell(drawn(3, 5), drawn(3, 6), drawn(3, 6), 6, name="own")[0]
        self.seen = [self.before.parent.name, made.parent.name]


def test_functions_look_at_cells_while_a_pass_runs():
    def trained(function):
        outs, c, inputs = cells(1)
        for v in inputs:
            v.g = 0
        F.sum(function(outs[0])).backward()
        return [v.g.copy() for v in inputs]

    with nn.auto_forward():
        looks = Looks(cells(2)[0][-1])
        for a, b in zip(trained(looks), trained(F.identity), strict=True):
            np.testing.assert_array_equal(a, b)
    assert looks.seen[0] in ("Mul2", "LstmParts") and looks.seen[1] == "Mul2"


def test_a_finalizer_looks_at_cells_while_their_functions_are_put_back():
    """Another thread can do so, too. The second look found the op without its description: SystemError."""
    with nn.auto_forward():
        outs, _, _ = cells()
        errors, last = [], outs[-1]

        def look(phase, info):
            try:
                [y.parent.name for y in outs]
            except Exception as e:  # Python would print it and go on
                errors.append(e)

        thresholds = gc.get_threshold()
        gc.callbacks.append(look)
        try:
            gc.set_threshold(1)
            last.parent  # noqa: B018
        finally:
            gc.set_threshold(*thresholds)
            gc.callbacks.remove(look)
        assert not errors and names(outs[-1]) == ["Concatenate", "Affine", *GATES] * 3
