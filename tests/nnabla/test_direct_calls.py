"""Functions whose calls with plain arguments run in the compiled module: the graph, the values, the gradients and the
freed arrays are those of the bodies in Python."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import _C
from compatgrad.nnabla import parameter
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
