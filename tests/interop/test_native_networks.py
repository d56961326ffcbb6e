"""`interop.to_native`: shapes of networks and names that source has to cope with."""

import re

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
from compatgrad.nnabla.initializer import ConstantInitializer
from tests.interop.test_native_layers import Model, accepted, image


def written(model, *inputs, **options):
    return accepted(interop.to_native(model, *inputs, **options), "train", "eval")


def test_shared_layer_is_one_layer():
    result = written(Model(lambda self, x: self.l(F.relu(self.l(x))), l=L.Linear(4, 4)), image(3, 4))
    assert result.source.count("nn.Linear(") == 1 and result.source.count("self.l(") == 2


def test_shared_parameter_is_tied():
    class Tied(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed, self.out = L.EmbedID(6, 4), L.Linear(4, 6)
            self.out.W = self.embed.W

        def forward(self, ids):
            return self.out(F.sum(self.embed(ids), axis=1))

    result = written(Tied(), torch.tensor([[1, 2], [0, 5]]))
    parameters = dict(result.module.named_parameters())
    assert len(parameters) == 2 and sum("weight" in name for name in parameters) == 1


def test_branches_inputs_and_outputs():
    link = Model(lambda self, a, b: {"sum": self.one(a) + self.two(b), "both": (self.one(b), F.concat([a, b]))},
                 one=L.Linear(4, 3), two=L.Linear(4, 3))  # fmt: skip
    result = written(link, image(3, 4), image(3, 4))
    found = result.module(image(5, 4), image(5, 4))
    assert set(found) == {"sum", "both"} and found["both"][1].shape == (5, 8)


def test_no_parameters():
    result = written(lambda x: F.tanh(x) * 2 + 1, image(3, 4), frontend="chainer")
    assert result.state_dict == {}


def test_constants_are_buffers():
    table = np.arange(12, dtype="f").reshape(3, 4)
    result = written(Model(lambda self, x: self.l(x * table[0]) @ table, l=L.Linear(4, 3)), image(5, 4))
    assert sum(name.startswith("constant") for name in result.state_dict) == 2


def test_parameters_without_layer():
    class Scaled(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.scale = chainer.Parameter(np.full(4, 2, "f"))

        def forward(self, x):
            return x * F.broadcast_to(self.scale, x.shape)

    result = written(Scaled(), image(3, 4))
    assert "self.scale = nn.Parameter(torch.zeros((4,)))  # scale" in result.source


def test_hostile_names():
    link = chainer.Chain()
    names = ["class", "weight", "torch", "a b", "a_b", "1", 'x"""\nimport os', "é", "self", "F"]
    for name in names:
        link.add_link(name, L.Linear(4, 4)) if name.isidentifier() else None
    odd = [n for n in names if not n.isidentifier()]
    for name in odd:
        child = L.Linear(4, 4)
        child.name = name
        link._children.add(name)
        link.__dict__[name] = child

    def forward(x):
        for name in names:
            x = link.__dict__[name](x)
        return x

    result = written(forward, image(3, 4), parameters=link, name="class")
    assert result.source.count("nn.Linear(") == len(names)
    assert not re.search(r"^\s*import os", result.source, re.M)
    assert set(result.legacy_names.values()) == {f"{n}/{k}" for n in names for k in "Wb"}


def test_part_of_a_network_is_a_class():
    def block():
        return Model(lambda self, x: F.relu(self.norm(self.conv(x)) + x), conv=L.Convolution2D(4, 4, 3, pad=1),
                     norm=L.BatchNormalization(4))  # fmt: skip

    link = Model(
        lambda self, x: self.two(self.one(self.first(x))), first=L.Convolution2D(4, 4, 1), one=block(), two=block()
    )
    result = written(link, image(2, 4, 6, 6))
    assert result.source.count("class ") == 2, "equal parts share a class"
    assert "one.conv.bias" in result.state_dict


def test_statistics_of_the_batch_in_both_modes():
    def forward(self, x):
        with chainer.using_config("train", True):
            return self.norm(x)

    result = written(Model(forward, norm=L.BatchNormalization(4)), image(5, 4))
    result.module.eval()
    before = result.module.norm.running_mean.clone()
    result.module(image(5, 4))
    assert not torch.equal(before, result.module.norm.running_mean)


def test_frozen_statistics_in_train_mode():
    def forward(self, x):
        with chainer.using_config("train", False):
            return self.norm(x)

    result = written(Model(forward, norm=L.BatchNormalization(4)), image(5, 4))
    result.module.train()
    before = result.module.norm.running_mean.clone()
    result.module(image(5, 4))
    assert torch.equal(before, result.module.norm.running_mean)


def test_calls_that_depend_on_the_size():
    """At the sizes of the recording the network makes other calls than at the examples'."""

    def forward(x):
        return F.reshape(x, (len(x) // 2, -1) if len(x) % 2 == 0 else (1, -1)) * 2

    result = written(forward, image(4, 3), frontend="chainer")
    assert result.module(image(4, 3)).shape == (2, 6)
    assert any("the sizes are fixed" in note for note in result.notes)


def test_shape_of_data():
    written(lambda x: F.reshape(x, (x.data.shape[0] * 2, len(x.data[...]) if x.data is None else -1)), image(3, 4),
            frontend="chainer")  # fmt: skip


def test_values_are_not_read():
    with pytest.raises(interop.NativeError, match=r"a value is read.*test_native_networks"):
        interop.to_native(lambda x: x * float(F.sum(x).array), image(3, 4), frontend="chainer")
    with pytest.raises(interop.NativeError, match="a value is read"):
        interop.to_native(lambda x: F.where(x.array > 0, x, -x), image(3, 4), frontend="chainer")


def unchained(x):
    h = F.exp(x)
    h.unchain()
    return x * h


STOPS = {
    "chainer's unchain": (unchained, "chainer", ".detach()"),
    "mxnet's BlockGrad": (lambda x: x * mx.nd.BlockGrad(mx.nd.exp(x)), "mxnet", ".detach()"),
    "mxnet's detach": (lambda x: x * mx.nd.exp(x).detach(), "mxnet", ".detach()"),
    "the same values with and without": (lambda x: (h := mx.nd.exp(x)) * h.detach(), "mxnet", "* h1.detach()"),
    "nnabla's unlinked variable": (lambda x: x * NF.exp(x).get_unlinked_variable(need_grad=False), "nnabla",
                                   ".detach()"),
    "nnabla's quantization": (lambda x: NF.fixed_point_quantize(x, n=4, delta=0.5), "nnabla", ">= -3.5"),
    "nnabla's quantization without limits": (
        lambda x: NF.fixed_point_quantize(x, sign=False, n=2, delta=0.5, ste_fine_grained=False), "nnabla",
        ".detach()"),
    "nnabla's round": (lambda x: NF.round(x) * x, "nnabla", ".detach() + (x - x.detach())"),
    "nnabla's ceil and floor": (lambda x: (NF.ceil(x) * NF.floor(x)) * x, "nnabla", "torch.floor(x).detach() + ("),
    "nnabla's sign": (lambda x: NF.sign(x, alpha=0.0) * x, "nnabla", ".detach() + (x - x.detach())"),
    "nnabla's binary_tanh": (lambda x: NF.binary_tanh(x) * x, "nnabla", "F.hardtanh("),
    "nnabla's binary_sigmoid": (lambda x: NF.binary_sigmoid(x) * x, "nnabla", "0.5 * (F.hardtanh("),
    "nnabla's powers of two": (lambda x: NF.pow2_quantize(x, n=3, m=0) * x, "nnabla", ".abs() < 1.41"),
    "nnabla's positive powers": (lambda x: NF.pow2_quantize(x, sign=False, n=3, m=1) * x, "nnabla", "& (x >= 0)"),
    "nnabla's prune": (lambda x: NF.prune(x, 0.5) * x, "nnabla", ".detach() + (x - x.detach())"),
    "mxnet's round_ste": (lambda x: mx.nd.contrib.round_ste(x) * x, "mxnet", ".detach() + (x - x.detach())"),
}  # fmt: skip


@pytest.mark.parametrize("name", STOPS)
def test_gradients_end_where_those_of_the_network_do(name):
    forward, frontend, text = STOPS[name]
    result = interop.to_native(forward, 3 * image(3, 4), frontend=frontend)
    assert text in accepted(result, *(["eval"] if frontend == "nnabla" else ["train", "eval"])).source


def test_parameters_without_gradient_are_not_trained():
    """nnabla's `fix_parameters`."""
    nn.clear_parameters()

    def forward(x):
        return PF.affine(PF.affine(x, 4, name="fixed", fix_parameters=True), 4, name="trained")

    forward(nn.Variable((5, 4)))
    parameters = nn.get_parameters(grad_only=False)
    result = accepted(interop.to_native(forward, image(5, 4), frontend="nnabla", parameters=parameters), "eval")
    trained = {name for name, p in result.module.named_parameters() if p.requires_grad}
    assert trained == {"trained.weight", "trained.bias"}
    assert "self.fixed.requires_grad_(False)" in result.source
    nn.clear_parameters()


def test_sign_of_integers_has_no_gradient():
    result = interop.to_native(lambda x: NF.sign(x) * 2, torch.tensor([[3, 0], [-1, 2]]), frontend="nnabla")
    assert "detach" not in accepted(result, "eval").source


def test_amplified_rounding_is_no_difference():
    """A sum of large numbers loses digits in float32, and torch's attention adds in another order."""

    def forward(q, k, v):
        weights = NF.softmax(NF.batch_matmul(q, k, transpose_b=True) * 0.5, axis=2)
        return NF.batch_matmul(weights, v + 1e4) - 1e4

    inputs = image(3, 5, 4), image(3, 6, 4) * 2, image(3, 6, 3)
    result = accepted(interop.to_native(forward, *inputs, frontend="nnabla"), "eval")
    assert "scaled_dot_product_attention" in result.source
    assert any("differ by rounding" in note and "output 0: " in note for note in result.notes)
    found = result.differences["eval"]
    assert found.rounded and found.outputs == 0 and found.wrong == ""


def test_small_differences_that_are_no_rounding_are_noticed():
    def forward(x):
        return x + 0.01 * NF.pow_scalar(x, 2).get_unlinked_variable(need_grad=False)

    result = accepted(interop.to_native(forward, image(5, 4), frontend="nnabla"), "eval")
    assert ".detach()" in result.source and result.notes == []


def test_learned_steps_of_nnabla():
    """Numbers are rounded to multiples of a power of two, whose exponent is learned through the rounding."""
    nn.clear_parameters()

    def rounded(x):
        step = nn.parameter.get_parameter_or_create("step", (), ConstantInitializer(0.3), need_grad=True)
        step = 2 ** NF.round(NF.log(NF.minimum_scalar(NF.maximum_scalar(step, 0.01), 1)) / np.log(2))
        step = NF.broadcast(NF.reshape(step, (1,) * x.ndim, inplace=False), x.shape)
        return step * NF.round(NF.clip_by_value(x, -3 * step, 3 * step) / step)

    def forward(x):
        return PF.affine(rounded(x), 3, apply_w=rounded, with_bias=False)

    forward(nn.Variable((5, 4)))
    parameters = nn.get_parameters(grad_only=False)
    result = accepted(interop.to_native(forward, image(5, 4), frontend="nnabla", parameters=parameters), "eval")
    result.module(image(5, 4)).sum().backward()
    assert float(result.module.step.grad.abs()) > 0.1, "the step is learned"
    nn.clear_parameters()


def test_normalized_and_quantized_weights_of_nnabla():
    for forward, text in (
        (lambda x: PF.affine(x, 3, apply_w=lambda w: PF.spectral_norm(w, dim=0, test=True)), "torch.mv("),
        (lambda x: PF.fixed_point_quantized_affine(x, 3, delta_w=0.25), "W_q"),
    ):
        nn.clear_parameters()
        forward(nn.Variable((5, 4)))
        parameters = nn.get_parameters(grad_only=False)
        result = interop.to_native(forward, image(5, 4), frontend="nnabla", parameters=parameters)
        assert text in accepted(result, "eval").source
    nn.clear_parameters()


def test_gradients_that_are_no_derivatives_are_noticed():
    nn.clear_parameters()
    PF.binary_connect_affine(nn.Variable((5, 4)), 3)
    with pytest.raises(interop.NativeError, match=r"the gradient of .*W differs.*no derivatives"):
        interop.to_native(lambda x: PF.binary_connect_affine(x, 3), image(5, 4), frontend="nnabla",
                          parameters=nn.get_parameters(grad_only=False))  # fmt: skip
    nn.clear_parameters()


def test_static_graph_of_nnabla():
    nn.clear_parameters()
    x = nn.Variable((2, 3, 8, 8))
    y = PF.affine(NF.relu(PF.convolution(x, 4, (3, 3))), 5)
    x.d = np.random.RandomState(0).normal(size=x.shape)
    y.forward()
    result = interop.to_native(y, x, parameters=nn.get_parameters(grad_only=False), name="Net")
    accepted(result, "eval")
    assert result.module(image(7, 3, 8, 8)).shape == (7, 5)
    nn.clear_parameters()


def test_wrong_arguments():
    with pytest.raises(ValueError, match="train and training"):
        interop.to_native(L.Linear(2, 2), image(1, 2), train=True, training=lambda x: x)
    with pytest.raises(TypeError, match="example_inputs: expected tensors"):
        interop.to_native(L.Linear(2, 2))
    with pytest.raises(TypeError, match="expected a link, a block"):
        interop.to_native(3, image(1, 2))
