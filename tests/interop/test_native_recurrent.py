"""`interop.to_native`: recurrent networks of each frontend become torch's, with gates in torch's order."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon
from tests.interop.test_native_layers import Model, accepted, image


def randomized(link):
    for k, p in enumerate(link.params()):
        p.array[...] = np.random.RandomState(k).normal(0, 0.4, p.shape)
    return link


CHAINER = {
    "NStepLSTM": (L.NStepLSTM(2, 3, 4, 0.0), "nn.LSTM(3, 4, 2)", 2),
    "NStepBiLSTM": (L.NStepBiLSTM(2, 3, 4, 0.3), "nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.3)", 2),
    "NStepGRU": (L.NStepGRU(1, 3, 4, 0.0), "nn.GRU(3, 4)", 1),
    "NStepBiGRU": (L.NStepBiGRU(2, 3, 4, 0.0), "nn.GRU(3, 4, 2, bidirectional=True)", 1),
    "NStepRNNTanh": (L.NStepRNNTanh(2, 3, 4, 0.0), "nn.RNN(3, 4, 2)", 1),
    "NStepRNNReLU": (L.NStepRNNReLU(1, 3, 4, 0.0), "nn.RNN(3, 4, nonlinearity='relu')", 1),
}


@pytest.mark.parametrize(("name", "given"), [*((n, False) for n in CHAINER), ("NStepBiLSTM", True), ("NStepGRU", True)])
def test_links_of_sequences(name, given):
    link, text, states = CHAINER[name]
    randomized(link)
    directions = 2 if "Bi" in name else 1

    def forward(*args):
        first, xs = (args[:states], args[states:]) if given else ([None] * states, args)
        *last, ys = link(*first, list(xs))
        return last, ys

    first = [image(directions * link.n_layers, 3, 4) for _ in range(states)] if given else []
    xs = [image(5, 3), image(2, 3), image(6, 3)]  # not in the order of their lengths
    result = accepted(interop.to_native(forward, *first, *xs, parameters=link), "train", "eval")
    assert text in result.source and "pack_sequence" in result.source
    assert result.notes == []
    longer = [torch.cat([x, x]) for x in xs]
    found = result.module.eval()(*first, *longer)[1]
    with chainer.using_config("train", False):
        expected = forward(*(x.numpy() for x in (*first, *longer)))[1]
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.array, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lengths", [[2, 2, 2], [3, 2, 2]], ids=["equal", "some end"])
def test_function_of_steps(lengths):
    link = randomized(L.NStepLSTM(2, 3, 4, 0.0))

    def forward(h, c, *xs):
        hy, cy, ys = F.n_step_lstm(2, 0.0, h, c, link.ws, link.bs, list(xs))
        return hy, cy, list(ys)

    xs = [image(n, 3) for n in lengths]
    result = interop.to_native(
        forward, image(2, lengths[0], 4), image(2, lengths[0], 4), *xs, parameters=link, dynamic=False
    )
    accepted(result, "train", "eval")
    assert "nn.LSTM(3, 4, 2)" in result.source
    assert ("PackedSequence" in result.source) == (len(set(lengths)) > 1)


def test_steps_of_a_cell_of_chainer():
    class Net(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.first, self.second = L.EmbedID(9, 3), L.LSTM(3, 4), L.LSTM(4, 5)
                self.out = L.Linear(5, 9)

        def forward(self, ids):
            self.first.reset_state()
            self.second.reset_state()
            return [self.out(self.second(F.dropout(self.first(self.embed(ids[:, t]))))) for t in range(3)]

    result = accepted(interop.to_native(Net(), torch.tensor([[1, 4, 0], [8, 2, 2]])), "train", "eval")
    assert "self.first = nn.LSTMCell(3, 4)" in result.source and "self.second = nn.LSTMCell(4, 5)" in result.source
    assert not result.module.first.bias_hh.requires_grad
    assert len(result.module(torch.tensor([[1, 2, 3]]))) == 3


def test_stateless_cell_of_chainer():
    link = randomized(L.StatelessLSTM(3, 4))
    result = interop.to_native(lambda c, h, x: link(c, h, x), image(5, 4), image(5, 4), image(5, 3), parameters=link)
    accepted(result, "train", "eval")
    assert "nn.LSTMCell(3, 4)" in result.source


GLUON = {
    "LSTM": (
        gluon.rnn.LSTM(4, 2, bidirectional=True, dropout=0.3),
        "nn.LSTM(3, 4, 2, bidirectional=True, dropout=0.3)",
    ),
    "GRU": (gluon.rnn.GRU(4, 2), "nn.GRU(3, 4, 2)"),
    "RNN": (gluon.rnn.RNN(4, activation="tanh"), "nn.RNN(3, 4)"),
    "layout NTC": (gluon.rnn.LSTM(4, layout="NTC"), "nn.LSTM(3, 4)"),
}


@pytest.mark.parametrize(("name", "given"), [*((n, False) for n in GLUON), ("LSTM", True), ("layout NTC", True)])
def test_layers_of_gluon(name, given):
    layer, text = GLUON[name]
    layer.initialize(mx.init.Uniform(0.5), force_reinit=True)
    x = image(5, 2, 3)
    layer(mx.nd.array(x.numpy()))
    batch = 5 if name == "layout NTC" else 2
    first = [image(*s.shape) for s in layer.begin_state(batch_size=batch)] if given else []
    result = interop.to_native(
        (lambda x, *s: layer(x, list(s))) if given else layer, x, *first, parameters=layer if given else None
    )
    accepted(result, "train", "eval")
    assert text in result.source
    assert all("weight_ih_l0" in n or "_l" in n for n in result.state_dict)


@pytest.mark.parametrize(("cell", "text"), [(gluon.rnn.LSTMCell(4), "nn.LSTMCell(3, 4)"),
                                            (gluon.rnn.GRUCell(4), "nn.GRUCell(3, 4)")])  # fmt: skip
def test_cells_of_gluon(cell, text):
    cell.initialize(mx.init.Uniform(0.5))
    cell.unroll(3, mx.nd.zeros((2, 3, 3)), merge_outputs=True)
    result = interop.to_native(
        lambda x: cell.unroll(3, x, merge_outputs=True), image(2, 3, 3), parameters=cell, name="Unrolled"
    )
    accepted(result, "train", "eval")
    assert text in result.source


def test_recurrent_network_of_gluon():
    class Net(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.embed, self.encoder = gluon.nn.Embedding(9, 3), gluon.rnn.GRU(4, bidirectional=True)
                self.out = gluon.nn.Dense(2)

        def hybrid_forward(self, F, ids):
            return self.out(F.mean(self.encoder(F.swapaxes(self.embed(ids), 0, 1)), axis=0))

    net = Net()
    net.initialize(mx.init.Xavier())
    ids = torch.tensor([[1.0, 4, 0], [8, 2, 2]])
    net(mx.nd.array(ids.numpy()))
    result = accepted(interop.to_native(net, ids), "train", "eval")
    assert "nn.GRU(3, 4, bidirectional=True)" in result.source
    assert result.module(torch.zeros(5, 7)).shape == (5, 2), "another batch"


NNABLA = {
    "lstm": (PF.lstm, 2, "nn.LSTM(3, 4"),
    "gru": (PF.gru, 1, "nn.GRU(3, 4"),
    "rnn": (PF.rnn, 1, "nn.RNN(3, 4"),
}


@pytest.mark.parametrize(
    ("name", "options"), [("lstm", {"bidirectional": True}), ("lstm", {}), ("gru", {}), ("rnn", {"with_bias": False})]
)
def test_networks_of_nnabla(name, options):
    function, count, text = NNABLA[name]
    nn.clear_parameters()
    layers, directions = 2, 2 if options.get("bidirectional") else 1
    states = [image(layers, directions, 2, 4) for _ in range(count)]
    function(nn.Variable((5, 2, 3)), *(nn.Variable(s.shape) for s in states), **options)
    for k, p in enumerate(nn.get_parameters().values()):
        p.d = np.random.RandomState(k).normal(0, 0.4, p.shape).astype("f")
    result = interop.to_native(
        lambda *args: function(*args, **options), image(5, 2, 3), *states,
        parameters=nn.get_parameters(grad_only=False), frontend="nnabla",
    )  # fmt: skip
    accepted(result, "eval")
    assert text in result.source
    if name == "gru":
        assert any("elements that the network's GRU does not have" in note for note in result.notes)
    nn.clear_parameters()


def steps(x):
    h, c = (NF.constant(0, (x.shape[0], 4)) for _ in range(2))
    for t in range(x.shape[1]):
        h, c = PF.lstm_cell(x[:, t], h, c, 4)
    return PF.affine(h, 2)


def parts_of_one_sum(x, h, c):
    f, i, o, g = (
        (PF.affine(x, 16, name="x") + PF.affine(h, 16, name="h", with_bias=False))[:, 4 * k : 4 * k + 4]
        for k in range(4)
    )
    c = NF.tanh(g) * NF.sigmoid(i) + c * NF.sigmoid(f)
    return NF.tanh(c) * NF.sigmoid(o), c


def layer_for_each_gate(x, h, c):
    squares = x * x
    for _ in range(2):
        f, i, o, g = (PF.affine(NF.concatenate(x, h, squares), 4, name=n, with_bias=False) for n in "fiog")
        c = NF.sigmoid(f) * c + NF.sigmoid(i) * NF.tanh(g)
        h = NF.sigmoid(o) * NF.tanh(c)
    return h


CELLS = {
    "PF.lstm_cell": (steps, (image(3, 5, 3),), "self.lstm = nn.LSTMCell(3, 4)"),
    "one step": (lambda *args: PF.lstm_cell(*args, 4), (image(3, 3), image(3, 4), image(3, 4) + 1),
                 "(input_0, (input_1, input_2))"),
    "PF.LSTMCell": (lambda x: (cell := PF.LSTMCell(3, 4)) and [cell(x), cell(x * 2)], (image(3, 3),), "(x * 2, h1)"),
    "parts of one sum": (parts_of_one_sum, (image(3, 3), image(3, 4), image(3, 4) + 1), "nn.LSTMCell(3, 4)"),
    "layer for each gate": (layer_for_each_gate, (image(3, 3), image(3, 4), image(3, 4) + 1),
                            "nn.LSTMCell(6, 4, bias=False)"),
    "fixed": (lambda *args: PF.lstm_cell(*args, 4, fix_parameters=True), (image(3, 3), image(3, 4), image(3, 4) + 1),
              "self.lstm.requires_grad_(False)"),
}  # fmt: skip


def randomized_of_nnabla():
    for k, p in enumerate(nn.get_parameters(grad_only=False).values()):
        p.d = np.random.RandomState(k).normal(0, 0.4, p.shape).astype("f")
    return nn.get_parameters(grad_only=False)


@pytest.mark.parametrize("name", CELLS)
def test_cells_of_nnabla(name):
    function, inputs, text = CELLS[name]
    nn.clear_parameters()
    function(*(nn.Variable(x.shape) for x in inputs))
    result = interop.to_native(function, *inputs, parameters=randomized_of_nnabla(), frontend="nnabla")
    assert text in accepted(result, "eval").source and "nn.LSTMCell" in result.source
    assert "torch.sigmoid" not in result.source, "no part of the cell is left"
    back = result.legacy_state()
    assert all(np.array_equal(back[name].numpy(), p.d) for name, p in nn.get_parameters(grad_only=False).items())
    nn.clear_parameters()


def test_cells_in_a_graph_of_nnabla():
    nn.clear_parameters()
    x, h, c = nn.Variable((2, 3)), nn.Variable((2, 4)), nn.Variable((2, 4))
    y = PF.lstm_cell(x, *PF.lstm_cell(x, h, c, 4), 4)[0]
    result = accepted(interop.to_native(y, x, h, c, parameters=randomized_of_nnabla()), "eval")
    assert "self.lstm = nn.LSTMCell(3, 4)" in result.source and "torch.sigmoid" not in result.source
    nn.clear_parameters()


def almost(x, h, c, kind):
    f, i, o, g = (PF.affine(NF.concatenate(x, h), 4, name=n, with_bias=n != kind) for n in "fiog")
    c = NF.sigmoid(f) * c + (1 - NF.sigmoid(f) if kind == "coupled" else NF.sigmoid(i)) * NF.tanh(g)
    return NF.sigmoid(o) * (c if kind == "linear output" else NF.tanh(c))


@pytest.mark.parametrize("kind", ["g", "coupled", "linear output"])
def test_other_cells_stay_functions(kind):
    """One gate has no bias, the gates are coupled, or the output is no tanh."""
    nn.clear_parameters()
    almost(nn.Variable((2, 3)), nn.Variable((2, 4)), nn.Variable((2, 4)), kind)
    result = interop.to_native(
        lambda *args: almost(*args, kind), image(2, 3), image(2, 4), image(2, 4), frontend="nnabla",
        parameters=randomized_of_nnabla(),
    )  # fmt: skip
    assert "nn.LSTMCell" not in accepted(result, "eval").source
    nn.clear_parameters()


@pytest.mark.parametrize("given", [False, True], ids=["from zeros", "from a state"])
@pytest.mark.parametrize(("activation", "text"), [("tanh", "nn.RNNCell(3, 4)"),
                                                  ("relu", "nn.RNNCell(3, 4, nonlinearity='relu')")])  # fmt: skip
def test_plain_cells_of_gluon(activation, text, given):
    cell = gluon.rnn.RNNCell(4, activation=activation)
    cell.initialize(mx.init.Uniform(0.5))
    cell.unroll(3, mx.nd.zeros((2, 3, 3)), merge_outputs=True)
    first = [image(2, 4)] if given else []
    result = interop.to_native(
        lambda x, *h: cell.unroll(3, x, begin_state=list(h) or None, merge_outputs=True), image(2, 3, 3), *first,
        parameters=cell,
    )  # fmt: skip
    accepted(result, "train", "eval")
    assert text in result.source and "nn.Linear" not in result.source


def test_cell_beside_a_gradient_that_ends():
    nn.clear_parameters()

    def forward(x, h, c):
        y = PF.lstm_cell(x, h, c, 4)[0]
        return y * NF.exp(x[:, :1]).get_unlinked_variable(need_grad=False)

    inputs = image(2, 3), image(2, 4), image(2, 4) + 1
    forward(*(nn.Variable(x.shape) for x in inputs))
    result = interop.to_native(forward, *inputs, frontend="nnabla", parameters=randomized_of_nnabla())
    source = accepted(result, "eval").source
    assert ".detach()" in source and "nn.LSTMCell(3, 4)" in source
    nn.clear_parameters()


def test_one_state_for_output_and_memory():
    nn.clear_parameters()

    def forward(x, h):
        return PF.lstm_cell(x, *PF.lstm_cell(x, h, h, 4), 4)

    forward(nn.Variable((2, 3)), nn.Variable((2, 4)))
    result = interop.to_native(
        forward, image(2, 3), image(2, 4), frontend="nnabla", parameters=randomized_of_nnabla()
    )  # fmt: skip
    assert "self.lstm(x, (h, h))" in accepted(result, "eval").source
    nn.clear_parameters()


def test_sums_of_two_layers_are_no_cells():
    """As in additive attention: nothing says that one of the inputs is a state."""
    link = Model(lambda self, x, y: F.tanh(self.a(x) + self.b(y)), a=L.Linear(4, 4), b=L.Linear(4, 4))
    result = accepted(interop.to_native(link, image(2, 4), image(2, 4) + 1), "train", "eval")
    assert "nn.RNNCell" not in result.source


def test_cells_of_symbols():
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    cell.add(mx.rnn.LSTMCell(4, prefix="l1_"))
    outputs, _ = cell.unroll(3, inputs=mx.sym.var("data"), layout="NTC", merge_outputs=True)
    block = gluon.SymbolBlock(outputs, [mx.sym.var("data")])
    block.initialize(mx.init.Uniform(0.5))
    block(mx.nd.zeros((2, 3, 3)))
    result = accepted(interop.to_native(block, image(2, 3, 3)), "train", "eval")
    assert result.source.count("nn.LSTMCell(") == 2 and "torch.sigmoid" not in result.source


def test_weights_used_twice_stay_functions():
    """A weight that the network also uses otherwise cannot be a part of a joined one."""
    link = randomized(L.NStepLSTM(1, 3, 4, 0.0))

    def forward(x):
        return link(None, None, [x])[2][0] + F.sum(link.ws[0][0] ** 2)

    result = accepted(interop.to_native(forward, image(5, 3), parameters=link, dynamic=False), "train", "eval")
    assert "nn.LSTM" not in result.source


def test_parts_of_a_network_keep_their_names():
    link = Model(lambda self, x: self.out(self.rnn(None, [x])[1][0]), rnn=L.NStepGRU(1, 3, 4, 0.0), out=L.Linear(4, 2))
    result = accepted(interop.to_native(randomized(link), image(5, 3)), "train", "eval")
    assert {n for n in result.state_dict if n.startswith("rnn.")} == {
        "rnn.weight_ih_l0", "rnn.weight_hh_l0", "rnn.bias_ih_l0", "rnn.bias_hh_l0"
    }  # fmt: skip
    assert result.legacy_names["rnn.weight_ih_l0"] == "rnn/0/w0, rnn/0/w1, rnn/0/w2"
