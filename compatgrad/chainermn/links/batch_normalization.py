"""Batch normalization by the statistics of all processes' batches."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import functions as F
from compatgrad.chainer import initializers
from compatgrad.chainermn.communicators.pure_nccl_communicator import PureNcclCommunicator
from compatgrad.chainermn.functions import _batch_normalization

if TYPE_CHECKING:
    from compatgrad.chainer._typing import DType, Initializer, Shape
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


class MultiNodeBatchNormalization(chainer.Link):
    """Normalizes by mean and variance over the batches of all processes of `comm` and over the axes that gamma lacks.

    It is called with x, floating-point of shape (batch, *size, ...), and `finetune`, and returns a Variable of the
    shape and dtype of x. The moving averages `avg_mean` and `avg_var` start at 0.

    Args:
        size: shape of gamma and beta, an int or a tuple.
        comm: the communicator.
        decay: weight of the old value when a call updates the moving averages.
        eps: number that is added to the variance.
        dtype: of the parameters and statistics; None is that of `chainer.config.dtype`, float32 for mixed16.
        use_gamma: False leaves the scale gamma out: it is 1.
        use_beta: False leaves the shift beta out: it is 0.
        initial_gamma: initializer of gamma; None is 1.
        initial_beta: initializer of beta; None is 0.
        communication_backend: "mpi", "nccl", or "auto": "nccl" for a communicator "pure_nccl", else "mpi".

    Raises:
        ValueError: `communication_backend` has another value, or is "nccl" while the communicator is not "pure_nccl".

    Example:
        >>> bn = chainermn.links.MultiNodeBatchNormalization(1, chainermn.create_communicator("naive"))
        >>> bn(np.array([[-1], [1]], np.float32)).array.round(3).tolist()
        [[-1.0], [1.0]]

    Source: `chainermn.links.MultiNodeBatchNormalization` of Chainer 7.8.1.
    """

    def __init__(
        self,
        size: Shape,
        comm: CommunicatorBase,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: DType | None = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Initializer = None,
        initial_beta: Initializer = None,
        communication_backend: str = "auto",
    ) -> None:
        chainer.utils.experimental("chainermn.links.MultiNodeBatchNormalization")
        super().__init__()
        if communication_backend not in ("mpi", "nccl", "auto"):
            raise ValueError(f"MultiNodeBatchNormalization does not support {communication_backend}.")
        is_nccl = isinstance(comm, PureNcclCommunicator)
        if communication_backend == "nccl" and not is_nccl:
            raise ValueError(f"nccl is not supported in MultiNodeBatchNormalization when using {type(comm)}.")
        self._communication_backend = communication_backend
        if communication_backend == "auto":
            self._communication_backend = "nccl" if is_nccl else "mpi"
        self._highprec_dtype = chainer.get_dtype(dtype, map_mixed16=numpy.float32)
        self.comm, self.decay, self.eps = comm, decay, eps
        self.avg_mean = numpy.zeros(size, self._highprec_dtype)
        self.avg_var = numpy.zeros(size, self._highprec_dtype)
        self.N = 0
        for name in ("avg_mean", "avg_var", "N"):
            self.register_persistent(name)
        with self.init_scope():
            for name, used, initial, default in (
                ("gamma", use_gamma, initial_gamma, 1), ("beta", use_beta, initial_beta, 0),
            ):  # fmt: skip
                if used:
                    initializer = initializers._get_initializer(default if initial is None else initial)
                    initializer.dtype = self._highprec_dtype
                    setattr(self, name, chainer.Parameter(initializer, size))

    def __call__(self, x, finetune=False):
        gamma, beta = getattr(self, "gamma", None), getattr(self, "beta", None)
        if gamma is None:
            gamma = self.xp.ones(self.avg_mean.shape, self._highprec_dtype)
        if beta is None:
            beta = self.xp.zeros(self.avg_mean.shape, self._highprec_dtype)
        if not chainer.config.train:
            return F.fixed_batch_normalization(x, gamma, beta, self.avg_mean, self.avg_var, self.eps)
        decay = self.decay
        if finetune:
            self.N += 1
            decay = 1 - 1 / self.N
        if self.comm.size == 1:
            moving = {"running_mean": self.avg_mean, "running_var": self.avg_var}
            return F.batch_normalization(x, gamma, beta, eps=self.eps, decay=decay, **moving)
        make = _batch_normalization.MultiNodeBatchNormalization
        node = make(self.comm, self.avg_mean, self.avg_var, self.eps, decay)
        return node.apply((x, gamma, beta))[0]

    def start_finetuning(self) -> None:
        """Resets the averages, which calls with `finetune` take over all batches."""
        self.N = 0

    def __deepcopy__(self, memo):
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        for name, value in self.__dict__.items():
            new.__dict__[name] = value if name == "comm" else copy.deepcopy(value, memo)
        return new
