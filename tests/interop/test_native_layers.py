"""`interop.to_native`: each kind of layer of each frontend becomes torch's, with the same outputs and gradients."""

import ast
import sys

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as CF
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon


def imports(source):
    """The packages that a source file imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found


def accepted(result, *modes):
    """Whether a result is torch alone and was compared in these modes."""
    assert imports(result.source) <= {"torch", "math"}
    assert set(result.differences) == set(modes)
    assert result.kept == {}
    return result


def image(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


class Model(chainer.Chain):
    def __init__(self, forward, **links):
        super().__init__()
        with self.init_scope():
            for name, link in links.items():
                setattr(self, name, link)
        self._forward = forward

    def forward(self, *xs):
        return self._forward(self, *xs)


CHAINER = {
    "Linear": (L.Linear(6, 3), (4, 6), "nn.Linear(6, 3)"),
    "Linear without bias": (L.Linear(6, 3, nobias=True), (4, 6), "nn.Linear(6, 3, bias=False)"),
    "Convolution1D": (L.Convolution1D(2, 4, 3, pad=1), (2, 2, 7), "nn.Conv1d(2, 4, 3, padding=1)"),
    "Convolution2D": (L.Convolution2D(4, 6, (3, 2), stride=2, pad=1, groups=2), (2, 4, 7, 6),
                      "nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2)"),
    "Convolution3D": (L.Convolution3D(2, 3, 2), (2, 2, 4, 4, 4), "nn.Conv3d(2, 3, 2)"),
    "DilatedConvolution2D": (L.DilatedConvolution2D(2, 3, 3, dilate=2), (2, 2, 8, 8),
                             "nn.Conv2d(2, 3, 3, dilation=2)"),
    "Deconvolution2D": (L.Deconvolution2D(3, 5, 4, stride=2, pad=1), (2, 3, 5, 5),
                        "nn.ConvTranspose2d(3, 5, 4, stride=2, padding=1)"),
    "Deconvolution2D of a size": (L.Deconvolution2D(3, 5, 3, stride=2, pad=1, outsize=(10, 10)), (2, 3, 5, 5),
                                  "output_padding=1"),
    "BatchNormalization": (L.BatchNormalization(3, decay=0.8, eps=1e-3), (4, 3, 5, 5),
                           "nn.BatchNorm2d(3, eps=0.001, momentum=0.2)"),
    "BatchNormalization of rows": (L.BatchNormalization(3), (6, 3), "nn.BatchNorm1d(3, eps=2e-05)"),
    "BatchNormalization without scale": (L.BatchNormalization(3, use_gamma=False, use_beta=False), (6, 3),
                                         "nn.BatchNorm1d(3, eps=2e-05, affine=False)"),
    "BatchNormalization without beta": (L.BatchNormalization(3, use_beta=False), (6, 3),
                                        "batchnorm.bias.requires_grad_(False)"),
    "LayerNormalization": (L.LayerNormalization(6), (4, 6), "nn.LayerNorm(6, eps=1e-06)"),
    "GroupNormalization": (L.GroupNormalization(2, 4), (3, 4, 5, 5), "nn.GroupNorm(2, 4)"),
    "PReLU": (L.PReLU(()), (3, 4), "nn.PReLU()"),
    "PReLU of channels": (L.PReLU((4,)), (3, 4, 2), "nn.PReLU(4)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAINER)
def test_layer_of_chainer(name):
    link, shape, text = CHAINER[name]
    result = accepted(interop.to_native(link, image(*shape)), "train", "eval")
    assert text in result.source


NNABLA = {
    "affine": (lambda x: PF.affine(x, 5), (4, 2, 3), "nn.Linear(6, 5)"),
    "affine of the last axes": (lambda x: PF.affine(x, 5, base_axis=2), (4, 2, 3), "nn.Linear(3, 5)"),
    "convolution": (lambda x: PF.convolution(x, 4, (3, 3), pad=(1, 1), with_bias=False), (2, 3, 6, 6),
                    "nn.Conv2d(3, 4, 3, padding=1, bias=False)"),
    "depthwise_convolution": (lambda x: PF.depthwise_convolution(x, (3, 3), multiplier=2), (2, 3, 6, 6),
                              "nn.Conv2d(3, 6, 3, groups=3)"),
    "deconvolution": (lambda x: PF.deconvolution(x, 4, (4, 4), stride=(2, 2), pad=(1, 1)), (2, 3, 5, 5),
                      "nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1)"),
    "batch_normalization": (lambda x: PF.batch_normalization(x, decay_rate=0.8, batch_stat=False), (4, 3, 5, 5),
                            "nn.BatchNorm2d(3, momentum=0.2)"),
    "prelu": (lambda x: PF.prelu(x), (4, 3), "nn.PReLU()"),
}  # fmt: skip


@pytest.mark.parametrize("name", NNABLA)
def test_layer_of_nnabla(name):
    function, shape, text = NNABLA[name]
    nn.clear_parameters()
    function(nn.Variable(shape))
    result = interop.to_native(
        function, image(*shape), parameters=nn.get_parameters(grad_only=False), frontend="nnabla"
    )
    accepted(result, "eval")
    assert text in result.source
    nn.clear_parameters()


def test_parameters_of_nnabla_in_double_precision():
    """nnabla computes with them in single precision."""
    nn.clear_parameters()
    PF.affine(nn.Variable((4, 6)), 5)
    parameters = nn.get_parameters(grad_only=False)
    parameters["affine/W"].d = np.arange(30.0).reshape(6, 5)
    result = interop.to_native(lambda x: PF.affine(x, 5), image(4, 6), parameters=parameters, frontend="nnabla")
    assert "nn.Linear(6, 5)" in accepted(result, "eval").source
    assert parameters["affine/W"].d.dtype == np.float64
    nn.clear_parameters()


def test_statistics_of_the_batch_in_nnabla_are_those_of_train_mode():
    nn.clear_parameters()
    x = image(4, 3, 5, 5)
    PF.batch_normalization(nn.Variable(x.shape))
    parameters = nn.get_parameters(grad_only=False)
    result = accepted(interop.to_native(PF.batch_normalization, x, parameters=parameters, frontend="nnabla"), "train")
    assert result.module.training
    both = interop.to_native(
        lambda x: PF.batch_normalization(x, batch_stat=False),
        x,
        parameters=parameters,
        frontend="nnabla",
        training=PF.batch_normalization,
    )
    accepted(both, "train", "eval")
    nn.clear_parameters()


GLUON = {
    "Dense": (lambda: gluon.nn.Dense(5), (4, 6), "nn.Linear(6, 5)"),
    "Dense of rows": (lambda: gluon.nn.Dense(5, flatten=False, activation="relu"), (4, 2, 6), "nn.Linear(6, 5)"),
    "Conv2D": (lambda: gluon.nn.Conv2D(4, 3, padding=1, strides=2), (2, 3, 6, 6),
               "nn.Conv2d(3, 4, 3, stride=2, padding=1)"),
    "Conv2DTranspose": (lambda: gluon.nn.Conv2DTranspose(4, 3, strides=2, output_padding=1), (2, 3, 5, 5),
                        "nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1)"),
    "BatchNorm": (lambda: gluon.nn.BatchNorm(momentum=0.8, epsilon=1e-3), (4, 3, 5, 5),
                  "nn.BatchNorm2d(3, eps=0.001, momentum=0.2)"),
    "BatchNorm of global statistics": (lambda: gluon.nn.BatchNorm(use_global_stats=True), (4, 3), "nn.BatchNorm1d"),
    "LayerNorm": (lambda: gluon.nn.LayerNorm(), (4, 6), "nn.LayerNorm(6)"),
    "PReLU": (lambda: gluon.nn.PReLU(), (4, 6), "torch.where("),
    "SELU": (lambda: gluon.nn.SELU(), (4, 6), "F.selu("),
}  # fmt: skip


@pytest.mark.parametrize("name", GLUON)
def test_layer_of_gluon(name):
    make, shape, text = GLUON[name]
    block = make()
    block.initialize(mx.init.Xavier() if len(shape) > 1 and "Norm" not in name and name != "PReLU" else None)
    result = accepted(interop.to_native(block, image(*shape)), "train", "eval")
    assert text in result.source


def test_embeddings():
    ids = torch.tensor([[0, 3, 1], [2, 2, 4]])
    result = accepted(interop.to_native(L.EmbedID(5, 3), ids), "train", "eval")
    assert "nn.Embedding(5, 3)" in result.source
    block = gluon.nn.Embedding(5, 3)
    block.initialize()
    result = accepted(interop.to_native(block, ids.float()), "train", "eval")
    assert "nn.Embedding(5, 3)" in result.source
    nn.clear_parameters()
    PF.embed(nn.Variable((2, 3)), 5, 4)
    result = interop.to_native(
        lambda x: PF.embed(x, 5, 4), ids, parameters=nn.get_parameters(grad_only=False), frontend="nnabla"
    )
    accepted(result, "eval")
    assert "nn.Embedding(5, 4)" in result.source
    nn.clear_parameters()


FUNCTIONS = {
    "max_pooling_2d": (lambda x: CF.max_pooling_2d(x, 3, 2), "F.max_pool2d(x, 3, stride=2"),
    "average_pooling_2d": (lambda x: CF.average_pooling_2d(x, 2), "F.avg_pool2d(x, 2)"),
    "a global mean": (lambda x: CF.average_pooling_2d(x, x.shape[2:]), "F.adaptive_avg_pool2d(x, 1)"),
    "dropout": (lambda x: CF.dropout(x, 0.25), "F.dropout(x, 0.25, training=self.training)"),
    "softmax": (lambda x: CF.softmax(x), "F.softmax(x, 1)"),
    "leaky_relu": (CF.leaky_relu, "F.leaky_relu(x, 0.2)"),
    "reshape": (lambda x: CF.reshape(x, (len(x), -1)), "x.flatten(1)"),
    "reshape to no axis": (lambda x: CF.reshape(CF.sum(x, keepdims=True), ()), ".reshape(())"),
    "reshape of the batch": (lambda x: CF.reshape(x, (len(x) * 2, -1)), "x.shape[0] * 2"),
    "concat": (lambda x: CF.concat([x, x * 2], axis=1), "torch.cat("),
    "transpose": (lambda x: CF.transpose(x, (0, 2, 3, 1)), "x.permute(0, 2, 3, 1)"),
    "slices": (lambda x: x[:, 1:3] + x[:, :2], "x[:, 1:3]"),
    "selu": (lambda x: CF.selu(x), "F.elu(x, 1.6732632423543772) * 1.0507009873554805"),
    "selu with other numbers": (lambda x: CF.selu(x, 1.5, 2.0), "F.elu(x, 1.5) * 2.0"),
    "elu": (lambda x: CF.elu(x, 0.5), "F.elu(x, 0.5)"),
    "leaky_relu of many digits": (lambda x: CF.leaky_relu(x, 0.0123456789), "F.leaky_relu(x, 0.0123456789)"),
    "not a number": (lambda x: x * float("nan"), "math.nan"),
    "depth2space": (lambda x: CF.depth2space(x, 2), ".permute("),
    "bilinear": (lambda x: CF.bilinear(x[:, 0, 0], x[:, 1, 1], np.ones((6, 6, 2), "f")), "constant_0"),
    "lrn": (lambda x: CF.local_response_normalization(x), "F.local_response_norm(x, 5, alpha=0.0005"),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    function, text = FUNCTIONS[name]
    result = accepted(interop.to_native(function, image(2, 4, 6, 6), frontend="chainer"), "train", "eval")
    assert text in result.source.replace("input_0", "x")


def test_batch_size_stays_free():
    link = Model(lambda self, x: self.out(CF.max_pooling_2d(CF.relu(self.conv(x)), 2)),
                 conv=L.Convolution2D(3, 4, 3), out=L.Linear(None, 2))  # fmt: skip
    result = accepted(interop.to_native(link, image(2, 3, 8, 8)), "train", "eval")
    x = image(5, 3, 8, 8)
    np.testing.assert_allclose(result.module(x).detach().numpy(), link(x.numpy()).array, rtol=1e-5, atol=1e-6)
    assert result.notes == []


def test_gradients_are_those_of_the_network():
    link = Model(lambda self, x: CF.tanh(self.norm(self.conv(x))), conv=L.Convolution2D(3, 4, 3),
                 norm=L.BatchNormalization(4))  # fmt: skip
    result = accepted(interop.to_native(link, image(2, 3, 8, 8)), "train", "eval")
    x = image(3, 3, 8, 8)
    result.module.train()
    (result.module(x) ** 2).sum().backward()
    with chainer.using_config("train", True):
        y = CF.sum(link(x.numpy()) ** 2)
    link.cleargrads()
    y.backward()
    for name, legacy in (("conv.weight", link.conv.W), ("norm.weight", link.norm.gamma), ("norm.bias", link.norm.beta)):
        own = result.module.get_parameter(name).grad.numpy()
        np.testing.assert_allclose(own, legacy.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(result.module.norm.running_var.numpy(), link.norm.avg_var, rtol=1e-5)


def test_saved_files_need_torch_only(tmp_path):
    result = interop.to_native(L.Linear(3, 2), image(4, 3), name="Small")
    source, weights = result.save(tmp_path / "made")
    with pytest.raises(FileExistsError, match="force=True"):
        result.save(tmp_path / "made")
    result.save(tmp_path / "made", force=True)
    sys.path.insert(0, str(tmp_path / "made"))
    try:
        import small
    finally:
        sys.path.pop(0)
    module = small.Small()
    module.load_state_dict(torch.load(weights))
    x = image(4, 3)
    assert torch.equal(module(x), result.module(x))
    assert source.endswith("small.py")


def test_nnabla_dropout_is_drawn_by_torch_in_a_trace():
    result = interop.to_native(lambda x: NF.dropout(x, 0.5), image(4, 30), frontend="nnabla")
    accepted(result, "train")
    assert 0 < int((result.module(image(4, 30)) == 0).sum()) < 120


def test_scale_that_a_symbol_fixes_is_one():
    data = mx.sym.var("data")
    symbol = mx.sym.Convolution(mx.sym.BatchNorm(data, name="norm", fix_gamma=True), num_filter=2, kernel=(3, 3))
    block = gluon.SymbolBlock(symbol, [data])
    block.initialize(mx.init.Uniform(1))
    block(mx.nd.ones((2, 3, 5, 5)))
    result = accepted(interop.to_native(block, image(2, 3, 5, 5)), "train", "eval")
    assert result.source.count("nn.BatchNorm2d(") == 1
    assert not result.module.norm.weight.requires_grad and bool((result.module.norm.weight == 1).all())
