"""`layer`: completes docstrings of layers with the meanings of arguments that many layers share."""

from __future__ import annotations

from typing import TypeVar

from .._docs import composed, parameters_of

__all__ = ["layer"]

_L = TypeVar("_L", bound=type)

_EACH = "one number for all axes, or one for each."
_MEANINGS = {
    "activation": 'the activation of the result: "relu", "sigmoid", "tanh", "softrelu" or "softsign"; None for none.',
    "axis": "the axis of the channels; negative ones count from the end.",
    "base_cell": "the cell inside, which programs must not call themselves.",
    "beta_initializer": "the initializer of `beta`, or its name.",
    "bias_initializer": "the initializer of the bias, or its name.",
    "bidirectional": "whether a second network reads each sequence backward; the outputs of both are joined.",
    "ceil_mode": "whether the last window may extend beyond the end; else elements that fill no window are dropped.",
    "center": "whether `beta` is added and trained; else it keeps its initial value, 0.",
    "channels": "the number of channels of the result.",
    "conv_layout": "the order of the axes of data and states; with None, the channels follow the batch.",
    "count_include_pad": "whether padding zeros count in the mean.",
    "dilation": "the distance between elements of the kernel, likewise.",
    "drop_inputs": "the probability that an element of the inputs becomes 0.",
    "drop_outputs": "the probability that an element of the outputs becomes 0.",
    "drop_states": "the probability that an element of the first state becomes 0.",
    "dropout": "the probability that an element of the outputs of all layers but the last becomes 0 in training.",
    "dtype": "the dtype of the parameters.",
    "epsilon": "added to the variance.",
    "gamma_initializer": "the initializer of `gamma`, or its name.",
    "groups": "the number of groups of channels, each with its own filters.",
    "h2h_bias_initializer": "the initializer of the bias of the state, or its name.",
    "h2h_dilate": "the distance between elements of the kernel of the state, likewise.",
    "h2h_kernel": "the lengths of the kernel of the state, odd, likewise; states keep their size.",
    "h2h_weight_initializer": "the initializer of the weight of the state, or its name; None is that of `initialize`.",
    "h2r_weight_initializer": "the initializer of the projection's weight, or its name; None is that of `initialize`.",
    "hidden_channels": "the number of channels of the states.",
    "hidden_size": "the width of the state, and of the output.",
    "i2h_bias_initializer": "the initializer of the bias of the input, or its name.",
    "i2h_dilate": "the distance between elements of the kernel of the input, likewise.",
    "i2h_kernel": "the lengths of the kernel of the input: one number for all axes, or one for each.",
    "i2h_pad": "zeros at both ends of each axis of the input, likewise.",
    "i2h_weight_initializer": "the initializer of the weight of the input, or its name; None is that of `initialize`.",
    "in_channels": "the number of channels of the data; 0 is inferred in the first call.",
    "input_dim": "the number of rows, which is the number of indices.",
    "input_shape": "the shape of the data without the batch; 0 channels are inferred in the first call.",
    "input_size": "the width of the data; 0 is inferred in the first call.",
    "kernel_size": f"the lengths of the kernel: {_EACH}",
    "kwargs": "`prefix` and `params`, as in HybridBlock.",
    "momentum": "the share of the running values that is kept in each step.",
    "num_layers": "the number of stacked layers.",
    "output_dim": "the length of a row.",
    "output_padding": "the number of elements added at the end of each axis of the result, less than `strides`.",
    "padding": "zeros at both ends of each axis, likewise.",
    "params": "the ParameterDict of another block, whose parameters this one shares.",
    "pool_size": f"the lengths of the windows: {_EACH}",
    "prefix": "the prefix of the parameters' names; None makes one from the name of the class and a number.",
    "running_mean_initializer": "the initializer of the running mean, or its name.",
    "running_variance_initializer": "the initializer of the running variance, or its name.",
    "scale": "whether the result is multiplied by a trained `gamma`; else `gamma` keeps its initial value, 1.",
    "strides": "the distance of windows, likewise.",
    "use_bias": "whether a bias is added to the result.",
    "use_global_stats": "whether the running values are used in training, too.",
    "weight_initializer": "the initializer of the weight, or its name; None is that of `initialize`.",
}  # fmt: skip
_WORDS = {name: ("", meaning) for name, meaning in _MEANINGS.items()}
_RAISES = """TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, shapes or dtypes do not fit."""


def layer(cls: _L) -> _L:
    """Completes the docstring of a class of layers."""
    package = cls.__module__.partition("compatgrad.")[2].rpartition(".")[0]
    cls.__doc__ = composed(
        cls.__doc__, parameters_of(cls.__init__)[1:], f"{package}.{cls.__name__}", "", _RAISES, {}, _WORDS
    )
    return cls
