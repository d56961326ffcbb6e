from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import backend, configuration, link
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, VariableOrArray
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.variable import Variable


class DecorrelatedBatchNormalization(link.Link):
    """Batch normalization with ZCA whitening within `groups` of channels (https://arxiv.org/abs/1804.08450).

    Persistent values: `avg_mean` (groups, C), `avg_projection` (groups, C, C) and `N`, with C = size // groups.

    In training the statistics are the batch's. Inputs are floating-point arrays of shape (batch, size, ...), results
    too.

    Args:
        size: number of channels.
        groups: number of groups of channels, each of which is whitened separately.
        decay: factor by which the running statistics keep their old values in each step.
        eps: added to the variance, so that nothing is divided by zero.
        dtype: of the statistics.

    Example:
        >>> link = L.DecorrelatedBatchNormalization(2, groups=1)
        >>> y = link(np.array([[1, 2], [3, 1], [5, 9]], np.float32)).array
        >>> (y.T @ y / 3).round(3) + 0  # the covariance is the identity
        array([[1., 0.],
               [0., 1.]], dtype=float32)

    Source: `chainer.links.DecorrelatedBatchNormalization` of Chainer 7.8.1; Huang et al., 2018.
    """

    def __init__(
        self, size: int, groups: int = 16, decay: float = 0.9, eps: float = 2e-5, dtype: DType = numpy.float32
    ) -> None:
        super().__init__()
        channels = size // groups
        self.avg_mean = numpy.zeros((groups, channels), dtype=dtype)
        self.register_persistent("avg_mean")
        self.avg_projection = numpy.zeros((groups, channels, channels), dtype=dtype)
        self.avg_projection[...] = numpy.eye(channels, dtype=dtype)
        self.register_persistent("avg_projection")
        self.N = 0
        self.register_persistent("N")
        self.decay = decay
        self.eps = eps
        self.groups = groups

    def serialize(self, serializer: AbstractSerializer) -> None:
        if isinstance(serializer, serializer_module.Deserializer):
            serializer = _GroupedDeserializer(serializer, self.groups)
        super().serialize(serializer)

    def forward(self, x: VariableOrArray, **kwargs: Any) -> Variable:
        """Normalizes `x`, with its own statistics in training, with the running ones otherwise."""
        (finetune,) = argument.parse_kwargs(kwargs, ("finetune", False))
        mean, projection = self.avg_mean, self.avg_projection
        if not configuration.config.train:
            return F.fixed_decorrelated_batch_normalization(x, mean, projection, groups=self.groups)
        recomputing = configuration.config.in_recomputing
        decay = 1.0 - 1.0 / (self.N + 1) if finetune else self.decay
        if recomputing:
            mean = projection = None
        elif finetune:
            self.N += 1
        return F.decorrelated_batch_normalization(
            x,
            groups=self.groups,
            eps=self.eps,
            running_mean=mean,
            running_projection=projection,
            decay=decay,
        )

    def start_finetuning(self) -> None:
        """Resets the count of finetuning steps."""
        self.N = 0


class _GroupedDeserializer(serializer_module.Deserializer):
    # Adds the axis of groups to the statistics of models that Chainer before 7.0 saved.

    def __init__(self, base, groups):
        self.base = base
        self.groups = groups

    def __repr__(self):
        return f"_GroupedDeserializer({self.base!r}, {self.groups})"

    def __call__(self, key, value):
        if key not in ("avg_mean", "avg_projection"):
            return self.base(key, value)
        array = self.base(key, None)
        ndim = 2 if key == "avg_mean" else 3
        if array.ndim == ndim - 1:
            if self.groups != 1:
                warnings.warn(
                    "Found moving statistics of old DecorrelatedBatchNormalization, whose algorithm was "
                    "different from the paper.",
                    stacklevel=2,
                )
            array = numpy.broadcast_to(array, (self.groups, *array.shape))
        elif array.ndim != ndim:
            raise ValueError(f"unexpected shape of {key}")
        if value is None:
            return array
        backend.copyto(value, array)
        return value
