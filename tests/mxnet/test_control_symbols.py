"""Loops and branches as symbols: shapes, values, gradients, files (expected values from MXNet 1.9.1)."""

import json

import numpy as np
import pytest

import compatgrad.mxnet as mx

S = mx.sym
C = S.contrib
ARRAYS = {
    "d": np.arange(6).reshape(3, 2) / 6, "s": np.ones(2), "w": np.array([[0.1, 0.2], [0.3, 0.4]]), "i": np.zeros(1),
    "a": np.ones(1), "nd": np.arange(6).reshape(2, 3) / 4, "ns": np.ones(3),
}  # fmt: skip


def build():
    d, w = S.Variable("d"), S.Variable("w")

    def step(x, states):
        hidden = x + states[0]
        return S.FullyConnected(hidden, w, num_hidden=2, no_bias=True, flatten=False) * 2, [hidden]

    def nested(x, states):
        y, last = C.foreach(
            lambda e, t: (e * t[0] + states[0].sum(), [t[0] + e]), x, [states[0].slice_axis(axis=0, begin=0, end=1)]
        )
        return y, [S.broadcast_add(states[0], last[0])]

    each, (last,) = C.foreach(step, d, [S.Variable("s")])
    (loop,), ends = C.while_loop(
        lambda i, a: i < 3, lambda i, a: ([a * i], [i + 1, a + w.sum()]), [S.Variable("i"), S.Variable("a")], 5
    )
    branch = C.cond(S.sum(d) > 0, lambda: [S.broadcast_add(S.exp(d), w.sum()), d * 2], lambda: [d - 1, d * 3])
    deep, (deepest,) = C.foreach(nested, S.Variable("nd"), [S.Variable("ns")])
    return S.Group([each, last, loop, *ends, *branch, deep, deepest])


def run(graph):
    args = {k: mx.nd.array(ARRAYS[k]) for k in graph.list_arguments()}
    grads = {k: mx.nd.zeros(x.shape) for k, x in args.items()}
    e = graph.bind(mx.cpu(), args, grads)
    outputs = e.forward(is_train=True)
    e.backward([mx.nd.ones_like(y) for y in outputs])
    return [y.asnumpy() for y in outputs], {k: g.asnumpy() for k, g in grads.items()}


def check(graph):
    outputs, grads = run(graph)
    expected = [
        [[0.6667, 1.5333], [0.9333, 2.1333], [1.4, 3.2]], [2.0, 2.5], [[0], [2], [6], [0], [0]], [3], [4],
        [[2, 2.1814], [2.3956, 2.6487], [2.9477, 3.301]], [[0, 0.3333], [0.6667, 1], [1.3333, 1.6667]],
        [[[3], [3.25], [3.625]], [[10.3125], [11.75], [13.875]]], [8.5, 8.5, 8.5],
    ]  # fmt: skip
    for y, e in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(y, e, atol=1e-4)
    expected = {
        "d": [[6.4, 7.7814], [5.9956, 7.0487], [5.7477, 6.501]], "s": [3.4, 4.6], "w": [[22.6667, 24.6667]] * 2,
        "i": [7], "a": [4], "nd": [[19.75, 19.5, 19.25], [8, 7.75, 7.5]], "ns": [31.75, 7, 7],
    }  # fmt: skip
    for k, e in expected.items():
        np.testing.assert_allclose(grads[k], e, atol=1e-4)


def test_shapes_values_and_gradients():
    graph = build()
    assert graph.list_arguments() == list(ARRAYS)
    shapes = graph.infer_shape(**{k: v.shape for k, v in ARRAYS.items()})[1]
    assert shapes == [(3, 2), (2,), (5, 1), (1,), (1,), (3, 2), (3, 2), (2, 3, 1), (3,)]
    check(graph)


def test_files_hold_the_graphs():
    text = build().tojson()
    nodes = {n["name"]: n for n in json.loads(text)["nodes"]}
    loop = next(n for n in nodes.values() if n["op"] == "_while_loop")
    assert len(loop["subgraphs"]) == 2 and loop["attrs"]["func_var_locs"] == "[1, 0]"
    assert loop["attrs"]["num_args"] == "5"
    again = S.load_json(text)
    assert again.tojson() == text
    check(again)
    check(again.__copy__())


def test_parameters_inside_get_their_shapes_and_states_are_states():
    def step(x, states):
        y = S.BatchNorm(S.FullyConnected(x, num_hidden=3, name="fc"), name="bn")
        return y, [states[0] + y]

    y, _ = C.foreach(step, S.Variable("d"), [S.Variable("s")])
    assert y.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    shapes = dict(zip(y.list_arguments(), y.infer_shape(d=(5, 2, 4))[0], strict=True))
    assert shapes["fc_weight"] == (3, 4) and shapes["s"] == (2, 3)
    e = y.simple_bind(mx.cpu(), d=(5, 2, 4))
    e.arg_dict["fc_weight"][:] = 1
    e.arg_dict["d"][:] = mx.nd.random.normal(shape=(5, 2, 4))
    e.forward(is_train=True)
    e.backward(mx.nd.ones(e.outputs[0].shape))
    assert e.aux_dict["bn_moving_mean"].asnumpy().any()
    unknown, _ = C.foreach(lambda x, s: (x + s[0], [s[0] * 2]), S.Variable("d", shape=(0, 3, 4)), [S.Variable("s")])
    assert unknown.infer_shape_partial()[1] == [(0, 3, 4)]


def test_blocks_with_loops_are_exported(tmp_path):
    class Sums(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            first = F.zeros_like(F.slice_axis(x, axis=0, begin=0, end=1).reshape((-1,)))
            return F.contrib.foreach(lambda a, s: (a + s, a + s), x, first, name="sums")[0]

    net = Sums()
    net.hybridize()
    x = mx.nd.ones((3, 2))
    expected = net(x).asnumpy()
    net.export(str(tmp_path / "sums"))
    again = mx.gluon.SymbolBlock.imports(str(tmp_path / "sums-symbol.json"), ["data"], None)
    assert (again(x).asnumpy() == expected).all() and expected[-1].tolist() == [3, 3]


def test_a_loop_without_steps_gives_zeros():
    (y,), last = C.while_loop(lambda i: i < 0, lambda i: ([i * 2], [i + 1]), [S.Variable("i")], max_iterations=3)
    e = S.Group([y, last[0]]).bind(mx.cpu(), {"i": mx.nd.array([5.0])})
    assert [v.asnumpy().tolist() for v in e.forward()] == [[[0], [0], [0]], [5]]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: C.foreach(lambda a, s: (s[0], s), x, [x]), AssertionError, "data arrays have to be used"),
        (lambda x: C.foreach(lambda a, s: (a, [a]), x, [x]), AssertionError, "state arrays have to be used"),
        (lambda x: C.foreach(lambda a, s: (a, [s[0], a]), x, [x]), AssertionError, "different format"),
        (lambda x: C.foreach(lambda a, s: (a, s), 3, [x]), AssertionError, "must be a symbol"),
        (lambda x: C.while_loop(lambda i: i < 3, lambda i: ([], [i]), [x]), ValueError, "max_iterations"),
        (lambda x: C.while_loop(lambda i: True, lambda i: ([], [i]), [x], 3), ValueError, "must be a Symbol"),
        (lambda x: C.while_loop(lambda i: i < 3, lambda i: ([], []), [x], 3), ValueError, "consistent"),
        (lambda x: C.while_loop(lambda i: i < 3, lambda i: ([], [x]), [x], 3), ValueError, "1-th loop_var"),
        (lambda x: C.cond(x, lambda: [x, x], lambda: [x]), ValueError, "Number of outputs differs"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call(S.Variable("x"))


def test_graphs_of_other_backends_are_refused_by_operator():
    """An example is the attention that oneDNN fuses."""
    inner = {"nodes": [{"op": "null", "name": "data", "inputs": []},
                       {"op": "relu", "name": "r", "inputs": [[0, 0, 0]]}],
             "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]]}  # fmt: skip
    graph = {"nodes": [{"op": "null", "name": "data", "inputs": []},
                       {"op": "_sg_mkldnn_selfatt_qk", "name": "fused", "inputs": [[0, 0, 0]], "subgraphs": [inner]}],
             "arg_nodes": [0], "node_row_ptr": [0, 1, 2], "heads": [[1, 0, 0]]}  # fmt: skip
    with pytest.raises(mx.MXNetError, match="fused: the fused operator _sg_mkldnn_selfatt_qk belongs to a backend"):
        mx.sym.load_json(json.dumps(graph)).list_arguments()
