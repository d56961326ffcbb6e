"""Mistakes of people who port a program: Typical mistakes: each error names the argument and the expected type."""

import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: F.max_pooling(x, 2), "kernel"),
        (lambda x: F.max_pooling(x, (2, 2), 2), "stride"),
        (lambda x: PF.convolution(x, 4, (3, 3), pad=1, name="pad"), "pad"),
        (lambda x: F.reshape(x, 6), "shape"),
        (lambda x: nn.Variable(5), "shape"),
        (lambda x: x.reset_shape(5), "shape"),
    ],
    ids=["kernel", "stride", "pad", "reshape", "Variable", "reset_shape"],
)
def test_a_number_in_place_of_a_tuple_is_named(call, name):
    with pytest.raises(TypeError, match=rf"{name}.* tuple of integers"):
        call(nn.Variable((2, 3, 8, 8)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: PF.convolution(x, 4, 3),
        lambda x: PF.deconvolution(x, 4, 3),
        lambda x: PF.depthwise_convolution(x, 3),
        lambda x: PF.depthwise_deconvolution(x, 3),
        lambda x: PF.svd_convolution(x, 4, 3, r=1),
        lambda x: PF.cpd3_convolution(x, 4, 3, r=1),
        lambda x: PF.binary_connect_convolution(x, 4, 3),
        lambda x: PF.inq_convolution(x, 4, 3),
    ],
)
def test_a_kernel_is_several_numbers(call):
    with pytest.raises(TypeError, match="convolution: kernel must be a tuple of integers, one per spatial axis, not 3"):
        call(nn.Variable((2, 3, 8, 8)))


def test_a_parameter_of_another_shape_is_named_with_its_scopes():
    nn.clear_parameters()
    with nn.parameter_scope("net"):
        PF.affine(nn.Variable((5, 3)), 4, name="fc")
        with pytest.raises(ValueError, match="parameter 'net/fc/affine/W' has shape"):
            PF.affine(nn.Variable((5, 7)), 4, name="fc")
    nn.clear_parameters()


def test_a_name_in_place_of_a_context_is_refused_in_words():
    with pytest.raises(AttributeError, match="expected a Context, such as get_extension_context"):
        nn.set_default_context("cpu")


def test_a_variable_in_place_of_parameters_is_refused_in_words():
    with pytest.raises(AttributeError, match=r"expected a dict of Variables, such as nn\.get_parameters\(\)"):
        S.Adam().set_parameters(nn.Variable((2,)))


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda: S.Sgd(lr="0.1"), "Sgd: lr"),
        (lambda: S.Adam(beta1="0.9"), "Adam: beta1"),
        (lambda: S.AdamW(wd="0.1"), "AdamW: wd"),
        (lambda: S.Sgd().set_learning_rate("0.1"), "Sgd: learning_rate"),
        (lambda: S.Sgd().weight_decay("0.1"), "Sgd: decay_rate"),
        (lambda: S.Sgd().clip_grad_by_norm("1"), "Sgd: clip_norm"),
        (lambda: S.Sgd().scale_grad("1"), "Sgd: scale"),
    ],
    ids=["lr", "beta1", "wd", "learning_rate", "decay_rate", "clip_norm", "scale"],
)
def test_a_solver_s_argument_that_is_no_number_is_named(call, name):
    with pytest.raises(TypeError, match=f"{name} must be real number, not str"):
        call()


IMAGE, KERNEL = (1, 2, 6, 6), (2, 2, 3, 3)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda v: F.convolution(v(IMAGE), v(KERNEL), stride=(0, 0)), "convolution: stride must be positive"),
        (lambda v: F.convolution(v(IMAGE), v(KERNEL), dilation=(0, 1)), "convolution: dilation must be positive"),
        (lambda v: F.convolution(v(IMAGE), v(KERNEL), group=0), "convolution: group must be at least 1"),
        (lambda v: F.deconvolution(v(IMAGE), v(KERNEL), stride=(-1, 1)), "deconvolution: stride must be positive"),
        (lambda v: F.deconvolution(v(IMAGE), v(KERNEL), group=0), "deconvolution: group must be at least 1"),
        (lambda v: F.depthwise_deconvolution(v(IMAGE), v((2, 3, 3)), divisor=0), "divisor must be at least 1"),
        (lambda v: F.max_pooling(v(IMAGE), (2, 2), stride=(0, 0)), "max_pooling: stride must be positive"),
        (lambda v: F.average_pooling(v(IMAGE), (0, 2)), "average_pooling: kernel must be positive"),
        (lambda v: F.sum_pooling(v(IMAGE), (2, 2), stride=(2, -2)), "sum_pooling: stride must be positive"),
    ],
)
def test_a_zero_that_a_size_is_divided_by_is_named(call, words):
    """The original ends the process here (SIGFPE)."""
    with pytest.raises((RuntimeError, ValueError), match=words):
        call(nn.Variable)


def test_weights_without_inputs_are_refused_in_words():
    with pytest.raises(ValueError, match=r"weights without inputs or outputs: 0 maps and a kernel of shape \(2,\)"):
        PF.depthwise_deconvolution(nn.Variable((1, 0, 5)), (2,))
    nn.clear_parameters()
