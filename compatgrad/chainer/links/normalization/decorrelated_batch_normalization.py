import warnings

import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import backend, configuration, link
from compatgrad.chainer import serializer as serializer_module
from compatgrad.chainer.utils import argument


class DecorrelatedBatchNormalization(link.Link):
    """Batch normalisation with ZCA whitening within `groups` of channels (https://arxiv.org/abs/1804.08450).

    Persistent values: `avg_mean` (groups, C), `avg_projection` (groups, C, C) and `N`, with C = size //
    groups.
    """

    def __init__(self, size, groups=16, decay=0.9, eps=2e-5, dtype=numpy.float32):
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

    def serialize(self, serializer):
        if isinstance(serializer, serializer_module.Deserializer):
            serializer = _GroupedDeserializer(serializer, self.groups)
        super().serialize(serializer)

    def forward(self, x, **kwargs):
        """Normalises `x`, with its own statistics in training, with the running ones otherwise."""
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

    def start_finetuning(self):
        """Resets the count of finetuning steps."""
        self.N = 0


class _GroupedDeserializer(serializer_module.Deserializer):
    # Models of Chainer before 7.0 have statistics without the axis of groups.

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
