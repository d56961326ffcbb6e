"""What real MXNet 1.9.1's layers, blocks and Trainer give.

    PYTHON -m tests.golden.mxnet_gluon

records mxnet_gluon.npz (numbers), mxnet_gluon.json (names, text) and two parameter files beside this file; PYTHON is
an interpreter in which the real MXNet runs. `layer`, `train`, `facts` and `network` run unchanged on compatgrad.
"""

import pathlib

import numpy as np

from tests.golden import files

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE / "mxnet_gluon.npz"
FACTS = HERE / "mxnet_gluon.json"


def numbers(shape, seed=0):
    return np.random.RandomState(seed + 7 * len(shape) + sum(shape)).uniform(-1, 1, shape).astype("float32")


def fill(mx, params):
    """Gives initialised parameters values that no framework has drawn."""
    for i, name in enumerate(sorted(params.keys())):
        param = params[name]
        value = numbers(param.shape, i)
        if name.endswith(("running_var", "gamma")):
            value = np.abs(value) + 0.5
        param.set_data(mx.nd.array(value))


# name -> (expression of a layer, shape of the data)
LAYERS = {
    "dense": ("nn.Dense(4)", (3, 5)),
    "dense_flat": ("nn.Dense(4, activation='tanh')", (3, 2, 5)),
    "dense_last": ("nn.Dense(4, flatten=False, use_bias=False)", (3, 2, 5)),
    "conv1d": ("nn.Conv1D(4, 3, strides=2, padding=1)", (2, 3, 7)),
    "conv2d": ("nn.Conv2D(4, (3, 2), padding=(1, 0), activation='relu')", (2, 3, 6, 5)),
    "conv2d_groups": ("nn.Conv2D(6, 3, strides=2, dilation=2, groups=3, use_bias=False)", (2, 3, 8, 8)),
    "conv3d": ("nn.Conv3D(2, 2)", (2, 2, 3, 4, 3)),
    "deconv1d": ("nn.Conv1DTranspose(4, 3, strides=2, output_padding=1)", (2, 3, 5)),
    "deconv2d": ("nn.Conv2DTranspose(4, 3, strides=2, padding=1, in_channels=3)", (2, 3, 4, 5)),
    "deconv2d_groups": ("nn.Conv2DTranspose(4, 3, groups=2, in_channels=6)", (2, 6, 3, 3)),
    "deconv3d": ("nn.Conv3DTranspose(2, 2)", (1, 2, 2, 3, 2)),
    "maxpool1d": ("nn.MaxPool1D()", (2, 3, 7)),
    "maxpool2d": ("nn.MaxPool2D(3, strides=2, padding=1, ceil_mode=True)", (2, 3, 6, 6)),
    "maxpool3d": ("nn.MaxPool3D()", (1, 2, 4, 4, 5)),
    "avgpool1d": ("nn.AvgPool1D(3, 2, 1)", (2, 3, 7)),
    "avgpool2d": ("nn.AvgPool2D((2, 3), padding=(1, 1), count_include_pad=False)", (2, 3, 6, 6)),
    "avgpool2d_full": ("nn.AvgPool2D(3, 2, ceil_mode=True)", (2, 3, 6, 6)),
    "avgpool3d": ("nn.AvgPool3D()", (1, 2, 4, 4, 5)),
    "globalmax": ("nn.GlobalMaxPool2D()", (2, 3, 4, 5)),
    "globalavg": ("nn.GlobalAvgPool1D()", (2, 3, 4)),
    "globalavg3d": ("nn.GlobalAvgPool3D()", (2, 3, 4, 2, 2)),
    "reflect": ("nn.ReflectionPad2D(2)", (2, 3, 4, 5)),
    "batchnorm": ("nn.BatchNorm()", (4, 3, 5)),
    "batchnorm_noscale": ("nn.BatchNorm(scale=False, momentum=0.5, epsilon=1e-3)", (4, 3)),
    "batchnorm_nocenter": ("nn.BatchNorm(center=False)", (4, 3, 2, 2)),
    "batchnorm_last": ("nn.BatchNorm(axis=-1)", (4, 3, 5)),
    "batchnorm_global": ("nn.BatchNorm(use_global_stats=True)", (4, 3, 5)),
    "instancenorm": ("nn.InstanceNorm(scale=True)", (2, 3, 4, 5)),
    "instancenorm_last": ("nn.InstanceNorm(axis=2)", (2, 3, 4)),
    "layernorm": ("nn.LayerNorm()", (3, 2, 5)),
    "layernorm_axis": ("nn.LayerNorm(axis=1, epsilon=1e-3, scale=False)", (3, 4, 5)),
    "groupnorm": ("nn.GroupNorm(2)", (2, 4, 3, 3)),
    "embedding": ("nn.Embedding(6, 4)", (3, 2)),
    "relu": ("nn.Activation('relu')", (3, 4)),
    "softrelu": ("nn.Activation('softrelu')", (3, 4)),
    "softsign": ("nn.Activation('softsign')", (3, 4)),
    "sigmoid": ("nn.Activation('sigmoid')", (3, 4)),
    "leaky": ("nn.LeakyReLU(0.2)", (3, 4)),
    "prelu": ("nn.PReLU()", (3, 4)),
    "prelu_channels": ("nn.PReLU(in_channels=4)", (3, 4, 2)),
    "elu": ("nn.ELU(0.7)", (3, 4)),
    "selu": ("nn.SELU()", (3, 4)),
    "gelu": ("nn.GELU()", (3, 4)),
    "swish": ("nn.Swish(1.5)", (3, 4)),
    "flatten": ("nn.Flatten()", (3, 4, 2)),
    "lambda": ("nn.Lambda('tanh')", (3, 4)),
    "hybridlambda": ("nn.HybridLambda(lambda F, x: F.square(x))", (3, 4)),
    "dropout_zero": ("nn.Dropout(0.0)", (3, 4)),
    "identity": ("gluon.contrib.nn.Identity()", (3, 4)),
    "deformable": ("gluon.contrib.cnn.DeformableConvolution(4, (3, 2), 2, 1, activation='tanh')", (2, 3, 6, 5)),
    "deformable_groups": (
        "gluon.contrib.cnn.DeformableConvolution(4, 3, dilation=2, groups=2, num_deformable_group=2, use_bias=False, "
        "offset_use_bias=False)",
        (2, 4, 7, 6),
    ),
    "shuffle1": ("gluon.contrib.nn.PixelShuffle1D(2)", (2, 4, 3)),
    "shuffle2": ("gluon.contrib.nn.PixelShuffle2D((2, 3))", (1, 12, 2, 3)),
    "shuffle3": ("gluon.contrib.nn.PixelShuffle3D((2, 1, 3))", (1, 6, 2, 2, 2)),
}


def layer(mx, name):
    """Values and gradients of a layer while training and predicting."""
    autograd, gluon, nd, nn = mx.autograd, mx.gluon, mx.nd, mx.gluon.nn
    expression, shape = LAYERS[name]
    with mx.name.NameManager():
        net = eval(expression, {"nn": nn, "gluon": gluon})
    net.initialize()
    x = nd.array(numbers(shape)) if name != "embedding" else nd.array(np.arange(6).reshape(shape) % 5)
    net(x)
    params = net.collect_params()
    fill(mx, params)
    if name != "embedding":
        x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward(nd.array(numbers(y.shape, 1)))
    out = {"y": y.asnumpy(), "test": net(x).asnumpy()}
    if x.grad is not None:
        out["gx"] = x.grad.asnumpy()
    for key, param in params.items():
        what = key.split("_", 1)[1]
        out["value_" + what] = param.data().asnumpy()
        if param.grad_req != "null":
            out["grad_" + what] = param.grad().asnumpy()
    return out


def network(mx, prefix="net_"):
    """A small convolutional network with most kinds of parameters."""
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
        net.add(nn.Flatten(), nn.Dense(6, activation="tanh"), nn.Dense(3))
    return net


TRAININGS = {
    "sgd": dict(optimizer="sgd", options={"learning_rate": 0.1}),
    "momentum": dict(optimizer="sgd", options={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    "adam": dict(optimizer="adam", options={"learning_rate": 0.01}, hybridize=True),
    "add": dict(optimizer="sgd", options={"learning_rate": 0.1}, grad_req="add"),
    "multipliers": dict(optimizer="sgd", options={"learning_rate": 0.1, "wd": 0.1}, multipliers=True),
    "device": dict(optimizer="sgd", options={"learning_rate": 0.1, "momentum": 0.9}, contexts=2),
    "local": dict(optimizer="adam", options={"learning_rate": 0.01}, contexts=2, kvstore="local"),
    "apart": dict(optimizer="sgd", options={"learning_rate": 0.1}, contexts=2, on_store=False),
}


def train(mx, name):
    """Losses and parameters of a few steps."""
    autograd, gluon, nd = mx.autograd, mx.gluon, mx.nd
    how = TRAININGS[name]
    contexts = [mx.cpu(i) for i in range(how.get("contexts", 1))]
    net = network(mx)
    net.initialize(ctx=contexts)
    if how.get("hybridize"):
        net.hybridize()
    data, label = numbers((6, 2, 4, 4), 3), numbers((6, 3), 4)
    parts = list(zip(*[gluon.utils.split_and_load(nd.array(a), contexts) for a in (data, label)], strict=True))
    for x, _ in parts:
        net(x)
    params = net.collect_params()
    fill(mx, params)
    params.setattr("grad_req", how.get("grad_req", "write"))
    if how.get("multipliers"):
        net.collect_params(".*bias").setattr("lr_mult", 0.0)
        net.collect_params(".*weight").setattr("wd_mult", 0.5)
    trainer = gluon.Trainer(
        params,
        how["optimizer"],
        how["options"],
        kvstore=how.get("kvstore", "device"),
        update_on_kvstore=how.get("on_store"),
    )
    losses = []
    for step in range(4):
        with autograd.record():
            outs = [nd.sum(nd.square(net(x) - t)) for x, t in parts]
        for out in outs:
            out.backward()
        if how.get("on_store") is False:
            trainer.allreduce_grads()
            trainer.update(6)
        else:
            trainer.step(6)
        losses.append(sum(out.asscalar() for out in outs))
        if step == 1:
            trainer.set_learning_rate(trainer.learning_rate / 2)
        if how.get("grad_req") == "add" and step % 2:
            params.zero_grad()
    out = {"losses": np.array(losses)}
    for key, param in params.items():
        out["value_" + key] = param.data(contexts[-1]).asnumpy()
        if param.grad_req != "null":
            out["grad_" + key] = param.grad(contexts[-1]).asnumpy()
    return out


def facts(mx):
    """Names and text: representations, parameter names, messages."""
    gluon, nd, nn = mx.gluon, mx.nd, mx.gluon.nn
    found = {}

    def note(key, make):
        try:
            found[key] = repr(make())
        except Exception as error:
            found[key] = [type(error).__name__, str(error)]

    with mx.name.NameManager():
        layers = [eval(text, {"nn": nn, "gluon": gluon}) for text, _ in LAYERS.values()]
        for key, made in zip(LAYERS, layers, strict=True):
            note("repr " + key, lambda made=made: made)
            found["name " + key] = [made.name, *made.collect_params().keys()]
        net = nn.HybridSequential()
        with net.name_scope():
            inner = nn.HybridSequential()
            with inner.name_scope():
                inner.add(nn.Dense(3), nn.Dense(2, activation="relu"))
            net.add(inner, nn.Dense(5), gluon.contrib.nn.HybridConcurrent(axis=1))
        note("nested", lambda: net)
        note("names", lambda: list(net.collect_params()))
        note("selected", lambda: list(net.collect_params(".*weight|.*dense0_bias")))
        note("paths", lambda: list(net._collect_params_with_prefix()))
        note("params", lambda: net.collect_params())
        note("slice", lambda: net[:2])
        note("item", lambda: net[1])
        shared = nn.Dense(5, params=net[1].params)
        note("shared", lambda: list(shared.collect_params()) + [shared.weight is net[1].weight, shared.name])
        dense = nn.Dense(3)
        note("not initialized", lambda: dense(nd.zeros((2, 3))))
        note("data of none", lambda: dense.weight.data())
        dense.initialize()
        note("deferred", lambda: dense.weight.data())
        note("deferred grad", lambda: dense.weight.grad())
        note("trainer deferred", lambda: gluon.Trainer(dense.collect_params(), "sgd").step(1))
        dense(nd.zeros((2, 3)))
        note("elsewhere", lambda: dense.weight.data(mx.cpu(1)))
        note("call elsewhere", lambda: dense(nd.zeros((2, 3), ctx=mx.cpu(1))))
        note("no array", lambda: dense("a"))
        note("none", lambda: dense(None))
        note("set int", lambda: setattr(dense, "weight", 3))
        note("stale", lambda: gluon.Trainer(dense.collect_params(), "sgd").step(1))
        note("bad params", lambda: gluon.Trainer(3, "sgd"))
        note("bad list", lambda: gluon.Trainer([3], "sgd"))
        note("bad shape", lambda: gluon.Parameter("x", shape=(2, 0)).initialize())
        note("no shape", lambda: gluon.Parameter("x").initialize())
        note("bad req", lambda: gluon.Parameter("x", grad_req="foo"))
        note("bad stype", lambda: gluon.Parameter("x", stype="foo"))
        note("int shape", lambda: gluon.Parameter("x", shape=3))
        p = gluon.Parameter("x", shape=(2, 3))
        note("reset none", lambda: p.reset_ctx(mx.cpu()))
        note("ctx of none", lambda: p.list_ctx())
        note("set none", lambda: p.set_data(nd.zeros((2, 3))))
        p.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        note("list ctx", lambda: p.list_ctx())
        note("set shape", lambda: p.set_data(nd.zeros((3, 3))))
        p.grad_req = "null"
        note("no grad", lambda: p.grad())
        note("no rows", lambda: p.row_sparse_data(nd.array([1])))
        note("constant", lambda: gluon.Constant("c", [[1, 2], [3, 4]]))
        group = gluon.ParameterDict("q_")
        group.get("w", shape=(2, 0))
        group.get("w", shape=(0, 3))
        note("dict", lambda: group)
        note("dict shape", lambda: group.get("w", shape=(3, 3)))
        note("dict constant", lambda: group.get_constant("z"))
        note("dict dtype", lambda: group.get("w", dtype="float64"))
        note("dict key", lambda: group["zz"])
        note("hybrid child", lambda: nn.HybridSequential().add(nn.Lambda("tanh")))
        note("split", lambda: gluon.utils.split_data(nd.ones((5, 2)), 2))
        note(
            "split uneven",
            lambda: [list(a.shape) for a in gluon.utils.split_data(nd.ones((5, 2)), 3, even_split=False)],
        )
        note("split axis", lambda: [list(a.shape) for a in gluon.utils.split_data(nd.ones((5, 4)), 2, 1)])
    return found


def save_files(mx):
    """Writes a network's parameters under paths and under full names."""
    net = network(mx)
    net.initialize()
    net(mx.nd.zeros((1, 2, 4, 4)))
    fill(mx, net.collect_params())
    net.save_parameters(str(HERE / "mxnet_gluon_paths.params"))
    net.collect_params().save(str(HERE / "mxnet_gluon_names.params"), strip_prefix="net_")


def main():
    import mxnet as mx

    arrays = {}
    for kind, cases, run in (("layer", LAYERS, layer), ("train", TRAININGS, train)):
        for name in cases:
            for key, value in run(mx, name).items():
                arrays[f"{kind}/{name}/{key}"] = value
    files.write(GOLDEN, arrays, files.versions("mxnet"))
    files.write(FACTS, facts(mx), files.versions("mxnet"))
    save_files(mx)


if __name__ == "__main__":
    main()
