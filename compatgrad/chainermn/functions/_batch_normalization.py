"""Batch normalization by the statistics of all processes, differentiable any number of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainermn.communicators._tensors import to_array, to_tensor

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class _Mean(chainer.FunctionNode):
    """The mean of the arrays of all processes. Backward is the mean of the gradients."""

    def __init__(self, comm: CommunicatorBase) -> None:
        self.comm = comm

    def forward(self, inputs):
        y = inputs[0].copy()
        self.comm._multi_node_mean(None, y)
        return (y,)

    def backward(self, target_input_indexes, grad_outputs):
        return _Mean(self.comm).apply(grad_outputs)


class MultiNodeBatchNormalization(chainer.FunctionNode):
    """Normalizes x by mean and variance over the batches of all processes and over the axes that gamma lacks, and
    updates the running statistics.

    The variance is E[x^2] - E[x]^2, so that mean and variance need one message. As in ChainerMN, the unbiased running
    variance is that of the local number of examples, and the gradients of gamma and beta are the means of the
    processes' gradients.
    """

    def __init__(self, comm: CommunicatorBase, mean: Any, var: Any, eps: float, decay: float) -> None:
        self.comm, self.running_mean, self.running_var, self.eps, self.decay = comm, mean, var, eps, decay

    def forward(self, inputs):
        self.retain_inputs((0, 1))
        x, gamma = (to_tensor(a) for a in inputs[:2])
        self._gpu, self._dtype = x.is_cuda, gamma.dtype
        beta = to_tensor(inputs[2])
        self._axes = (0, *range(gamma.dim() + 1, x.dim()))
        high = x.to(gamma.dtype)
        sums = torch.stack([high.mean(self._axes), (high * high).mean(self._axes)])
        statistics = to_array(sums, self._gpu)
        self.comm._multi_node_mean(None, statistics)
        mean, var = to_tensor(statistics).unbind()
        var = var - mean * mean
        self._mean, self._scale = mean, (var + self.eps).rsqrt()
        y = (high - self._wide(mean)).mul_(self._wide(gamma * self._scale)).add_(self._wide(beta)).to(x.dtype)
        m = x.numel() // gamma.numel()
        for running, new in ((self.running_mean, mean), (self.running_var, var * (m / max(m - 1.0, 1.0)))):
            running *= self.decay
            running += (1 - self.decay) * to_array(new.to(gamma.dtype), self._gpu)
        return (to_array(y, self._gpu),)

    def _wide(self, t):
        """A tensor of gamma's shape, with the axes of x."""
        return t.reshape(1, *t.shape, *(1 for _ in self._axes[1:]))

    def backward(self, target_input_indexes, grad_outputs):
        (gy,) = grad_outputs
        x, gamma = self.get_retained_inputs()
        if chainer.config.enable_backprop:
            grads = self._recorded(x, gamma, gy)
        else:
            grads = [chainer.Variable(to_array(g, self._gpu)) for g in self._computed(x.array, gamma.array, gy.array)]
        return tuple(grads[i] for i in target_input_indexes)

    def _computed(self, x, gamma, gy):
        x, gamma, gy = to_tensor(x), to_tensor(gamma), to_tensor(gy)
        high = gy.to(gamma.dtype)
        normal = (x.to(gamma.dtype) - self._wide(self._mean)) * self._wide(self._scale)
        sums = torch.stack([high.sum(self._axes), (high * normal).sum(self._axes)])
        means = to_array(sums, self._gpu)
        self.comm._multi_node_mean(None, means)
        gbeta, ggamma = to_tensor(means).unbind()
        m = x.numel() // gamma.numel()
        inner = high - (normal * self._wide(ggamma) + self._wide(gbeta)) / m
        return (inner * self._wide(gamma * self._scale)).to(x.dtype), ggamma.clone(), gbeta.clone()

    def _recorded(self, x, gamma, gy):
        """As `_computed`, by functions that can be differentiated."""
        keep = gamma.shape
        wide_shape = (1, *keep, *(1 for _ in self._axes[1:]))

        def wide(v):
            return F.broadcast_to(F.reshape(v, wide_shape), x.shape)

        def mean_of_processes(*vs):
            return F.split_axis(_Mean(self.comm).apply((F.stack(vs),))[0], len(vs), 0, force_tuple=True)

        high, gy_high = F.cast(x, gamma.dtype), F.cast(gy, gamma.dtype)
        local = F.mean(high, self._axes), F.mean(high * high, self._axes)
        mean, square = (F.reshape(v, keep) for v in mean_of_processes(*local))
        scale = (square - mean * mean + self.eps) ** -0.5
        normal = (high - wide(mean)) * wide(scale)
        sums = F.sum(gy_high, self._axes), F.sum(gy_high * normal, self._axes)
        gbeta, ggamma = (F.reshape(v, keep) for v in mean_of_processes(*sums))
        m = x.size // gamma.size
        inner = gy_high - (normal * wide(ggamma) + wide(gbeta)) / m
        return [F.cast(inner * wide(gamma * scale), x.dtype), ggamma, gbeta]
