"""Operators of `mx.nd.contrib`: likelihoods of Hawkes processes, Fourier transforms, count sketches."""

from __future__ import annotations

import torch

from ..base import MXNetError
from ._arguments import as_index, constant, public_names, require_ndim, require_shape, required
from ._operator import op, operator
from .ndarray import NDArray


@operator("lda, alpha, beta, state, lags, marks, valid_length, max_time", name="_contrib_hawkesll", outputs=2)
def hawkesll(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """Log likelihoods (samples,) of Hawkes processes up to `max_time` (samples,), and their states then.

    lda: (samples, marks), intensities without events; alpha, beta: (marks,), how much each event adds and how fast
    that fades; state: (samples, marks), what earlier events left. Event j of a sample comes lags[:, j] after the one
    before and is of the kind marks[:, j]; the first valid_length of them count. Gradients: by lda, alpha, beta and
    state. MXNetError if shapes do not fit.

    Args:
        lda (NDArray): the rate of each mark without events, shape (batch, marks).
        alpha (NDArray): how much an event raises the rate, shape (marks,).
        beta (NDArray): how fast that decays, shape (marks,).
        state: what earlier events leave, shape (batch, marks).
        lags (NDArray): times since the event before, shape (batch, length).
        marks (NDArray): the mark of each event, int32, shape (batch, length).
        valid_length (NDArray): how many events there are, shape (batch,).

    Returns:
        A list of the logarithms of the likelihoods, shape (batch,), and the new states.

    Example:
        >>> one = nd.ones((1, 1))
        >>> marks = nd.zeros((1, 1), dtype="int32")
        >>> given = one, nd.ones(1), nd.ones(1), nd.zeros((1, 1)), one, marks, nd.ones(1), nd.full(1, 2.0)
        >>> y, _ = nd.contrib.hawkesll(*given)
        >>> y.asnumpy().round(3)
        array([-2.632], dtype=float32)
    """
    name = "hawkesll"
    for argument, x, ndim in (("lda", lda, 2), ("lags", lags, 2), ("alpha", alpha, 1)):
        require_ndim(name, argument, x, ndim)
    (n, kinds), steps = lda.shape, lags.shape[1]
    for argument, x, shape in (
        ("lags", lags, (n, steps)), ("alpha", alpha, (kinds,)), ("beta", beta, (kinds,)), ("state", state, (n, kinds)),
        ("marks", marks, (n, steps)), ("valid_length", valid_length, (n,)), ("max_time", max_time, (n,)),
    ):  # fmt: skip
        require_shape(name, argument, x.shape, shape)
    t = lags.tensor.detach()
    kind = as_index(marks)
    if kind.numel() and not (0 <= int(kind.min()) and int(kind.max()) < kinds):
        raise MXNetError(f"{name}: marks must be from 0 to {kinds - 1}")
    valid = torch.arange(steps, device=t.device) < valid_length.tensor[:, None]
    at = torch.where(valid, t, 0).cumsum(1)
    hot = (torch.nn.functional.one_hot(kind, kinds) * valid[..., None]).to(t.dtype)  # (samples, steps, kinds)
    last = torch.zeros(n, kinds, dtype=t.dtype, device=t.device)
    terms, memory = [], state

    def passed(distance: torch.Tensor) -> tuple[NDArray, NDArray]:
        """The remaining memory after a time, and the expected number of events in that time."""
        far = NDArray(distance)
        left = memory * op.exp(far * beta * -1)
        return left, lda * far + alpha * (memory - left)

    for j in range(steps):
        here = NDArray(hot[:, j])
        left, expected = passed(at[:, j, None] - last)
        # a mark without an event at this step contributes log(1) = 0
        terms.append(op.log((lda + alpha * beta * left) * here + NDArray(1 - hot[:, j])) - expected * here)
        memory = memory + here * (left + 1 - memory)
        last = torch.where(hot[:, j] > 0, at[:, j, None], last)
    memory, expected = passed(max_time.tensor.detach()[:, None] - last)
    terms.append(expected * -1)
    return [op.sum(op.add_n(terms), axis=(1,)), memory]


@operator("data", name="_contrib_fft")
def fft(data, compute_size=128):
    """Fourier transforms along the last axis: real and imaginary parts in turn, twice as long.

    `compute_size` has no effect: in MXNet it is the number of transforms computed at once.

    Args:
        data: float32, shape (..., n).

    Returns:
        Real and imaginary parts in turn, shape (..., 2 n).

    Example:
        >>> nd.contrib.fft(nd.array([[1.0, 0.0]])).asnumpy()
        array([[1., 0., 1., 0.]], dtype=float32)
    """
    if data.ndim not in (2, 4):
        raise MXNetError(f"fft: data must be 2-D or 4-D, got the shape {data.shape}")
    y = op.fourier_transform(op.stack([data, data * 0], axis=data.ndim), ndim=1)
    return op.reshape(y, shape=(*data.shape[:-1], 2 * data.shape[-1]))


@operator("data", name="_contrib_ifft")
def ifft(data, compute_size=128):
    """Real parts of inverse Fourier transforms, times the length, of what `fft` gives; half as long.

    Args:
        data: float32, real and imaginary parts in turn, shape (..., 2 n).

    Returns:
        The real parts, n times as large as those of the inverse, shape (..., n).

    Example:
        >>> nd.contrib.ifft(nd.array([[1.0, 0.0, 1.0, 0.0]])).asnumpy()
        array([[2., 0.]], dtype=float32)
    """
    if data.ndim not in (2, 4) or data.shape[-1] % 2:
        raise MXNetError(f"ifft: data must be 2-D or 4-D with an even last axis, got the shape {data.shape}")
    n = data.shape[-1] // 2
    y = op.fourier_transform(op.reshape(data, shape=(*data.shape[:-1], n, 2)), ndim=1, inverse=True, norm="forward")
    return op.get_item(y, index=(Ellipsis, 0))


@operator("data, h, s", name="_contrib_count_sketch")
def count_sketch(data, h, s, out_dim=None, processing_batch_size=32):
    """data (rows, in) as (rows, out_dim): column i, times s[0, i], is added to column h[0, i].

    `processing_batch_size` has no effect: in MXNet it is the number of rows processed at once. MXNetError if shapes
    do not fit.

    Args:
        data: floating point, shape (batch, n).
        h (NDArray): the place of each element in the result, shape (1, n).
        s (NDArray): the sign of each element, 1 or -1, shape (1, n).

    Example:
        >>> sketch = nd.contrib.count_sketch
        >>> sketch(nd.array([[1.0, 2.0, 3.0]]), nd.array([[0, 1, 0]]), nd.array([[1, 1, -1]]), out_dim=2).asnumpy()
        array([[-2.,  2.]], dtype=float32)
    """
    name = "count_sketch"
    out_dim = required(name, "out_dim", out_dim)
    for argument, x in (("h", h), ("s", s)):
        if x.size != data.shape[-1]:
            raise MXNetError(f"{name}: {argument} must have {data.shape[-1]} elements, one for each column of data, "
                             f"got the shape {x.shape}")  # fmt: skip
    place = as_index(h).reshape(-1)
    if place.numel() and not (0 <= int(place.min()) and int(place.max()) < out_dim):
        raise MXNetError(f"{name}: h must be from 0 to {out_dim - 1}")
    t = data.tensor
    hot = torch.nn.functional.one_hot(place, out_dim).to(t.dtype)
    spread = constant(hot * s.tensor.detach().reshape(-1, 1).to(t.dtype), h)
    flat = op.reshape(data, shape=(-1, data.shape[-1]))
    return op.reshape(op.matmul(flat, spread), shape=(*data.shape[:-1], out_dim))


__all__ = public_names(globals())
