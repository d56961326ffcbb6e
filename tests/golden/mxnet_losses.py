"""Losses and recurrent networks of Gluon on the real MXNet 1.9.1: its interpreter makes mxnet_losses.npz of this file.

`losses(mx)` and `recurrent(mx)` run the same programs on any MXNet and give their numbers by name.
"""

from pathlib import Path

import numpy as np

from tests.golden import files

GOLDEN = Path(__file__).with_suffix(".npz")
rng = np.random.RandomState(0)


def R(*shape):
    return rng.uniform(-1, 1, shape).astype("float32")


def P(*shape):
    return rng.uniform(0.05, 0.95, shape).astype("float32")


def signs(*shape):
    return rng.choice([-1.0, 1.0], shape).astype("float32")


def ints(high, *shape):
    return rng.randint(0, high, shape).astype("float32")


def simplex(*shape):
    p = P(*shape)
    return p / p.sum(-1, keepdims=True)


# name -> class, its arguments, arguments of the call (None where one is left out)
LOSSES = {
    "l2": ("L2Loss", {}, (R(3, 4), R(3, 4))),
    "l2_weights": ("L2Loss", {"weight": 0.3, "batch_axis": 1}, (R(3, 4), R(12), P(3, 1))),
    "l1": ("L1Loss", {}, (R(3, 2, 4), R(3, 8))),
    "l1_weights": ("L1Loss", {"weight": 2.0}, (R(5), R(5), P(5))),
    "sigmoid": ("SigmoidBCELoss", {}, (3 * R(3, 4), P(3, 4))),
    "sigmoid_pos": ("SigmoidBinaryCrossEntropyLoss", {"weight": 0.5}, (3 * R(3, 4), P(3, 4), P(3, 1), 3 * P(1, 4))),
    "sigmoid_from": ("SigmoidBCELoss", {"from_sigmoid": True}, (P(3, 4), P(3, 4))),
    "sigmoid_from_pos": ("SigmoidBCELoss", {"from_sigmoid": True}, (P(3, 4), P(3, 4), None, 3 * P(1, 4))),
    "softmax": ("SoftmaxCrossEntropyLoss", {}, (2 * R(4, 5), ints(5, 4))),
    "softmax_kept": ("SoftmaxCELoss", {"weight": 0.7}, (2 * R(4, 5), ints(5, 4, 1))),
    "softmax_out_of_range": ("SoftmaxCELoss", {}, (2 * R(4, 5), np.array([-2, -1, 5, 9], "float32"))),
    "softmax_axis": ("SoftmaxCELoss", {"axis": 1}, (2 * R(2, 5, 3, 2), ints(5, 2, 3, 2))),
    "softmax_sample": ("SoftmaxCELoss", {}, (2 * R(4, 5), ints(5, 4), P(4, 1))),
    "softmax_batch_axis": ("SoftmaxCELoss", {"batch_axis": 1}, (2 * R(3, 4, 5), ints(5, 3, 4))),
    "softmax_time": ("SoftmaxCELoss", {}, (2 * R(3, 4, 5), ints(5, 3, 4), P(3, 4, 1))),
    "softmax_dense": ("SoftmaxCELoss", {"sparse_label": False}, (2 * R(4, 5), simplex(4, 5))),
    "softmax_logits": ("SoftmaxCELoss", {"from_logits": True}, (np.log(simplex(4, 5)), ints(5, 4))),
    "softmax_one": ("SoftmaxCELoss", {}, (2 * R(5), ints(5, 1))),
    "kl": ("KLDivLoss", {}, (np.log(simplex(3, 4)), simplex(3, 4))),
    "kl_softmax": ("KLDivLoss", {"from_logits": False, "axis": 1, "weight": 0.5}, (R(3, 4, 2), P(3, 4, 2), P(3, 1, 1))),
    "ctc": ("CTCLoss", {}, (R(2, 6, 4), np.array([[1, 2, 0], [1, -1, -1]], "float32"))),
    "ctc_lengths": ("CTCLoss", {"layout": "TNC", "label_layout": "TN", "weight": 0.5},
                    (R(6, 2, 4), ints(3, 3, 2), np.array([6, 5], "float32"), np.array([3, 2], "float32"), P(2))),
    "ctc_label_lengths": ("CTCLoss", {}, (R(2, 6, 4), ints(3, 2, 3), None, np.array([3, 2], "float32"))),
    "huber": ("HuberLoss", {}, (2 * R(3, 4), 2 * R(3, 4))),
    "huber_rho": ("HuberLoss", {"rho": 0.4, "weight": 2.0}, (2 * R(3, 4), 2 * R(3, 4), P(3, 1))),
    "hinge": ("HingeLoss", {}, (2 * R(3, 4), signs(3, 4))),
    "hinge_margin": ("HingeLoss", {"margin": 0.5, "weight": 2.0}, (2 * R(3, 4), signs(12))),
    "squared_hinge": ("SquaredHingeLoss", {"margin": 2}, (2 * R(3, 4), signs(3, 4), P(3, 4))),
    "logistic": ("LogisticLoss", {}, (2 * R(3, 4), signs(3, 4))),
    "logistic_binary": ("LogisticLoss", {"label_format": "binary"}, (2 * R(3, 4), ints(2, 3, 4), P(3, 1))),
    "triplet": ("TripletLoss", {}, (R(3, 4), R(3, 4), R(3, 4))),
    "triplet_margin": ("TripletLoss", {"margin": 0.2, "weight": 3.0}, (R(3, 2, 2), R(3, 4), R(3, 4))),
    "poisson": ("PoissonNLLLoss", {}, (R(3, 4), ints(6, 3, 4))),
    "poisson_rate": ("PoissonNLLLoss", {"from_logits": False, "weight": 2.0}, (P(3, 4), ints(6, 3, 4), P(3, 1))),
    "cosine": ("CosineEmbeddingLoss", {}, (R(4, 5), R(4, 5), np.array([1, -1, 1, -1], "float32"))),
    "cosine_margin": ("CosineEmbeddingLoss", {"margin": -0.3, "weight": 2.0}, (R(4, 5), R(4, 5), np.full(4, -1.0))),
    "sdml": ("SDMLLoss", {}, (R(4, 3), R(4, 3))),
}  # fmt: skip


def arrays(mx, values):
    return [None if v is None else mx.nd.array(v) for v in values]


def loss(mx, name):
    """The loss, and gradients of its sum with weights 1, 2, … by the arguments that have one."""
    kind, options, values = LOSSES[name]
    args = arrays(mx, values)
    count = 3 if "triplet" in name else 2 if name.startswith(("l1", "l2", "sdml", "cosine")) else 1
    watched = args[:count]
    for x in watched:
        x.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.gluon.loss, kind)(**options)(*args)
    y.backward(mx.nd.arange(1, y.size + 1).reshape(y.shape))
    return {"y": y.asnumpy(), **{f"g{i}": x.grad.asnumpy() for i, x in enumerate(watched)}}


# ---- recurrent networks ---------------------------------------------------------------------------------------------
def fill(mx, net):
    """The same parameters everywhere: by their order and size, not by their names."""
    for i, param in enumerate(net.collect_params().values()):
        values = np.random.RandomState(i).uniform(-0.6, 0.6, int(np.prod(param.shape)))
        param.set_data(mx.nd.array(values.reshape(param.shape)))


def outputs(mx, result):
    flat = []
    for x in result if isinstance(result, (list, tuple)) else [result]:
        flat += outputs(mx, x) if isinstance(x, (list, tuple)) else [x]
    return flat


def differentiated(mx, net, inputs, run):
    """All outputs of `run`, and gradients of a weighted sum of them by the inputs and the parameters."""
    net.initialize()
    run()  # infers shapes
    fill(mx, net)
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record(train_mode=False):
        ys = outputs(mx, run())
        total = sum(mx.nd.sum(y * (mx.nd.arange(y.size).reshape(y.shape) / y.size + 0.5)) for y in ys)
    total.backward()
    found = {f"y{i}": y.asnumpy() for i, y in enumerate(ys)}
    found.update({f"gx{i}": x.grad.asnumpy() for i, x in enumerate(inputs)})
    found.update({f"gw{i}": p.grad().asnumpy() for i, p in enumerate(net.collect_params().values())})
    return found


def layers(mx):
    rnn = mx.gluon.rnn
    return {
        "lstm": (rnn.LSTM(5), {}),
        "lstm_2_bi": (rnn.LSTM(4, 2, bidirectional=True), {}),
        "lstm_ntc": (rnn.LSTM(4, 2, layout="NTC", dropout=0.5), {"layout": "NTC"}),
        "lstm_states": (rnn.LSTM(4, 2), {"states": True}),
        "gru": (rnn.GRU(5, 2), {}),
        "gru_bi_states": (rnn.GRU(4, bidirectional=True, layout="NTC"), {"states": True, "layout": "NTC"}),
        "rnn_relu": (rnn.RNN(5, 2), {"states": True}),
        "rnn_tanh": (rnn.RNN(5, activation="tanh", bidirectional=True), {}),
    }


def layer(mx, name):
    net, how = layers(mx)[name]
    steps, batch, width = 4, 3, 2
    shape = (batch, steps, width) if how.get("layout") == "NTC" else (steps, batch, width)
    x = mx.nd.array(np.random.RandomState(7).uniform(-1, 1, shape))
    inputs, args = [x], [x]
    if "states" in how:
        states = [
            mx.nd.array(np.random.RandomState(i).uniform(-1, 1, info["shape"]))
            for i, info in enumerate(net.state_info(batch))
        ]
        inputs, args = [x, *states], [x, states]
    return differentiated(mx, net, inputs, lambda: net(*args))


def cells(mx):
    rnn, more = mx.gluon.rnn, mx.gluon.contrib.rnn

    def stack(kind, *members):
        net = kind()
        for cell in members:
            net.add(cell)
        return net

    return {
        "rnn": (rnn.RNNCell(5), {}),
        "rnn_softsign": (rnn.RNNCell(5, activation="softsign"), {"merge": True}),
        "lstm": (rnn.LSTMCell(5), {"merge": True}),
        "lstm_relu": (rnn.LSTMCell(5, activation="relu", recurrent_activation="tanh"), {}),
        "lstm_valid": (rnn.LSTMCell(5), {"valid": [1, 4, 3], "layout": "TNC"}),
        "gru": (rnn.GRUCell(5), {}),
        "gru_valid_list": (rnn.GRUCell(5), {"valid": [1, 4, 3], "merge": False, "list": True}),
        "sequential": (stack(rnn.SequentialRNNCell, rnn.LSTMCell(4), rnn.GRUCell(3)), {"merge": True}),
        "residual": (
            stack(rnn.HybridSequentialRNNCell, rnn.RNNCell(2), rnn.ResidualCell(rnn.GRUCell(2))),
            {"valid": [4, 2, 3]},
        ),
        "dropout": (stack(rnn.SequentialRNNCell, rnn.DropoutCell(0.5), rnn.RNNCell(3)), {}),
        "zoneout": (rnn.ZoneoutCell(rnn.LSTMCell(3), 0.3, 0.2), {"merge": True}),
        "bidirectional": (rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.GRUCell(4)), {"merge": True}),
        "bidirectional_valid": (
            rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(4)),
            {"valid": [2, 4, 1], "merge": True},
        ),
        "bidirectional_list": (
            rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(4)),
            {"layout": "TNC", "merge": False},
        ),
        "vardrop": (more.VariationalDropoutCell(rnn.LSTMCell(3), 0.2, 0.3, 0.4), {"merge": True}),
        "lstmp": (more.LSTMPCell(5, 3), {"merge": True}),
    }


def cell(mx, name):
    """Dropout and zoneout run in predict mode: the same on both."""
    net, how = cells(mx)[name]
    layout = how.get("layout", "NTC")
    x = mx.nd.array(np.random.RandomState(7).uniform(-1, 1, (3, 4, 2) if layout == "NTC" else (4, 3, 2)))
    given = [x[:, i] for i in range(4)] if how.get("list") else x
    inputs = [] if how.get("list") else [x]
    valid = mx.nd.array(how["valid"]) if "valid" in how else None

    def run():
        return net.unroll(4, given, layout=layout, merge_outputs=how.get("merge"), valid_length=valid)

    return differentiated(mx, net, inputs, run)


def conv(mx, name):
    """Cells with convolutions, over three steps of a batch of two."""
    kind, shape, options = CONV[name]
    net = getattr(mx.gluon.contrib.rnn, kind)(shape, 3, 3, 3, i2h_pad=1, **options)
    x = mx.nd.array(np.random.RandomState(7).uniform(-1, 1, (2, 3, *shape)))
    return differentiated(mx, net, [x], lambda: net.unroll(3, x, merge_outputs=True))


CONV = {
    "rnn": ("Conv2DRNNCell", (2, 4, 5), {}),
    "lstm": ("Conv2DLSTMCell", (2, 4, 5), {"i2h_dilate": 2, "h2h_dilate": (2, 1), "activation": "relu"}),
    "gru": ("Conv1DGRUCell", (2, 6), {}),
    "lstm3": ("Conv3DLSTMCell", (2, 3, 3, 3), {}),
}
CELLS = ("rnn rnn_softsign lstm lstm_relu lstm_valid gru gru_valid_list sequential residual dropout zoneout "
         "bidirectional bidirectional_valid bidirectional_list vardrop lstmp").split()  # fmt: skip
LAYERS = "lstm lstm_2_bi lstm_ntc lstm_states gru gru_bi_states rnn_relu rnn_tanh".split()
PARTS = {"loss": (loss, tuple(LOSSES)), "cell": (cell, CELLS), "layer": (layer, LAYERS), "conv": (conv, tuple(CONV))}

if __name__ == "__main__":
    import mxnet

    found = {}
    for part, (run, names) in PARTS.items():
        for name in names:
            found.update({f"{part}/{name}/{key}": value for key, value in run(mxnet, name).items()})
    files.write(GOLDEN, found, files.versions("mxnet"))
