"""Symbols that spell out an LSTM's or GRU's gates run fused kernels; users see the operators that they wrote."""

import itertools
import json

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd
from compatgrad.mxnet.symbol._evaluate import plan
from tests.golden import mxnet_cells as golden

NUMBERS = np.load(golden.GOLDEN)
FUSED = {"lstm": 2, "gru": 2, "lstm_relu": 0, "lstmp": 2, "conv_lstm": 2, "conv_gru": 2, "stack": 4, "old_lstm": 2,
         "old_gru": 2}  # fmt: skip


def original(name):
    return mx.sym.load_json(str(NUMBERS[f"{name}/json"]))


def gates(symbol):
    return [g for _, g, _ in plan(symbol._outputs).steps if g is not None]


def composed(symbol):
    """A graph in which no gates are fused, because each inner node is an output too."""
    return mx.sym.Group([symbol, symbol.get_internals()])


@pytest.mark.parametrize("name", FUSED)
def test_graphs_of_the_original_run_the_fused_kernels(name):
    graph = original(name)
    assert len(gates(graph)) == FUSED[name]
    found = golden.run(mx, graph, name)
    assert set(found) == {k.split("/")[1] for k in NUMBERS.files if k.startswith(f"{name}/")} - {"json"}
    for key, value in found.items():
        np.testing.assert_allclose(value, NUMBERS[f"{name}/{key}"], rtol=1e-4, atol=3e-6, err_msg=key)


@pytest.mark.parametrize("name", golden.GLUON)
def test_symbols_of_cells_equal_the_originals(name):
    graph = golden.symbol(mx, name)
    assert len(gates(graph)) == FUSED[name]
    for key, value in golden.run(mx, graph, name).items():
        np.testing.assert_allclose(value, NUMBERS[f"{name}/{key}"], rtol=1e-4, atol=3e-6, err_msg=key)
    expected = original(name)
    assert graph.list_arguments() == expected.list_arguments() and graph.list_outputs() == expected.list_outputs()
    if name in ("lstm", "gru", "stack"):  # other cells: the original's counters of names differ beyond one step
        assert graph.get_internals().list_outputs() == expected.get_internals().list_outputs()


@pytest.mark.parametrize("name", golden.GLUON)
def test_running_a_graph_does_not_change_it(name):
    graph = golden.symbol(mx, name)
    before = graph.tojson()
    golden.run(mx, graph, name)
    assert graph.tojson() == before
    known = {n["op"] for n in json.loads(str(NUMBERS[f"{name}/json"]))["nodes"]}
    assert {n["op"] for n in json.loads(before)["nodes"]} <= known | {"sigmoid", "tanh", "Activation", "ones_like",
                                                                      "elemwise_sub"}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_recognised_gates_give_what_single_nodes_give(name, dtype):
    graph = original(name)
    plain = composed(graph)
    assert not gates(plain)
    tolerance = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-12}[dtype]
    found, expected = golden.run(mx, graph, name, dtype), run_composed(plain, graph, name, dtype)
    for key, value in found.items():
        assert value.dtype == np.dtype(dtype)
        np.testing.assert_allclose(value, expected[key], rtol=tolerance, atol=tolerance, err_msg=key)


def run_composed(plain, graph, name, dtype):
    n = len(graph.list_outputs())

    class Head:
        """The first outputs of `plain`, with the methods that golden.run calls."""

        def infer_shape(self, **given):
            return graph.infer_shape(**given)

        def list_arguments(self):
            return graph.list_arguments()

        def bind(self, ctx, args, grads):
            executor = plain.bind(ctx, args, grads)

            class Bound:
                def forward(self, is_train):
                    return executor.forward(is_train=is_train)[:n]

                def backward(self, out_grads):
                    rest = [mx.nd.zeros(y.shape, dtype=y.dtype) for y in executor.outputs[n:]]
                    executor.backward([*out_grads, *rest])

            return Bound()

    return golden.run(mx, Head(), name, dtype)


@pytest.mark.parametrize("name", ["lstm", "gru", "lstmp", "conv_lstm", "old_gru"])
def test_second_derivatives_in_graphs(name):
    graph = original(name)
    assert gates(graph)
    random = np.random.RandomState(5)
    shapes = dict(zip(graph.list_arguments(), graph.infer_shape(**golden.shapes(name))[0], strict=True))
    start = {n: mx.nd.array(random.uniform(-1, 1, s), dtype="float64") for n, s in shapes.items()}
    x = start["x0"]

    def penalty(z):
        z.attach_grad()
        with autograd.record():
            y = graph.eval_imperative({**start, "x0": z})[0]
            (g,) = autograd.grad((y * y).sum(), [z], create_graph=True)
            return (g * g).sum()

    penalty(x).backward()
    for k in list(np.ndindex(*x.shape))[:6]:
        ends = []
        for step in (1e-5, -1e-5):
            a = x.asnumpy()
            a[k] += step
            ends.append(penalty(mx.nd.array(a, dtype="float64")).asscalar())
        np.testing.assert_allclose(x.grad.asnumpy()[k], (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-7)


def test_gates_and_operands_in_any_order():
    x, c = mx.sym.Variable("x"), mx.sym.Variable("c")
    arrays = {"x": mx.nd.random.uniform(-1, 1, (2, 12)), "c": mx.nd.random.uniform(-1, 1, (2, 3))}
    for order in ((0, 1, 2, 3), (3, 1, 0, 2), (2, 0, 3, 1)):
        cut = mx.sym.SliceChannel(x, num_outputs=4)
        i, f, g, o = (cut[k] for k in order)
        new = mx.sym.tanh(g) * mx.sym.sigmoid(i) + c * mx.sym.sigmoid(f)
        graph = mx.sym.Group([mx.sym.tanh(new) * mx.sym.sigmoid(o), new])
        assert len(gates(graph)) == 1
        for a, b in zip(graph.eval_imperative(arrays), composed(graph).eval_imperative(arrays)[:2], strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def variants():
    """Graphs that are no step of a cell, or of which another operator reads an intermediate result."""
    x, c = mx.sym.Variable("x"), mx.sym.Variable("c")
    cut = mx.sym.SliceChannel(x, num_outputs=4)

    def step(i=0, f=1, g=2, o=3, enter=mx.sym.sigmoid, cut=cut):
        new = mx.sym.sigmoid(cut[f]) * c + enter(cut[i]) * mx.sym.tanh(cut[g])
        return mx.sym.sigmoid(cut[o]) * mx.sym.tanh(new), new

    gate = mx.sym.sigmoid(cut[0])
    new = mx.sym.sigmoid(cut[1]) * c + gate * mx.sym.tanh(cut[2])
    yield "one gate twice", mx.sym.Group(list(step(i=3)))
    yield "another activation", mx.sym.Group(list(step(enter=mx.sym.tanh)))
    yield "a gate is read elsewhere", mx.sym.Group([mx.sym.sigmoid(cut[3]) * mx.sym.tanh(new), gate])
    yield (
        "the gates' input is cut along the first axis",
        mx.sym.Group(list(step(cut=mx.sym.SliceChannel(x, num_outputs=4, axis=0)))),
    )
    yield "squeezed", mx.sym.Group(list(step(cut=mx.sym.SliceChannel(x, num_outputs=4, squeeze_axis=True))))


@pytest.mark.parametrize(("name", "graph"), list(variants()))
def test_graphs_without_recognised_gates(name, graph):
    assert not gates(graph)


def test_shapes_that_the_operator_does_not_take_run_node_by_node():
    x, c = mx.sym.Variable("x"), mx.sym.Variable("c")
    cut = mx.sym.SliceChannel(x, num_outputs=4)
    new = mx.sym.broadcast_add(
        mx.sym.broadcast_mul(mx.sym.sigmoid(cut[1]), c), mx.sym.sigmoid(cut[0]) * mx.sym.tanh(cut[2])
    )
    graph = mx.sym.Group([mx.sym.sigmoid(cut[3]) * mx.sym.tanh(new), new])
    assert len(gates(graph)) == 1
    arrays = {"x": mx.nd.random.uniform(-1, 1, (2, 12)), "c": mx.nd.random.uniform(-1, 1, (1, 3))}  # c is broadcast
    for a, b in zip(graph.eval_imperative(arrays), composed(graph).eval_imperative(arrays)[:2], strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


def test_a_composed_symbol_is_planned_anew():
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    graph = x * 2
    arrays = {"x": mx.nd.ones((2,)), "y": mx.nd.ones((2,)) * 5}
    assert graph.eval_imperative(arrays)[0].asnumpy().tolist() == [2, 2]
    graph._compose(x=y + 1)
    assert graph.eval_imperative(arrays)[0].asnumpy().tolist() == [12, 12]


def test_hybridized_cells_use_the_gates_too():
    cell = mx.gluon.rnn.LSTMCell(4, input_size=3)
    cell.initialize()
    cell.hybridize()
    x, states = mx.nd.ones((2, 3)), cell.begin_state(2)
    x.attach_grad()
    with autograd.record():
        y, _ = cell(x, states)
    names = set()
    waiting = [y.node.creator_node]
    while waiting:
        node = waiting.pop()
        names.add(node.op_name)
        waiting += [i.creator_node for i in node.inputs if i is not None and i.creator_node is not None]
    assert "lstm" in names and "sigmoid" not in names


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell"])
def test_the_history_of_a_cell_is_written_in_the_originals_operators(kind):
    cell = getattr(mx.gluon.rnn, kind)(4, input_size=3)
    cell.initialize(mx.init.Uniform(0.5))
    x, states = mx.nd.random.uniform(-1, 1, (2, 3)), [mx.nd.random.uniform(-1, 1, (2, 4)) for _ in cell.begin_state(2)]
    for a in (x, *states):
        a.attach_grad()
    with autograd.record():
        y, _ = cell(x, states)
    graph = autograd.get_symbol(y)
    known = {"FullyConnected", "SliceChannel", "sigmoid", "tanh", "null"}
    used = {n["op"] for n in json.loads(graph.tojson())["nodes"]}
    assert used - {"elemwise_add", "elemwise_mul", "elemwise_sub", "broadcast_add"} == known
    assert len(gates(mx.sym.load_json(graph.tojson()))) == 1
    values = [x, *states, *(p.data() for p in cell.collect_params().values())]
    # the names of arguments do not tell which array belongs to which
    for chosen in itertools.permutations(values, len(graph.list_arguments())):
        try:
            (found,) = graph.eval_imperative(dict(zip(graph.list_arguments(), chosen, strict=True)))
        except mx.MXNetError:
            continue
        if found.shape == y.shape and np.allclose(found.asnumpy(), y.asnumpy(), atol=1e-6):
            return
    raise AssertionError("no arguments give the cell's output")


@pytest.fixture
def lstm():
    cell = mx.gluon.rnn.LSTMCell(4, input_size=3)
    cell.initialize(mx.init.Uniform(0.5))
    return cell


def trained(cell, x, states):
    """Output, states and gradients of a step."""
    arrays = [x, *states]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y, after = cell(x, states)
        (y * y + after[1]).backward()
    parameters = cell.collect_params().values()
    return [a.asnumpy() for a in (y, *after, *(a.grad for a in arrays), *(p.grad() for p in parameters))]


def test_a_step_is_the_same_with_and_without_calls_of_operators(lstm, monkeypatch):
    x, states = mx.nd.random.uniform(-1, 1, (2, 3)), [mx.nd.random.uniform(-1, 1, (2, 4)) for _ in range(2)]
    together = trained(lstm, x, states)
    called = []
    plain = mx.nd.FullyConnected
    monkeypatch.setattr(mx.nd, "FullyConnected", lambda *args, **options: called.append(1) or plain(*args, **options))
    apart = trained(lstm, x, states)
    assert len(called) == 2  # of a program's own function
    for a, b in zip(together, apart, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_a_program_replaces_in_a_cell_is_called(lstm, monkeypatch):
    x, states = mx.nd.ones((2, 3)), lstm.begin_state(2)
    monkeypatch.setattr(lstm, "hybrid_forward", lambda F, x, states, **weights: ("own", states), raising=False)
    assert lstm(x, states)[0] == "own"
    monkeypatch.undo()
    seen = []
    handle = lstm.register_forward_hook(lambda block, given, out: seen.append(out))
    out = lstm(x, states)
    assert seen == [out]
    handle.detach()

    class Doubled(mx.gluon.rnn.LSTMCell):
        def hybrid_forward(self, F, inputs, states, **weights):
            out, after = super().hybrid_forward(F, inputs, states, **weights)
            return out * 2, after

    cell = Doubled(4, input_size=3, params=lstm.params)
    np.testing.assert_array_equal(cell(x, states)[0].asnumpy(), 2 * lstm(x, states)[0].asnumpy())


def test_arrays_that_do_not_fit_a_cell_have_the_operators_errors(lstm):
    states = lstm.begin_state(2)
    for x, s in ((mx.nd.ones((2, 5)), states), (mx.nd.ones((2, 3)), [mx.nd.ones((2, 5))] * 2)):
        with pytest.raises(mx.MXNetError):
            lstm(x, s)
    with pytest.raises(mx.MXNetError):
        lstm(mx.nd.ones((2, 3), dtype="float64"), states)
    symbols, _ = lstm(mx.sym.var("x"), [mx.sym.var("h"), mx.sym.var("c")])
    assert isinstance(symbols, mx.sym.Symbol)


class Scaled(mx.gluon.HybridBlock):
    """Counts how its functions are called."""

    def __init__(self):
        super().__init__()
        self.factor = self.params.get("factor", shape=(1,), init="ones")
        self.calls = []

    def hybrid_forward(self, F, x, other=None, factor=None):
        self.calls.append((F is mx.nd, other, type(factor).__name__))
        return x * 2


def test_blocks_get_their_parameters_and_operators():
    block = Scaled()
    block.initialize()
    x = mx.nd.ones((2,))
    block(x)
    block(x, 7)
    assert block.calls == [(True, None, "NDArray"), (True, 7, "NDArray")]
    block(mx.sym.var("x"))
    assert block.calls[-1][0] is False
    with pytest.raises(TypeError):
        block()


def test_a_forward_that_a_program_sets_is_called():
    block = Scaled()
    block.initialize()
    x = mx.nd.ones((2,))
    block.forward = lambda x: "own"
    assert block(x) == "own" and not block.calls
    del block.forward
    assert block(x).asnumpy().tolist() == [2, 2]


def test_uninitialised_blocks_say_so():
    with pytest.raises(RuntimeError, match="has not been initialized"):
        Scaled()(mx.nd.ones((2,)))
