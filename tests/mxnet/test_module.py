"""Modules: binding, training, prediction, checkpoints, several contexts, buckets, chains."""

import logging
import pickle

import numpy as np
import pytest

import compatgrad.mxnet as mx

BATCHES = mx.io.DataBatch


def perceptron():
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="fc1")
    x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=3, name="fc2")
    return mx.sym.SoftmaxOutput(x, name="softmax")


def samples(n=60):
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 3, n).astype("float32")
    return (rng.randn(n, 4) * 0.1 + np.eye(4)[labels.astype(int)]).astype("float32"), labels


def trained(contexts, kvstore="local", epochs=6, **kwargs):
    data, labels = samples()
    mx.random.seed(1)
    mod = mx.mod.Module(perceptron(), context=contexts)
    mod.fit(mx.io.NDArrayIter(data, labels, 20), num_epoch=epochs, kvstore=kvstore, initializer=mx.init.Xavier(),
            optimizer_params={"learning_rate": 0.5, "momentum": 0.9}, **kwargs)  # fmt: skip
    return mod


def test_fit_score_predict():
    seen, ends = [], []
    data, labels = samples()
    mod = trained(mx.cpu(), eval_data=mx.io.NDArrayIter(data, labels, 20), batch_end_callback=seen.append,
                  epoch_end_callback=[lambda *args: ends.append(args)])  # fmt: skip
    assert len(seen) == 18 and seen[-1].nbatch == 2 and seen[-1].epoch == 5 and seen[-1].locals["self"] is mod
    assert len(ends) == 6 and sorted(ends[0][2]) == ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight"]
    assert dict(mod.score(mx.io.NDArrayIter(data, labels, 20), ["acc", "ce"]))["accuracy"] == 1.0
    # predictions of the samples that fill up the last batch are dropped
    test = mx.io.NDArrayIter(data[:50], labels[:50], 20)
    out = mod.predict(test)
    assert out.shape == (50, 3)
    np.testing.assert_array_equal(out.asnumpy().argmax(1), labels[:50])
    assert [[y.shape for y in b] for b in mod.predict(test, merge_batches=False)] == [[(20, 3)], [(20, 3)], [(10, 3)]]
    assert len(mod.predict(test, num_batch=1, always_output_list=True)) == 1
    assert mod.predict(mx.nd.array(data[:20])).shape == (20, 3)
    with pytest.raises(ValueError):
        mod.predict([1, 2])
    assert [(n, b.pad) for _, n, b in mod.iter_predict(test)] == [(0, 0), (1, 0), (2, 10)]


@pytest.mark.parametrize("kvstore", ["local", "device", None])
def test_several_contexts_train_as_one(kvstore):
    one, two = trained(mx.cpu()), trained([mx.cpu(0), mx.cpu(1)], kvstore if kvstore else "local")
    for name, x in one.get_params()[0].items():
        np.testing.assert_allclose(two.get_params()[0][name].asnumpy(), x.asnumpy(), rtol=1e-4, atol=1e-5)
    parts = two.get_outputs(merge_multi_context=False)
    assert [x.shape for x in parts[0]] == [(10, 3), (10, 3)]


def test_checkpoints(tmp_path):
    mod = trained(mx.cpu())
    prefix = str(tmp_path / "model")
    mod.save_checkpoint(prefix, 3, save_optimizer_states=True)
    again = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    again.bind([("data", (20, 4))], [("softmax_label", (20,))])
    again.init_optimizer(optimizer_params={"learning_rate": 0.5, "momentum": 0.9})
    data, labels = samples()
    batch = BATCHES([mx.nd.array(data[:20])], [mx.nd.array(labels[:20])])
    for m in (mod, again):
        m.forward_backward(batch)
        m.update()
    for name, x in mod.get_params()[0].items():
        np.testing.assert_array_equal(again.get_params()[0][name].asnumpy(), x.asnumpy())
    mod.save_params(str(tmp_path / "p"))
    mod.load_params(str(tmp_path / "p"))
    mx.nd.save(str(tmp_path / "q"), {"other:x": mx.nd.ones((1,))})
    with pytest.raises(ValueError, match="Invalid param file"):
        mod.load_params(str(tmp_path / "q"))


def test_names_are_checked():
    with pytest.raises(ValueError, match="data_names=.*is not found"):
        mx.mod.Module(perceptron(), data_names=["input"])
    with pytest.warns(UserWarning, match="label_names"):
        mx.mod.Module(perceptron(), label_names=["other"])
    mod = mx.mod.Module(perceptron())
    with pytest.raises(ValueError, match="data_shapes don't match"):
        mod.bind([("input", (2, 4))])
    with pytest.raises(AssertionError, match="call bind"):
        mod.init_params()


def bound(**kwargs):
    mod = mx.mod.Module(perceptron())
    mod.bind([("data", (4, 4))], [("softmax_label", (4,))], **kwargs)
    return mod


def test_parameters_from_dicts():
    mod = bound()
    with pytest.raises(RuntimeError, match="is not presented"):
        mod.init_params(arg_params={"fc1_weight": mx.nd.ones((8, 4))})
    mod.init_params(mx.init.Zero(), arg_params={"fc1_weight": mx.nd.ones((8, 4))}, allow_missing=True)
    with pytest.warns(UserWarning, match="ignored"):
        mod.init_params()
    args, _ = mod.get_params()
    assert args["fc1_weight"].asnumpy().sum() == 32 and args["fc2_weight"].asnumpy().sum() == 0
    mod.set_params({"fc2_bias": mx.nd.ones((3,))}, {}, allow_missing=True)
    assert mod.get_params()[0]["fc2_bias"].asnumpy().sum() == 3
    extra = {**mod.get_params()[0], "more": mx.nd.ones((1,))}
    with pytest.raises(ValueError, match="more"):
        mod.set_params(extra, {}, allow_missing=True)
    mod.set_params(extra, {}, allow_extra=True)


def test_input_gradients_and_requests():
    mod = bound(inputs_need_grad=True, grad_req={"fc1_weight": "null", "fc2_bias": "add"})
    mod.init_params(mx.init.One())
    batch = BATCHES([mx.nd.ones((4, 4))], [mx.nd.array([0, 1, 2, 0])])
    grads = []
    for _ in range(2):
        mod.forward(batch)
        mod.backward()
        grads.append(mod._exec_group.grad_arrays[3][0].asnumpy())
    assert mod._exec_group.grad_arrays[0][0] is None
    np.testing.assert_allclose(grads[1], 2 * grads[0], rtol=1e-6)
    (g,) = mod.get_input_grads()
    assert g.shape == (4, 4) and mod.output_shapes == [("softmax_output", (4, 3))]
    fixed = mx.mod.Module(perceptron(), fixed_param_names=["fc1_weight"])
    fixed.bind([("data", (4, 4))], [("softmax_label", (4,))])
    assert fixed._exec_group.grad_arrays[0][0] is None


def test_other_shapes_than_bound():
    mod = bound()
    mod.init_params(mx.init.One())
    for n in (2, 6, 4):
        mod.forward(BATCHES([mx.nd.ones((n, 4))], [mx.nd.zeros((n,))]))
        assert mod.get_outputs()[0].shape == (n, 3)
        mod.backward()
    mod.reshape([("data", (1, 4))], [("softmax_label", (1,))])
    assert mod.data_shapes[0].shape == (1, 4)


def test_states():
    x, s = mx.sym.var("data"), mx.sym.var("s")
    mod = mx.mod.Module(mx.sym.Group([x + s, s * 2]), label_names=None, state_names=["s"])
    mod.bind([("data", (1, 2))])
    mod.init_params()
    mod.set_states(value=3)
    mod.forward(BATCHES([mx.nd.ones((1, 2))]))
    out = mod.get_outputs(merge_multi_context=False)
    assert out[0][0].asnumpy().tolist() == [[4, 4]]
    mod.set_states(states=out[1:])
    assert mod.get_states(merge_multi_context=False)[0][0].asnumpy().tolist() == [[6, 6]]


def test_a_manual_optimizer_is_warned_about():
    mod = bound()
    mod.init_params()
    with pytest.warns(UserWarning, match="rescale_grad"):
        mod.init_optimizer(optimizer=mx.optimizer.SGD())
    assert mod._optimizer.idx2name[0] == "fc1_weight"


def test_monitor(caplog):
    mod = bound()
    mod.init_params(mx.init.One())
    mon = mx.mon.Monitor(1, pattern=".*weight|.*output")
    mod.install_monitor(mon)
    mon.tic()
    mod.forward(BATCHES([mx.nd.ones((4, 4))], [mx.nd.zeros((4,))]))
    names = {name for _, name, _ in mon.toc()}
    assert {"fc1_weight", "fc2_weight", "softmax_output"} <= names


def buckets(key):
    x = mx.sym.FullyConnected(mx.sym.sum(mx.sym.var("data"), axis=1), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)


def bucket_batch(length):
    shape = (2, length, 4)
    return BATCHES([mx.nd.ones(shape)], [mx.nd.array([0, 1])], bucket_key=length, provide_data=[("data", shape)],
                   provide_label=[("softmax_label", (2,))])  # fmt: skip


def test_buckets_share_parameters_and_optimizer(tmp_path):
    mod = mx.mod.BucketingModule(buckets, default_bucket_key=5)
    mod.bind([("data", (2, 5, 4))], [("softmax_label", (2,))])
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1})
    for length in (5, 3, 5, 2):
        mod.forward_backward(bucket_batch(length))
        mod.update()
    assert sorted(mod._buckets) == [2, 3, 5] and mod._curr_bucket_key == 2
    weights = {k: m._exec_group.execs[0].arg_dict["fc_weight"] for k, m in mod._buckets.items()}
    assert weights[2] is weights[3] is weights[5]
    prefix = str(tmp_path / "b")
    mod.save_checkpoint(prefix, 1)
    again = mx.mod.BucketingModule.load(prefix, 1, sym_gen=buckets, default_bucket_key=5)
    again.bind([("data", (2, 5, 4))], [("softmax_label", (2,))])
    for m in (mod, again):
        m.forward(bucket_batch(3), is_train=False)
    np.testing.assert_array_equal(again.get_outputs()[0].asnumpy(), mod.get_outputs()[0].asnumpy())


def test_a_chain_with_a_loss_in_python():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    chain = mx.mod.SequentialModule()
    loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: mx.nd.softmax(scores) - mx.nd.one_hot(labels, 3))
    chain.add(mx.mod.Module(net, label_names=[])).add(loss, take_labels=True, auto_wiring=True)
    with pytest.raises(AssertionError, match="Unknown meta"):
        chain.add(loss, other=True)
    data, labels = samples()
    train = mx.io.NDArrayIter(data, labels, 20)
    chain.fit(train, num_epoch=5, optimizer_params={"learning_rate": 1.0})
    assert dict(chain.score(train, "acc"))["accuracy"] > 0.9
    assert sorted(chain.get_params()[0]) == ["fc_bias", "fc_weight"]


def test_binding_twice_is_logged(caplog):
    mod = bound()
    with caplog.at_level(logging.WARNING):
        mod.bind([("data", (4, 4))])
    assert "Already bound" in caplog.text


def test_parts_of_a_batch():
    from compatgrad.mxnet.executor_manager import _check_arguments, _split_input_slice

    assert _split_input_slice(10, [1, 1, 2]) == [slice(0, 2), slice(2, 4), slice(4, 10)]
    with pytest.raises(ValueError, match="Too many slices"):
        _split_input_slice(1, [1, 1])
    x = mx.sym.var("x")
    with pytest.raises(ValueError, match='"x"'):
        _check_arguments(x + mx.sym.var("x"))


def test_feed_forward(tmp_path):
    data, labels = samples()
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward.create(
            perceptron(), data, labels, num_epoch=20, learning_rate=0.5, momentum=0.9, initializer=mx.init.Xavier(),
            numpy_batch_size=20, eval_data=(data, labels),
        )  # fmt: skip
    out = model.predict(data)
    assert out.shape == (60, 3) and isinstance(out, np.ndarray)
    test = mx.io.NDArrayIter(data, labels, 25)
    assert model.score(test) == (out.argmax(1) == labels).mean() == 1.0
    _, again, given = model.predict(test, return_data=True)
    np.testing.assert_array_equal(again, data)
    np.testing.assert_array_equal(given, labels)
    prefix = str(tmp_path / "ff")
    model.save(prefix)
    with pytest.warns(DeprecationWarning):
        loaded = mx.model.FeedForward.load(prefix, 20)
    np.testing.assert_array_equal(loaded.predict(data), out)
    with pytest.raises(ValueError, match="y must be specified"):
        model.fit(data)


def test_groups_of_operators_have_contexts_of_their_own():
    with mx.AttrScope(ctx_group="a"):
        x = mx.sym.var("x")
    y = x + mx.sym.var("y")
    e = y.simple_bind(mx.cpu(0), group2ctx={"a": mx.cpu(1)}, x=(2,), y=(2,))
    assert e.arg_dict["x"].context == mx.cpu(1) and e.grad_dict["x"].context == mx.cpu(1)
    assert e.arg_dict["y"].context == mx.cpu(0)


def test_executors_share_parameters_and_memory_of_data():
    net, buffer = perceptron(), {}
    first = net.simple_bind(mx.cpu(), data=(6, 4), shared_arg_names=["fc1_weight"], shared_buffer=buffer)
    second = net.simple_bind(
        mx.cpu(), data=(3, 4), shared_arg_names=["fc1_weight"], shared_exec=first, shared_buffer=buffer
    )
    assert second.arg_dict["fc1_weight"] is first.arg_dict["fc1_weight"]
    assert second.grad_dict["fc1_weight"] is first.grad_dict["fc1_weight"]
    first.arg_dict["data"][:] = 7
    assert second.arg_dict["data"].shape == (3, 4) and (second.arg_dict["data"].asnumpy() == 7).all()
    with pytest.raises(mx.MXNetError, match="fc1_weight has shape"):
        net.simple_bind(mx.cpu(), data=(3, 5), shared_arg_names=["fc1_weight"], shared_exec=first)


def test_square_sum():
    x = mx.nd.array([[1, 2], [3, 4]])
    assert mx.nd._internal._square_sum(x, axis=1, keepdims=True).asnumpy().tolist() == [[5], [25]]
    assert mx.sym._internal._square_sum(mx.sym.var("x"), axis=0).eval(x=x)[0].asnumpy().tolist() == [10, 20]


def test_slopes_of_prelu_begin_with_a_quarter():
    net = mx.sym.LeakyReLU(mx.sym.var("data"), act_type="prelu", name="p")
    mod = mx.mod.Module(net, label_names=None)
    mod.bind([("data", (2, 3))])
    mod.init_params()
    assert mod.get_params()[0]["p_gamma"].asnumpy().tolist() == [0.25] * 3


@pytest.mark.parametrize("arrays, error", [({"x": mx.nd.ones((2,))}, ValueError), ([mx.nd.ones((2,))], AttributeError)])
def test_files_without_kinds_of_parameters_are_refused_by_name(tmp_path, arrays, error):
    mx.nd.save(str(tmp_path / "m-0001.params"), arrays)
    with pytest.raises(error, match="m-0001.params: expected arrays named arg:NAME"):
        mx.model.load_params(str(tmp_path / "m"), 1)
    mod = bound()
    mod.init_params()
    with pytest.raises(error, match="m-0001.params: expected arrays named arg:NAME"):
        mod.load_params(str(tmp_path / "m-0001.params"))


def test_feed_forward_predicts_with_parameters_only():
    with pytest.warns(DeprecationWarning):
        model = mx.model.FeedForward(perceptron())
    with pytest.raises(AttributeError, match="call fit"):
        model.predict(np.ones((2, 4), np.float32))


def test_an_epoch_may_be_a_float(tmp_path):
    mx.model.save_checkpoint(str(tmp_path / "m"), 2.0, None, {"a": mx.nd.ones((2,))}, {})
    assert mx.model.load_params(str(tmp_path / "m"), 2)[0]["a"].shape == (2,)
    with pytest.raises(TypeError):
        mx.model.save_checkpoint(str(tmp_path / "m"), "2", None, {}, {})


@pytest.mark.parametrize(
    "content, error",
    [
        (b"", EOFError),
        (b"no pickle", pickle.UnpicklingError),
        (pickle.dumps([1]), AttributeError),
        (pickle.dumps({0: None})[:-1], (EOFError, pickle.UnpicklingError)),
    ],
)
def test_damaged_states_of_optimizers_are_told_by_name(tmp_path, content, error):
    path = tmp_path / "a.states"
    path.write_bytes(content)
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")

    def step():
        with mx.autograd.record():
            y = net(mx.nd.ones((1, 3)))
        y.backward()
        trainer.step(1)

    step()
    mod = bound()
    mod.init_params()
    mod.init_optimizer(kvstore=None)
    for load in (trainer.load_states, mod.load_optimizer_states):
        with pytest.raises(error, match="a.states"):
            load(str(path))
    step()  # the states from before the failed load still work
