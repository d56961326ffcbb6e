"""What drivers of Chainer programs share."""

import chainer
import numpy as np


def arrays(*models):
    """The arrays of all parameters that have one."""
    return [p.array for model in models for _, p in sorted(model.namedparams()) if p.array is not None]


def number(value):
    return float(np.asarray(getattr(value, "array", value)))


def updates(updater, *models):
    """Step an updater; yield what it and its models report."""
    reporter = chainer.Reporter()
    for i, model in enumerate(models):
        reporter.add_observer(f"model{i}", model)
    while True:
        observation = {}
        with reporter.scope(observation):
            updater.update()
        yield {key: number(value) for key, value in observation.items()}


class Version1:
    """`chainer.functions` as programs for Chainer 1 call it: with `train=` and `use_cudnn=`."""

    def __getattr__(self, name):
        return getattr(chainer.functions, name)

    @staticmethod
    def dropout(x, ratio=0.5, train=True):
        return chainer.functions.dropout(x, ratio) if train else x

    @staticmethod
    def batch_normalization(*args, use_cudnn=True, **kwargs):
        return chainer.functions.batch_normalization(*args, **kwargs)
