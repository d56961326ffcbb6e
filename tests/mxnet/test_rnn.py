"""Recurrent cells and layers: numbers of MXNet 1.9.1 (tests/golden/mxnet_losses.py), names, dropout, bad input."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.core.changes import Changes
from compatgrad.mxnet import MXNetError, autograd, gluon, nd
from compatgrad.mxnet.gluon import rnn
from tests.golden import mxnet_losses as golden
from tests.mxnet.test_loss import compare


@pytest.mark.parametrize("name", golden.CELLS)
def test_cells_give_the_original_numbers(name):
    compare("cell", name, golden.cell(mx, name), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", golden.LAYERS)
def test_layers_give_the_original_numbers(name):
    compare("layer", name, golden.layer(mx, name), rtol=1e-4, atol=5e-6)


@pytest.mark.parametrize("name", golden.CONV)
def test_cells_with_convolutions_give_the_original_numbers(name):
    compare("conv", name, golden.conv(mx, name), rtol=1e-4, atol=5e-6)


@pytest.mark.parametrize("layer", [rnn.LSTM(4, 2, bidirectional=True), rnn.GRU(4, 2), rnn.RNN(4, activation="tanh")])
def test_a_layer_equals_its_stack_of_cells(layer):
    x = nd.array(np.random.RandomState(0).uniform(-1, 1, (3, 2, 5)))
    layer.initialize(mx.init.Uniform(0.5))
    y = layer(x)
    cells = layer._unfuse()
    outputs, _ = cells.unroll(3, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-6)


def test_sequence_lengths():
    layer = rnn.LSTM(4, bidirectional=True, use_sequence_length=True, input_size=5)
    layer.initialize(mx.init.Uniform(0.5))
    x, lengths = nd.random.uniform(shape=(4, 3, 5)), [2, 4, 3]
    y, states = layer(x, layer.begin_state(3), nd.array(lengths))
    for i, n in enumerate(lengths):  # a sample by itself, cut to its length
        alone, after = layer(x[:n, i : i + 1], layer.begin_state(1), nd.array([n]))
        np.testing.assert_allclose(y[:n, i].asnumpy(), alone[:, 0].asnumpy(), rtol=1e-5, atol=1e-6)
        assert (y[n:, i].asnumpy() == 0).all()
        for a, b in zip(states, after, strict=True):
            np.testing.assert_allclose(a[:, i].asnumpy(), b[:, 0].asnumpy(), rtol=1e-5, atol=1e-6)


def test_names_and_text():
    layer = rnn.LSTM(5, 2, bidirectional=True, input_size=3, prefix="lstm0_", dropout=0.5)
    assert repr(layer) == "LSTM(3 -> 5, TNC, num_layers=2, dropout=0.5, bidirectional)"
    names = list(layer.collect_params())
    assert names[:3] == ["lstm0_l0_i2h_weight", "lstm0_l0_h2h_weight", "lstm0_l0_i2h_bias"] and len(names) == 16
    assert layer.r1_i2h_weight.shape == (20, 10)
    assert list(layer._collect_params_with_prefix())[0] == "_unfused.0.l_cell.i2h_weight"
    assert list(rnn.GRU(3)._collect_params_with_prefix("x"))[0] == "x._unfused.0.i2h_weight"
    stack = rnn.SequentialRNNCell(prefix="s_")
    with stack.name_scope():
        stack.add(rnn.LSTMCell(4))
        stack.add(rnn.ZoneoutCell(rnn.GRUCell(4), 0.1, 0.2))
    assert repr(stack) == (
        "SequentialRNNCell(\n(0): LSTMCell(None -> 16)\n"
        "(1): ZoneoutCell(p_out=0.1, p_state=0.2, GRUCell(None -> 12))\n)"
    )
    assert list(stack.collect_params())[-1] == "s_gru0_h2h_bias" and len(stack) == 2
    assert stack[1].name == "s_s_gru0_zoneout"
    assert [info["shape"] for info in stack.state_info(2)] == [(2, 4)] * 3
    assert repr(rnn.RNNCell(3, input_size=2)) == "RNNCell(2 -> 3, tanh)"
    assert [s.shape for s in layer.begin_state(2)] == [(4, 2, 5)] * 2
    assert layer.begin_state(2, func=nd.ones, dtype="float64")[0].dtype == np.float64


def test_files_of_a_layer_are_files_of_cells(tmp_path):
    layer = rnn.LSTM(4, input_size=3)
    layer.initialize()
    layer.save_parameters(str(tmp_path / "lstm.params"))
    other = rnn.LSTM(4)
    other.load_parameters(str(tmp_path / "lstm.params"))
    x = nd.ones((2, 1, 3))
    np.testing.assert_array_equal(other(x).asnumpy(), layer(x).asnumpy())


def test_second_derivatives_of_a_cell_and_a_layer():
    def steps(cell, x):
        states = cell.begin_state(batch_size=1, dtype="float64")
        return cell.unroll(2, x, states, layout="TNC", merge_outputs=True)[0]

    cell, layer = rnn.GRUCell(3, input_size=2), rnn.LSTM(3, input_size=2)
    for net, run in ((cell, lambda x: steps(cell, x)), (layer, layer)):
        net.initialize(mx.init.Uniform(0.5))
        net.cast("float64")
        x = nd.array(np.random.RandomState(0).uniform(-1, 1, (2, 1, 2)), dtype="float64")
        x.attach_grad()

        def penalty(z, f=run):
            z.attach_grad()
            with autograd.record():
                (g,) = autograd.grad(f(z).sum(), [z], create_graph=True)
                return (g * g).sum()

        y = penalty(x)
        y.backward()
        numeric = np.zeros(x.shape)
        for k in np.ndindex(*x.shape):
            ends = []
            for step in (1e-5, -1e-5):
                a = x.asnumpy()
                a[k] += step
                ends.append(penalty(nd.array(a, dtype="float64")).asscalar())
            numeric[k] = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(x.grad.asnumpy(), numeric, rtol=1e-4, atol=1e-7)


def test_dropout_masks():
    mx.random.seed(0)
    x = nd.ones((4, 6, 50))
    with autograd.record():
        ys, _ = rnn.DropoutCell(0.5).unroll(6, x, merge_outputs=True)
        per_step, _ = rnn.DropoutCell(0.5, axes=(1,)).unroll(6, x, merge_outputs=True)
    kept = (ys.asnumpy() > 0).mean()
    assert 0.4 < kept < 0.6
    assert (per_step.asnumpy() == per_step.asnumpy()[:, :1]).all()
    cell = gluon.contrib.rnn.VariationalDropoutCell(rnn.RNNCell(50, input_size=50), drop_states=0.5, drop_outputs=0.5)
    cell.initialize(mx.init.One())
    with autograd.record():
        ys, _ = cell.unroll(6, x, merge_outputs=True)
    zeros = ys.asnumpy() == 0
    assert zeros.any() and (zeros == zeros[:, :1]).all()  # one mask for all steps


def test_zoneout_keeps_the_previous_state():
    cell = rnn.ZoneoutCell(rnn.RNNCell(50, input_size=1), zoneout_states=0.5)
    cell.initialize(mx.init.One())
    before = nd.full((2, 50), 7.0)
    with autograd.record():
        _, (after,) = cell(nd.ones((2, 1)), [before])
    assert 0.2 < (after.asnumpy() == 7).mean() < 0.8


def test_contrib_dynamic_unroll_is_unroll():
    cell = rnn.LSTMCell(4, input_size=3)
    cell.initialize()
    x, valid = nd.random.uniform(shape=(5, 2, 3)), nd.array([2, 5])
    expected, states = cell.unroll(5, x, layout="TNC", merge_outputs=True, valid_length=valid)
    got, after = gluon.contrib.rnn.rnn_cell.dynamic_unroll(cell, x, cell.begin_state(2), valid_length=valid)
    np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-6)
    for a, b in zip(after, states, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def test_hybridized_and_in_a_block():
    class Model(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.embed = gluon.nn.Embedding(10, 4)
                self.rnn = rnn.LSTM(6, layout="NTC")
                self.out = gluon.nn.Dense(3, flatten=False)

        def hybrid_forward(self, F, x):
            return self.out(self.rnn(self.embed(x)))

    net = Model()
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
    loss, losses = gluon.loss.SoftmaxCELoss(), []
    x, t = nd.array([[1, 2, 3], [4, 5, 6]]), nd.array([[0, 1, 2], [2, 1, 0]])
    for _ in range(30):
        with autograd.record():
            y = loss(net(x), t)
        y.backward()
        trainer.step(2)
        losses.append(y.mean().asscalar())
    assert losses[-1] < 0.8 * losses[0]


def test_text_and_shapes_of_cells_with_convolutions():
    cell = gluon.contrib.rnn.Conv2DLSTMCell((0, 8, 9), 10, (3, 5), 3, i2h_pad=(1, 2), prefix="c_")
    assert repr(cell) == "Conv2DLSTMCell(None -> 40, tanh, NCHW)"
    cell.initialize()
    y, states = cell(nd.zeros((2, 4, 8, 9)), cell.begin_state(2))
    assert y.shape == (2, 10, 8, 9) and len(states) == 2 and cell.i2h_weight.shape == (40, 4, 3, 5)
    with pytest.raises(AssertionError, match="odd number"):
        gluon.contrib.rnn.Conv1DRNNCell((2, 8), 10, 3, 2)
    with pytest.raises(AssertionError, match="i2h_kernel must be a number or 2"):
        gluon.contrib.rnn.Conv2DRNNCell((2, 8, 8), 10, (3, 3, 3), 3)


def test_bad_input():
    layer = rnn.LSTM(5, 2, input_size=3)
    layer.initialize()
    with pytest.raises(ValueError, match=r"Invalid recurrent state shape. Expecting \(2, 2, 5\), got \(1, 2, 5\)"):
        layer(nd.zeros((4, 2, 3)), [nd.zeros((1, 2, 5))] * 2)
    with pytest.raises(ValueError, match="expected 2 states, got 1"):
        layer(nd.zeros((4, 2, 3)), nd.zeros((2, 2, 5)))
    with pytest.raises(MXNetError, match="RNN"):
        layer(nd.zeros((4, 2, 7)))
    with pytest.raises(AssertionError, match="Invalid layout NCT"):
        rnn.LSTM(3, layout="NCT")
    cell = rnn.GRUCell(4, input_size=3)
    cell.initialize()
    with pytest.raises(AssertionError, match="3 steps, not 5"):
        cell.unroll(5, nd.zeros((2, 3, 3)))
    with pytest.raises(AssertionError, match="must be an array"):
        cell.unroll(5, None)
    modifier = rnn.ResidualCell(cell)
    with pytest.raises(AssertionError, match="modifier cell"):
        cell.begin_state(batch_size=2)
    with pytest.raises(AssertionError, match="already modified"):
        rnn.ZoneoutCell(cell)
    assert modifier.begin_state(batch_size=2)[0].shape == (2, 4)
    both = rnn.BidirectionalCell(rnn.GRUCell(4), rnn.GRUCell(4))
    with pytest.raises(NotImplementedError, match="Please use unroll"):
        both(nd.zeros((2, 3)), [])


class Both(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.rnn = rnn.GRU(5, 2)
            self.cell = rnn.LSTMCell(4, input_size=2)

    def hybrid_forward(self, F, x):
        steps, _ = self.cell.unroll(3, x, layout="TNC", merge_outputs=True)
        return F.concat(self.rnn(x), steps, dim=2)


def test_export_and_import(tmp_path):
    net, x = Both(), nd.random.uniform(shape=(3, 2, 2))
    net.initialize(mx.init.Uniform(0.5))
    net.hybridize()
    y = net(x).asnumpy()
    path = str(tmp_path / "net")
    net.export(path)
    again = gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
    np.testing.assert_allclose(again(x).asnumpy(), y, rtol=1e-6)


def test_steps_of_symbols_have_names_of_their_own():
    outputs, _ = rnn.LSTMCell(4).unroll(3, [mx.sym.var(f"x{i}") for i in range(3)])
    names = mx.sym.Group(outputs).get_internals().list_outputs()
    assert len(names) == len(set(names))


def test_a_step_of_a_cell_is_no_change_of_a_block():
    cell = rnn.LSTMCell(3, input_size=2)
    cell.initialize()
    states = cell.begin_state(4)
    before = Changes.last
    for k in range(2):
        _, states = cell(nd.ones((4, 2)), states)
        assert cell._counter == k and Changes.last is before


def test_a_dense_layer_refuses_what_does_not_fit():
    data, weight, bias = nd.ones((2, 3)), nd.ones((4, 3)), nd.ones((4,))
    expected = nd.FullyConnected(data, weight, bias, num_hidden=4)
    assert expected.asnumpy().tolist() == [[4.0] * 4] * 2
    assert nd.FullyConnected(data, weight, num_hidden=4, no_bias=True).asnumpy().tolist() == [[3.0] * 4] * 2
    out = nd.zeros((2, 4))
    assert nd.FullyConnected(data, weight, bias, num_hidden=4, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
    for wrong in (
        {"weight": nd.ones((4, 2))}, {"bias": nd.ones((3,))}, {"num_hidden": 5}, {"bias": None}, {"units": 4},
        {"weight": weight.astype("float64")},
    ):  # fmt: skip
        with pytest.raises(MXNetError, match="FullyConnected"):
            nd.FullyConnected(**{"data": data, "weight": weight, "bias": bias, "num_hidden": 4, **wrong})


CALLS = {  # calls of (Activation, sigmoid, tanh) in a step of the original's cells
    "LSTMCell": (lambda: rnn.LSTMCell(3), (1, 3, 1)),
    "GRUCell": (lambda: rnn.GRUCell(3), (3, 0, 0)),
    "LSTMPCell": (lambda: gluon.contrib.rnn.LSTMPCell(3, 2), (5, 0, 0)),
    "Conv1DLSTMCell": (lambda: gluon.contrib.rnn.Conv1DLSTMCell((2, 4), 3, 3, 3), (3, 0, 2)),
    "Conv1DGRUCell": (lambda: gluon.contrib.rnn.Conv1DGRUCell((2, 4), 3, 3, 3), (2, 0, 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_cells_call_operators_that_a_program_has_replaced(name, monkeypatch):
    make, expected = CALLS[name]
    cell, x = make(), nd.ones((2, 2, 4) if name.startswith("Conv") else (2, 4))
    cell.initialize()
    before = [y.asnumpy() for y in (lambda out, states: (out, *states))(*cell(x, cell.begin_state(batch_size=2)))]
    calls = dict.fromkeys(("Activation", "sigmoid", "tanh"), 0)

    def count(operator):
        own = getattr(nd, operator)

        def replaced(*args, **kwargs):
            calls[operator] += 1
            return own(*args, **kwargs)

        monkeypatch.setattr(nd, operator, replaced)

    for operator in calls:
        count(operator)
    out, states = cell(x, cell.begin_state(batch_size=2))
    assert tuple(calls.values()) == expected
    for a, b in zip((out, *states), before, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-6)


def test_cells_call_the_activation_of_a_subclass():
    class Doubled(rnn.LSTMCell):
        def _get_activation(self, F, inputs, activation, **kwargs):
            return 2 * super()._get_activation(F, inputs, activation, **kwargs)

    plain, doubled = rnn.LSTMCell(3, input_size=4), Doubled(3, input_size=4)
    plain.initialize()
    doubled.initialize()
    memories = [cell(nd.zeros((2, 4)), [nd.zeros((2, 3)), nd.ones((2, 3))])[1][1] for cell in (plain, doubled)]
    assert memories[0].asnumpy().tolist() == [[0.5] * 3] * 2 and memories[1].asnumpy().tolist() == [[1.0] * 3] * 2
