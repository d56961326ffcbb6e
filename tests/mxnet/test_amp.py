"""Mixed precision: symbols with casts inserted, loss scaling, operators that cast their inputs."""

import json
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.contrib import amp


def network():
    x = mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3), name="conv")
    x = mx.sym.Activation(mx.sym.BatchNorm(x, name="bn"), act_type="relu", name="act")
    z = mx.sym.elemwise_add(x, mx.sym.exp(x, name="e"), name="add")
    w = mx.sym.FullyConnected(z, num_hidden=3, name="fc")
    w = mx.sym.broadcast_add(w, mx.sym.var("p_bias", shape=(1, 3)), name="badd")
    w = mx.sym.Activation(w, act_type="softrelu", name="sr")
    return mx.sym.SoftmaxOutput(w, name="softmax")


def inputs_of(sym):
    """Names of each operator's inputs."""
    nodes = json.loads(sym.tojson(remove_amp_cast=False))["nodes"]
    return {n["name"]: [nodes[i]["name"] for i, *_ in n["inputs"]] for n in nodes if n["op"] != "null"}, nodes


def test_casts_are_inserted_like_mxnet():
    # MXNet 1.9.1 inserts its casts here
    found, nodes = inputs_of(amp.convert_symbol(network(), data_names=["data", "softmax_label"]))
    half = "_amp_cast_float16"
    assert found["conv"] == ["data" + half, "conv_weight" + half, "conv_bias" + half]
    assert found["bn"] == ["conv", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert found["e"] == ["act_output_amp_cast_float32"] and found["add"] == ["act_output_amp_cast_float32", "e"]
    assert found["fc"] == ["add_output" + half, "fc_weight" + half, "fc_bias" + half]
    assert found["badd"] == ["fc_output_amp_multicast"] * 2
    assert found["sr"] == ["badd_output_amp_cast_float32"] and found["softmax"] == ["sr", "softmax_label"]
    types = {n["name"]: n.get("attrs", {}).get("__dtype__") for n in nodes if n["op"] == "null"}
    assert types["conv_weight"] == "0" and types["data"] is None
    # parameters are stored in float16, and an excluded operator stays as it is
    found, nodes = inputs_of(
        amp.convert_symbol(
            network(), data_names=["data", "softmax_label"], cast_optional_params=True, excluded_sym_names=["fc"]
        )  # fmt: skip
    )
    types = {n["name"]: n.get("attrs", {}).get("__dtype__") for n in nodes if n["op"] == "null"}
    assert found["conv"] == ["data" + half, "conv_weight", "conv_bias"] and types["conv_weight"] == "2"
    assert found["fc"] == ["add", "fc_weight", "fc_bias"] and types["fc_weight"] == types["bn_gamma"] == "0"


def test_lists_are_checked():
    net = network()
    with pytest.raises(AssertionError, match="two or more lists"):
        amp.convert_symbol(net, target_dtype_ops=["exp"], fp32_ops=["exp"])
    with pytest.raises(AssertionError, match="not in any of them"):
        amp.convert_symbol(net, target_dtype_ops=["no_such_op"])
    with pytest.raises(AssertionError, match="list of strs"):
        amp.convert_symbol(net, excluded_sym_names="fc")
    amp.convert_symbol(net, excluded_sym_names=["other"])  # the graph has no such name
    with pytest.raises(mx.MXNetError, match="bfloat16"):
        amp.convert_symbol(net, target_dtype="bfloat16")
    assert "Convolution" in amp.list_lp16_ops("float16") and "softmax" in amp.list_fp32_ops("float16")


def test_a_converted_model_computes_about_the_same():
    net = network()
    mod = mx.mod.Module(net)
    mod.bind([("data", (2, 3, 6, 6))], [("softmax_label", (2,))])
    mod.init_params(mx.init.Xavier())
    batch = mx.io.DataBatch([mx.nd.random.uniform(shape=(2, 3, 6, 6))], [mx.nd.zeros((2,))])
    mod.forward(batch, is_train=False)
    expected = mod.get_outputs()[0].asnumpy()
    args, auxs = mod.get_params()
    sym, args, auxs = amp.convert_model(net, dict(args), dict(auxs), cast_optional_params=True)
    assert args["conv_weight"].dtype == np.float16 and args["bn_gamma"].dtype == np.float32
    half = mx.mod.Module(sym)
    half.bind([("data", (2, 3, 6, 6))], [("softmax_label", (2,))], for_training=False)
    half.set_params(args, auxs)
    half.forward(batch)
    np.testing.assert_allclose(half.get_outputs()[0].asnumpy(), expected, atol=5e-3)


def test_a_converted_block():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    net.initialize()
    x = mx.nd.random.uniform(shape=(3, 5))
    with pytest.raises(RuntimeError, match="hybridize"):
        amp.convert_hybrid_block(net, ctx=mx.cpu())
    net.hybridize()
    y = net(x)
    half = amp.convert_hybrid_block(net, ctx=mx.cpu(), cast_optional_params=True)
    out = half(x)
    assert out.dtype == np.float32  # results are cast back
    assert {p.dtype for p in half.collect_params().values()} == {np.float16}
    np.testing.assert_allclose(out.asnumpy(), y.asnumpy(), atol=2e-3)


def test_results_are_float32_and_sums_of_unknown_types_use_the_widest():
    x, y = mx.sym.var("x"), mx.sym.var("y")

    def fc(data, name="fc"):
        return mx.sym.FullyConnected(data, num_hidden=3, no_bias=True, name=name)

    def converted(sym):
        found, _ = inputs_of(amp.convert_symbol(sym))
        return found

    both = mx.sym.Group([fc(x), mx.sym.elemwise_add(fc(x), mx.sym.exp(y, name="e"), name="a")])
    assert amp.convert_symbol(both).list_outputs() == ["fc_output_amp_cast_float32_output", "a_output"]
    assert converted(both)["a"] == ["fc_output_amp_cast_float32", "e"]
    assert converted(mx.sym.elemwise_add(x, y, name="a"))["a"] == ["x_amp_multicast"] * 2
    assert converted(mx.sym.elemwise_add(fc(x), fc(y, "g"), name="a"))["a"] == ["fc", "g"]
    assert amp.convert_symbol(mx.sym.Group([x])).list_outputs() == ["x_amp_cast_float32_output"]


def test_bodies_of_loops_are_converted():
    x, y = mx.sym.var("x"), mx.sym.var("y")
    s, _ = mx.sym.contrib.foreach(
        lambda d, h: (mx.sym.FullyConnected(d, num_hidden=4, no_bias=True, name="in") + h, h), x, y
    )
    e = amp.convert_symbol(mx.sym.FullyConnected(s, num_hidden=3, name="fc")).simple_bind(
        mx.cpu(), x=(2, 3, 4), y=(3, 4)
    )
    assert e.forward()[0].shape == (2, 3) and e.outputs[0].dtype == np.float32


def test_files_have_no_casts_unless_they_are_asked_for(tmp_path):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    pair = mx.sym.amp_multicast(mx.sym.amp_cast(mx.sym.amp_cast(x, dtype="float16"), dtype="float32"), y, num_outputs=2)
    sym = mx.sym.elemwise_add(pair[0], pair[1], name="sum")
    file = str(tmp_path / "s.json")
    sym.save(file)
    for written in (sym.tojson(), open(file).read(), pickle.loads(pickle.dumps(sym)).tojson(remove_amp_cast=False)):
        nodes = json.loads(written)["nodes"]
        assert [n["name"] for n in nodes] == ["x", "y", "sum"] and nodes[2]["inputs"] == [[0, 0, 0], [1, 0, 0]]
    sym.save(file, remove_amp_cast=False)
    assert len(json.load(open(file))["nodes"]) == len(json.loads(sym.tojson(remove_amp_cast=False))["nodes"]) == 6
    head = mx.sym.amp_cast(x, dtype="float16")
    assert json.loads(head.tojson())["nodes"][1]["op"] == "amp_cast"


def test_the_loss_scaler():
    scaler = amp.loss_scaler.LossScaler()
    p = mx.gluon.Parameter("p", shape=(2,))
    p.initialize()
    assert not scaler.has_overflow([p]) and scaler.loss_scale == 2**16
    p.grad()[:] = np.inf
    assert scaler.has_overflow([p])
    p.grad()[:] = 0
    scaler.has_overflow([p])
    assert scaler.loss_scale == 2**15
    scaler._unskipped = 1999
    scaler.has_overflow([p])
    scaler.has_overflow([p])
    assert scaler.loss_scale == 2**16


PROGRAM = """
import numpy as np, pytest
import compatgrad.mxnet as mx
from compatgrad.mxnet.contrib import amp
from compatgrad.mxnet.contrib.amp import _functions

net = mx.gluon.nn.Dense(1, use_bias=False, in_units=2)
net.initialize(mx.init.One())
trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
with pytest.raises(AssertionError, match="amp.init"):
    amp.init_trainer(trainer)
amp.init()
amp.init()  # nothing happens
assert amp.amp._amp_initialized
amp.init_trainer(trainer)
with pytest.raises(TypeError, match="Gluon Trainer"):
    amp.init_trainer(mx.optimizer.SGD())
x = mx.nd.array([[1.0, 2.0]])
for overflow in (False, True):
    with mx.autograd.record():
        loss = net(x).sum()
        with amp.scale_loss(loss, trainer) as scaled:
            scaled.backward()
    assert (net.weight.grad().asnumpy() == [[65536, 131072]]).all()
    if overflow:
        net.weight.grad()[:] = np.nan
    trainer.step(1)
    assert net.weight.data().asnumpy().tolist() == [[0.5, 0.0]]
with mx.autograd.record(), amp.scale_loss(net(x).sum(), trainer) as scaled:
    scaled.backward()
amp.unscale(trainer)
assert net.weight.grad().asnumpy().tolist() == [[1, 2]]

# arrays of devices that take float16
_functions._takes_half = lambda x: True
a = mx.nd.ones((2, 2))
y = mx.nd.FullyConnected(a, a, no_bias=True, num_hidden=2)
assert y.dtype == np.float16
assert mx.nd.exp(y).dtype == np.float32 and mx.nd.concat(y, a, dim=0).dtype == np.float32
assert mx.nd.concat(y, y, dim=0).dtype == np.float16
assert mx.nd.Activation(y, act_type="softrelu").dtype == np.float32
assert mx.nd.Activation(y, act_type="relu").dtype == np.float16
assert net(x).dtype == np.float16
s = mx.sym.FullyConnected(mx.sym.var("d"), num_hidden=2, name="f")
assert "amp_cast" in s.tojson(remove_amp_cast=False)
assert s.list_arguments() == ["d", "f_weight", "f_bias"]
# output operators multiply their gradients by the scale
a.attach_grad()
with mx.autograd.record():
    out = mx.nd.LinearRegressionOutput(a, mx.nd.zeros((2, 2)))
out.backward()
print("scale", a.grad.asnumpy()[0, 0])
"""


def test_training_in_mixed_precision():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "scale 32768.0" in done.stdout  # the scale 65536 over the two outputs of a row
