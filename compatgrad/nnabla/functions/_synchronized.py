"""Batch normalization by the statistics of the batches of several processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from compatgrad import _C
from compatgrad.nnabla._declare import Composite, Info, function, op
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla.functions._statistics import check_batch, kept_shape
from compatgrad.nnabla.functions.create import constant

if TYPE_CHECKING:
    from compatgrad.core.distributed import Group


class _Sum:
    """A function of the graph: the sum over the processes of a group. The gradient is the sum of the gradients of all
    processes, or where `local`, that of this process."""

    on_arrays, saves, integers = 0, 0, 0

    def __init__(self, members: Group, local: bool = False) -> None:
        self.members, self.local = members, local

    def infer(self, shapes: Any) -> list[tuple[int, ...]]:
        return [tuple(shapes[0])]

    def forward(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        total = tensors[0].clone(memory_format=torch.contiguous_format)
        self.members.all_reduce(total)
        return [total]

    forward_again = forward

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[torch.Tensor | None]:
        if gradients[0] is None or self.local:
            return list(gradients[:1])
        return list(self.forward(gradients))

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[Any]:
        if gradients[0] is None or self.local:
            return list(gradients[:1])
        return [_summed(gradients[0], self.members)]


def _summed(x: Any, members: Group, local: bool = False) -> Any:
    return _C.apply_host(fe, _Sum(members, local), [x], Info("Sum", {}))[0]


class _Synchronized(Composite):
    """Runs the function: one message in the forward pass, one in the backward pass. Means and variances are summed in
    float64 and with the number of elements, so that batches of different sizes count as one batch."""

    saves = 0b101  # x and gamma

    def __init__(self, spec: Any, inputs: Sequence[Any], args: Sequence[Any], n_outputs: int) -> None:
        super().__init__(spec, inputs, args, n_outputs)
        named = dict(zip(spec.args, args, strict=True))
        self.members: Group = named["comm"]._enter("sync_batch_normalization", named["group"])
        self.axes, self.decay, self.eps = named["axes"], named["decay_rate"], named["eps"]

    def infer(self, shapes: list[tuple[int, ...] | None]) -> list[tuple[int, ...]]:
        x = shapes[0]
        assert x is not None
        kept = tuple(n if i in self.axes else 1 for i, n in enumerate(x))
        return [tuple(x), kept, kept] if self.n_outputs == 3 else [tuple(x)]

    def forward(self, tensors: list[torch.Tensor | None]) -> list[torch.Tensor]:
        return self._normalized(tensors, True)

    def forward_again(self, tensors: list[torch.Tensor | None]) -> list[torch.Tensor]:
        return self._normalized(tensors, False)

    def _over(self, x: torch.Tensor) -> list[int]:
        return [i for i in range(x.ndim) if i not in self.axes]

    def _normalized(self, tensors: list[torch.Tensor | None], update: bool) -> list[torch.Tensor]:
        given, beta, gamma, running_mean, running_var = tensors
        assert given is not None and beta is not None and gamma is not None
        x, over = given.float(), self._over(given)
        count = x.numel() // max(gamma.numel(), 1)
        mean = x.mean(over, keepdim=True).double()
        square = (x - mean.float()).square().sum(over, keepdim=True).double() + count * mean.square()
        message = torch.cat([mean.new_tensor([count]), (mean * count).reshape(-1), square.reshape(-1)])
        self.members.all_reduce(message)
        self.count = message[0].item()
        mean, square = (part.view(mean.shape) / self.count for part in message[1:].split(mean.numel()))
        variance = (square - mean.square()).clamp_min_(0)
        self.mean, self.deviation = mean.float(), (variance + self.eps).rsqrt().float()
        if update:
            unbiased = variance * (self.count / max(self.count - 1, 1))
            for running, value in ((running_mean, mean), (running_var, unbiased)):
                if running is not None:
                    running.mul_(self.decay).add_(value.view(running.shape).to(running.dtype), alpha=1 - self.decay)
        y = (x - self.mean) * (self.deviation * gamma) + beta
        results = [y, self.mean, variance.float()] if self.n_outputs == 3 else [y]
        return [r.half() for r in results] if self.half else results

    def backward(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> list[torch.Tensor | None]:
        x, gamma = inputs[0].float(), inputs[2].float()
        gy, *statistics = [None if g is None else g.float() for g in gradients]
        found: list[torch.Tensor | None] = [None] * len(wanted)
        normalized = (x - self.mean) * self.deviation
        if gy is not None:
            over = self._over(x)
            sums = torch.stack([gy.sum(over, keepdim=True), (gy * normalized).sum(over, keepdim=True)])
            # of this process: programs add up the gradients of parameters themselves
            found[1], found[2] = sums[0].clone(), sums[1].clone()
            if wanted[0]:
                self.members.all_reduce(sums)
                sums /= self.count
                found[0] = (gy - sums[0] - normalized * sums[1]) * (gamma * self.deviation)
        # as in nnabla, gradients of the results mean and variance are not added up over the processes
        for g, factor in zip(statistics, (1.0, 2 * (x - self.mean)), strict=False):
            if g is not None:
                term = g.view(self.mean.shape) * factor / self.count
                found[0] = term.expand_as(x).clone() if found[0] is None else found[0] + term
        return [g if g is None or not w else g.to(x.dtype) for g, w in zip(found, wanted, strict=True)]


@function("SyncBatchNormalization", "x, beta, gamma, mean, variance", effects=True, host=_Synchronized)
def normalized_over_processes(
    x,
    beta,
    gamma,
    mean,
    variance,
    comm,
    group="world",
    axes=(1,),
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    n_outputs=-1,
):
    """`sync_batch_normalization` over several processes. The body, made of differentiable functions, gives derivatives
    of higher orders."""
    axes = check_batch(
        "sync_batch_normalization", x, dict(beta=beta, gamma=gamma, mean=mean, variance=variance), axes, True, n_outputs
    )
    members = comm._enter("sync_batch_normalization", group)
    over = [i for i in range(x.ndim) if i not in axes]
    count = _summed(constant(float(x.size) / beta.size, kept_shape(x, axes)), members)
    centred = x - op.broadcast_to(_summed(op.sum(x, axis=over, keepdims=True), members) / count, x.shape)
    squares = op.sum(op.square(centred), axis=over, keepdims=True)
    deviation = op.rsqrt(_summed(squares, members) / count + eps)
    y = centred * op.broadcast_to(deviation * gamma, x.shape) + op.broadcast_to(beta, x.shape)
    if n_outputs != 3:
        return y
    return (
        y,
        _summed(op.sum(x, axis=over, keepdims=True), members, True) / count,
        _summed(squares, members, True) / count,
    )
