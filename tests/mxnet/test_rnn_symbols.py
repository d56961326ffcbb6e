"""mx.rnn: recurrent cells of symbols, packing of their weights, checkpoints, batches of sentences."""

import random

import numpy as np
import pytest

import compatgrad.mxnet as mx


def run(outputs, values):
    """Values of a symbol's outputs for arrays given by name."""
    group = outputs if isinstance(outputs, mx.sym.Symbol) else mx.sym.Group(list(outputs))
    return [y.asnumpy() for y in group.eval_imperative(values)]


def variables(n):
    return [mx.sym.var(f"t{i}_data") for i in range(n)]


def test_names_and_shapes_of_a_simple_cell():
    cell = mx.rnn.RNNCell(5, prefix="rnn_")
    outputs, states = cell.unroll(3, variables(3), begin_state=[mx.sym.var("h")])
    group = mx.sym.Group(list(outputs))
    assert sorted(cell.params._params) == ["rnn_h2h_bias", "rnn_h2h_weight", "rnn_i2h_bias", "rnn_i2h_weight"]
    assert group.list_outputs() == ["rnn_t0_out_output", "rnn_t1_out_output", "rnn_t2_out_output"]
    assert cell.state_shape == [(0, 5)] and len(states) == 1
    _, shapes, _ = group.infer_shape(t0_data=(2, 4), t1_data=(2, 4), t2_data=(2, 4), h=(2, 5))
    assert shapes == [(2, 5)] * 3


@pytest.mark.parametrize("mode", ["rnn_tanh", "rnn_relu", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_fused_cell_and_its_parts_agree(mode, bidirectional):
    fused = mx.rnn.FusedRNNCell(3, 2, mode, bidirectional, get_next_state=True, prefix="net_")
    stack = fused.unfuse()
    rng = np.random.RandomState(0)
    x = mx.nd.array(rng.randn(4, 2, 5))  # time, batch, features
    sides = 2 if bidirectional else 1
    states = [mx.sym.var(f"s{i}") for i in range(len(fused.state_info))]
    joined, after = fused.unroll(4, mx.sym.var("data"), states, layout="TNC", merge_outputs=True)
    zero = [mx.nd.zeros((2 * sides, 2, 3)) for _ in states]
    shapes, _, _ = joined.infer_shape(data=(4, 2, 5))
    size = dict(zip(joined.list_arguments(), shapes, strict=True))["net_parameters"]
    flat = mx.nd.array(rng.randn(*size) * 0.5)
    named = {f"s{i}": z for i, z in enumerate(zero)}
    out, *last = run(mx.sym.Group([joined, *after]), {"data": x, "net_parameters": flat, **named})
    assert out.shape == (4, 2, 3 * sides) and last[0].shape == (2 * sides, 2, 3)

    parts = fused.unpack_weights({"net_parameters": flat})
    np.testing.assert_array_equal(fused.pack_weights(parts)["net_parameters"].asnumpy(), flat.asnumpy())
    begin = [mx.sym.var(f"b{i}") for i in range(len(stack.state_info))]
    unrolled, _ = stack.unroll(4, mx.sym.var("data"), begin, layout="TNC", merge_outputs=True)
    zeros = {f"b{i}": mx.nd.zeros((2, 3)) for i in range(len(begin))}
    (again,) = run(unrolled, {"data": x, **stack.pack_weights(parts), **zeros})
    np.testing.assert_allclose(again, out, rtol=1e-4, atol=1e-5)
    with pytest.raises(NotImplementedError):
        fused(None, None)


def test_the_weights_of_a_fused_cell_are_initialized_by_part():
    fused = mx.rnn.FusedRNNCell(3, 1, "lstm", forget_bias=2.0, prefix="lstm_")
    attrs = fused.params.get("parameters").list_attr()
    x = mx.nd.zeros((4 * 3 * (5 + 3 + 2),))
    mx.init.Xavier()(mx.init.InitDesc("lstm_parameters", attrs), x)
    parts = fused.unpack_weights({"lstm_parameters": x})
    assert (parts["lstm_l0_i2h_f_bias"].asnumpy() == 2).all() and (parts["lstm_l0_h2h_i_bias"].asnumpy() == 0).all()
    weight = parts["lstm_l0_i2h_c_weight"].asnumpy()
    assert weight.shape == (3, 5) and 0 < abs(weight).max() <= np.sqrt(3 / 4)


def test_packing_the_weights_of_a_cell():
    cell = mx.rnn.LSTMCell(2, prefix="a_")
    args = {f"a_{g}_{k}": mx.nd.arange(8 * (3 if k == "weight" else 1)).reshape((8, -1) if k == "weight" else (8,))
            for g in ("i2h", "h2h") for k in ("weight", "bias")}  # fmt: skip
    parts = cell.unpack_weights(args)
    assert parts["a_i2h_f_bias"].asnumpy().tolist() == [2, 3] and parts["a_h2h_o_weight"].shape == (2, 3)
    for name, x in cell.pack_weights(parts).items():
        np.testing.assert_array_equal(x.asnumpy(), args[name].asnumpy())


def test_modifiers():
    cell = mx.rnn.ResidualCell(mx.rnn.RNNCell(2, prefix="r_"))
    outputs, _ = cell.unroll(2, variables(2), begin_state=[mx.sym.var("h")])
    weights = {"r_i2h_weight": mx.nd.zeros((2, 2)), "r_i2h_bias": mx.nd.zeros((2,)), "h": mx.nd.zeros((1, 2)),
               "r_h2h_weight": mx.nd.zeros((2, 2)), "r_h2h_bias": mx.nd.zeros((2,))}  # fmt: skip
    data = {"t0_data": mx.nd.array([[1.0, 2]]), "t1_data": mx.nd.array([[3.0, 4]])}
    assert [y.tolist() for y in run(outputs, {**weights, **data})] == [[[1, 2]], [[3, 4]]]
    with pytest.raises(AssertionError, match="modifier cell"):
        cell.base_cell.begin_state()
    # at random, outputs are replaced by those of the previous step
    zone = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(50, prefix="z_"), zoneout_outputs=0.5)
    outputs, _ = zone.unroll(1, variables(1), begin_state=[mx.sym.var("h")])
    weights = {"z_i2h_weight": mx.nd.zeros((50, 2)), "z_i2h_bias": mx.nd.ones((50,)), "h": mx.nd.zeros((1, 50)),
               "z_h2h_weight": mx.nd.zeros((50, 50)), "z_h2h_bias": mx.nd.zeros((50,))}  # fmt: skip
    with mx.autograd.train_mode():
        found = run(outputs[0], {**weights, "t0_data": data["t0_data"]})[0]
    assert sorted({round(float(v), 4) for v in found[0]}) == [0.0, 0.7616]
    with pytest.raises(AssertionError, match="unfuse"):
        mx.rnn.ZoneoutCell(mx.rnn.FusedRNNCell(2))
    with pytest.raises(AssertionError, match="must be a number"):
        mx.rnn.DropoutCell("0.5")
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.DropoutCell(0.5))
    assert run(stack.unroll(2, mx.sym.var("data"), merge_outputs=True)[0], {"data": mx.nd.ones((1, 2, 3))})[0].all()


@pytest.mark.parametrize("kind, states", [("ConvRNNCell", 1), ("ConvLSTMCell", 2), ("ConvGRUCell", 1)])
def test_convolutional_cells(kind, states):
    cell = getattr(mx.rnn, kind)(input_shape=(2, 3, 6, 6), num_hidden=4, i2h_stride=(2, 2))
    assert cell.state_shape == [(0, 4, 3, 3)] * states
    begin = [mx.sym.var(f"s{i}") for i in range(states)]
    outputs, after = cell.unroll(2, variables(2), begin)
    group = mx.sym.Group([*outputs, *after])
    shapes = {"t0_data": (2, 3, 6, 6), "t1_data": (2, 3, 6, 6), **{f"s{i}": (2, 4, 3, 3) for i in range(states)}}
    assert set(group.infer_shape(**shapes)[1]) == {(2, 4, 3, 3)}
    with pytest.raises(AssertionError, match="odd"):
        getattr(mx.rnn, kind)(input_shape=(2, 3, 6, 6), num_hidden=4, h2h_kernel=(2, 2))


def test_checkpoints_have_the_weights_of_each_gate(tmp_path):
    cell = mx.rnn.GRUCell(2, prefix="g_")
    out, _ = cell.unroll(1, variables(1), begin_state=[mx.sym.var("h")], merge_outputs=True)
    args = {"g_i2h_weight": mx.nd.ones((6, 3)), "g_h2h_weight": mx.nd.ones((6, 2)), "g_i2h_bias": mx.nd.ones((6,)),
            "g_h2h_bias": mx.nd.arange(6)}  # fmt: skip
    prefix = str(tmp_path / "m")
    mx.rnn.do_rnn_checkpoint(cell, prefix, period=2)(1, out, args, {})
    assert "arg:g_h2h_z_bias" in mx.nd.load(prefix + "-0002.params")
    _, again, _ = mx.rnn.load_rnn_checkpoint(cell, prefix, 2)
    np.testing.assert_array_equal(again["g_h2h_bias"].asnumpy(), np.arange(6))
    with pytest.warns(UserWarning, match="deprecated"):
        mx.rnn.rnn_unroll(cell, 1, variables(1), [mx.sym.var("h")])


def test_sentences():
    coded, vocab = mx.rnn.encode_sentences([["a", "b"], ["b", "c"]], invalid_label=1, start_label=0)
    assert coded == [[0, 2], [2, 3]] and vocab == {"\n": 1, "a": 0, "b": 2, "c": 3}
    with pytest.raises(AssertionError, match="Unknown token d"):
        mx.rnn.encode_sentences([["d"]], vocab)
    assert mx.rnn.encode_sentences([["d", "a"]], vocab, unknown_token="<unk>", start_label=7)[0] == [[7, 0]]

    random.seed(0)
    np.random.seed(0)
    sentences = [[1, 2, 3], [4, 5], [6, 7, 8], [9, 1], [2] * 9, [3]]
    it = mx.rnn.BucketSentenceIter(sentences, 2, buckets=[4, 2], invalid_label=0, layout="TN")
    assert it.default_bucket_key == 4 and it.provide_data[0].shape == (4, 2) and it.provide_data[0].layout == "TN"
    batches = list(it)
    assert sorted(b.bucket_key for b in batches) == [2, 4]
    for b in batches:
        data, label = b.data[0].asnumpy(), b.label[0].asnumpy()
        np.testing.assert_array_equal(label[:-1], data[1:])
        assert data.shape == b.provide_data[0].shape and (label[-1] == 0).all()
    with pytest.raises(ValueError, match="Invalid layout"):
        mx.rnn.BucketSentenceIter(sentences, 2, buckets=[4], layout="T")


def test_a_language_model_is_trained_in_buckets():
    random.seed(1)
    np.random.seed(1)
    sentences = [[1, 2, 3, 4][: 2 + i % 3] for i in range(36)]
    it = mx.rnn.BucketSentenceIter(sentences, 4, invalid_label=0)

    def gen(length):
        data = mx.sym.Embedding(mx.sym.var("data"), input_dim=5, output_dim=6, name="embed")
        stack = mx.rnn.SequentialRNNCell()
        stack.add(mx.rnn.LSTMCell(8, prefix="lstm_"))
        outputs, _ = stack.unroll(length, data, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, (-1, 8)), num_hidden=5, name="pred")
        label = mx.sym.reshape(mx.sym.var("softmax_label"), (-1,))
        out = mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=0, name="softmax")
        return out, ("data",), ("softmax_label",)

    mod = mx.mod.BucketingModule(gen, default_bucket_key=it.default_bucket_key)
    metric = mx.metric.Perplexity(0)
    mx.random.seed(0)
    mod.fit(it, num_epoch=8, eval_metric=metric, optimizer="adam", optimizer_params={"learning_rate": 0.1},
            initializer=mx.init.Xavier())  # fmt: skip
    assert dict(mod.score(it, metric))["perplexity"] < 2
