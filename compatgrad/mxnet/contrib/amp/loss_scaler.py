"""LossScaler: the factor on losses that keeps gradients in the range of float16."""

from __future__ import annotations

import logging
from typing import Any

from ... import autograd
from ... import ndarray as nd

__all__ = ["LossScaler"]


class LossScaler:
    """The factor on losses that keeps gradients in the range of float16.

    It begins with 2**16, is halved when a gradient overflows, and doubled, up to 2**24, after 2000 steps without
    overflow.

    Example:
        >>> x = gluon.Parameter("x", shape=(1,))
        >>> x.initialize()
        >>> x.grad()[:] = np.inf
        >>> scaler = mx.contrib.amp.loss_scaler.LossScaler()
        >>> scaler.has_overflow([x])
        True
        >>> x.grad()[:] = 1
        >>> scaler.has_overflow([x]), scaler.loss_scale
        (False, 32768.0)

    Source: `mxnet.contrib.amp.loss_scaler.LossScaler` of MXNet 1.9.1.
    """

    def __init__(self) -> None:
        self._loss_scale = 2.0**16
        self._next_loss_scale = self._loss_scale
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The factor on the losses of this step."""
        return self._loss_scale

    def has_overflow(self, params: Any) -> bool:
        """Whether a gradient of these Parameters is infinite or NaN; sets the factor of the next step."""
        with autograd.pause():
            grads = [p._grad[0] for p in params if p._grad is not None]
            overflow = not bool(nd.multi_all_finite(*grads, num_arrays=len(grads)).asscalar())
        self._loss_scale = self._next_loss_scale
        if overflow:
            self._next_loss_scale = self._loss_scale / 2.0
            self._unskipped = 0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
        else:
            self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)
        return overflow
