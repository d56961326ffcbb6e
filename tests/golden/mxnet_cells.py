"""Recurrent cells as symbols on the real MXNet 1.9.1: its interpreter makes mxnet_cells.npz of this file.

`symbol(mx, name)` composes two steps of a cell on any MXNet, `run(mx, symbol)` gives its outputs and gradients by name.
"""

from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
BATCH, UNITS = 3, 4
STEPS = 2


def _cells(mx):
    rnn, contrib = mx.gluon.rnn, mx.gluon.contrib.rnn
    return {
        "lstm": lambda: rnn.LSTMCell(UNITS, prefix="a_"),
        "gru": lambda: rnn.GRUCell(UNITS, prefix="a_"),
        "lstm_relu": lambda: rnn.LSTMCell(UNITS, prefix="a_", activation="relu"),
        "lstmp": lambda: contrib.LSTMPCell(UNITS, 3, prefix="a_"),
        "conv_lstm": lambda: contrib.Conv2DLSTMCell((2, 3, 3), UNITS, 3, 3, 1, prefix="a_"),
        "conv_gru": lambda: contrib.Conv1DGRUCell((2, 5), UNITS, 3, 3, 1, prefix="a_"),
        "stack": lambda: _stack(rnn),
        "old_lstm": lambda: mx.rnn.LSTMCell(UNITS, prefix="a_"),
        "old_gru": lambda: mx.rnn.GRUCell(UNITS, prefix="a_"),
    }


def _stack(rnn):
    cell = rnn.SequentialRNNCell(prefix="a_")
    with cell.name_scope():
        cell.add(rnn.LSTMCell(UNITS))
        cell.add(rnn.GRUCell(UNITS))
    return cell


GLUON = "lstm gru lstm_relu lstmp conv_lstm conv_gru stack".split()
OLD = ["old_lstm", "old_gru"]  # of mx.rnn, before Gluon
_X = {"conv_lstm": (2, 3, 3), "conv_gru": (2, 5)}
_STATE = {"conv_lstm": (UNITS, 3, 3), "conv_gru": (UNITS, 5)}


def symbol(mx, name):
    """Outputs of all steps and the last states, from variables x0, x1, s0, ..."""
    cell = _cells(mx)[name]()
    states = 3 if name == "stack" else 1 if "gru" in name else 2
    first = [mx.sym.Variable("s%d" % k) for k in range(states)]  # noqa: UP031
    xs = [mx.sym.Variable("x%d" % t) for t in range(STEPS)]  # noqa: UP031
    ys, last = cell.unroll(STEPS, xs, begin_state=first, merge_outputs=False)
    # not one output twice: of its two gradients the original would take one alone
    names = [y.list_outputs()[0] for y in ys]
    return mx.sym.Group([*ys, *(s for s in last if s.list_outputs()[0] not in names)])


def shapes(name):
    found = {"x%d" % t: (BATCH, *_X.get(name, (5,))) for t in range(STEPS)}  # noqa: UP031
    first = 3 if name == "lstmp" else None  # the projection is the first state
    for k in range(3 if name == "stack" else 1 if "gru" in name else 2):
        found["s%d" % k] = (BATCH, *((first,) if first and k == 0 else _STATE.get(name, (UNITS,))))  # noqa: UP031
    return found


def run(mx, graph, name, dtype="float32"):
    """Outputs, and gradients of all arguments of a weighted sum of them."""
    random = np.random.RandomState(3)
    given = shapes(name)
    arg_shapes, out_shapes, _ = graph.infer_shape(**given)
    names = graph.list_arguments()
    draw = {n: random.uniform(-1, 1, s) for n, s in sorted(zip(names, arg_shapes))}  # noqa: B905
    args = {n: mx.nd.array(v, dtype=dtype) for n, v in draw.items()}
    grads = {n: mx.nd.zeros(v.shape, dtype=dtype) for n, v in draw.items()}
    executor = graph.bind(mx.cpu(), args, grads)
    outputs = executor.forward(is_train=True)
    found = {"y%d" % k: y.asnumpy() for k, y in enumerate(outputs)}  # noqa: UP031
    executor.backward([mx.nd.array(random.uniform(-1, 1, s), dtype=dtype) for s in out_shapes])
    return {**found, **{n: g.asnumpy() for n, g in grads.items()}}


if __name__ == "__main__":
    import mxnet

    found = {}
    for name in GLUON + OLD:
        graph = symbol(mxnet, name)
        found[name + "/json"] = np.array(graph.tojson())
        found.update({name + "/" + key: value for key, value in run(mxnet, graph, name).items()})
    files.write(GOLDEN, found, files.versions("mxnet"))
