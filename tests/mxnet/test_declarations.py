"""Symbols take inputs, outputs and states of operators from the declarations. Names and numbers are MXNet 1.9.1's."""

import numpy as np
import pytest

from compatgrad import mxnet as mx

S = mx.sym
X = S.Variable("x")


@pytest.mark.parametrize("name", ["BatchNorm", "BatchNorm_v1"])
def test_states_of_batch_normalizations(name):
    symbol = getattr(S, name)(X, name="n", output_mean_var=True)
    assert symbol.list_arguments() == ["x", "n_gamma", "n_beta"]
    assert symbol.list_auxiliary_states() == ["n_moving_mean", "n_moving_var"]
    assert symbol.list_outputs() == ["n_output", "n_mean", "n_var"]
    x = np.arange(12, dtype="f").reshape(4, 3)
    executor = symbol.simple_bind(mx.cpu(), x=x.shape)
    executor.arg_dict["x"][:] = x
    executor.arg_dict["n_gamma"][:] = 1
    y, mean, _ = executor.forward(is_train=True)
    np.testing.assert_allclose(y.asnumpy(), (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3), rtol=1e-5)
    np.testing.assert_allclose(mean.asnumpy(), x.mean(0))
    executor.backward([mx.nd.ones(v.shape) for v in executor.outputs])
    np.testing.assert_allclose(executor.aux_dict["n_moving_mean"].asnumpy(), 0.1 * x.mean(0), rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (lambda: S.Convolution_v1(X, kernel=(1, 1), num_filter=2, name="n"), ["x", "n_weight", "n_bias"]),
        (lambda: S.Convolution(X, kernel=(1,), num_filter=2, no_bias=True, name="n"), ["x", "n_weight"]),
        (lambda: S.Deconvolution(X, kernel=(1,), num_filter=2, name="n"), ["x", "n_weight"]),
        (lambda: S.LeakyReLU(X, name="n"), ["x"]),
        (lambda: S.LeakyReLU(X, act_type="prelu", name="n"), ["x", "n_gamma"]),
        (lambda: S.SequenceMask(X, use_sequence_length=True, name="n"), ["x", "n_sequence_length"]),
        (lambda: S.RNN(X, state_size=2, num_layers=1, mode="gru", name="n"), ["x", "n_parameters", "n_state"]),
        (
            lambda: S.RNN(X, state_size=2, num_layers=1, mode="lstm", name="n"),
            ["x", "n_parameters", "n_state", "n_state_cell"],
        ),
    ],
)
def test_parameters_decide_about_inputs_that_become_variables(make, arguments):
    assert make().list_arguments() == arguments


@pytest.mark.parametrize(
    ("make", "outputs"),
    [
        (lambda: S.SliceChannel(X, num_outputs=2, name="n"), ["n_output0", "n_output1"]),
        (lambda: S.topk(X, ret_typ="both", name="n"), ["n_output0", "n_output1"]),
        (lambda: S.topk(X, name="n"), ["n_output"]),
        (lambda: S.linalg.slogdet(X, name="n"), ["n_output0", "n_output1"]),
        (lambda: S.LayerNorm(X, output_mean_var=True, name="n"), ["n_output", "n_mean", "n_std"]),
        (lambda: S.Dropout(X, name="n"), ["n_output"]),
        (
            lambda: S.RNN(X, state_size=2, num_layers=1, mode="lstm", state_outputs=True, name="n"),
            ["n_output", "n_state_output", "n_statecell_output"],
        ),
    ],
)
def test_parameters_decide_about_outputs(make, outputs):
    assert make().list_outputs() == outputs
