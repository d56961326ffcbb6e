from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import configuration, initializers, link, variable
from compatgrad.chainer.utils import argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatgrad.chainer._typing import DType, Initializer, IntOrInts, Shape, VariableOrArray
    from compatgrad.chainer.variable import Variable


def _highprec_parameter(initial, default, dtype):
    """A parameter of `dtype`, even where its initializer has another dtype."""
    initializer = initializers._get_initializer(default if initial is None else initial)
    initializer.dtype = dtype
    return variable.Parameter(initializer)


class BatchNormalization(link.Link):
    """gamma * (x - mean) / sqrt(var + eps) + beta, with mean and variance of the batch in training
    (`chainer.config.train`), and the running statistics otherwise.

    Mean and variance are taken over all axes but those of `size`, or over `axis`; without `size` the first input
    determines it. The running statistics `avg_mean` and `avg_var`, and the count `N` of finetuning steps, are
    persistent values. Inputs are floating-point arrays of shape (batch, *size, ...).

    Args:
        size: shape of gamma, beta and the statistics: the number of channels, or the shape of the axes that are kept;
            None takes it from the first input, for which `axis` must be given.
        decay: weight of the old value when a step updates the running statistics.
        eps: added to the variance, so that nothing is divided by zero.
        dtype: of the parameters and statistics; None is `chainer.config.dtype`.
        use_gamma: False leaves out the factor gamma.
        use_beta: False leaves out the summand beta.
        initial_gamma: initializer of gamma; None is 1.
        initial_beta: initializer of beta; None is 0.
        axis: axes over which mean and variance are taken; None is all axes but those of `size`, which follow the batch
            axis.
        initial_avg_mean: initializer of the running mean; None is 0.
        initial_avg_var: initializer of the running variance; None is 1.

    Raises:
        RuntimeError: neither `size` nor `axis` is given.

    Example:
        >>> link = L.BatchNormalization(1, eps=0)
        >>> link(np.array([[1], [3]], np.float32)).array
        array([[-1.],
               [ 1.]], dtype=float32)
        >>> link.avg_mean
        array([0.2], dtype=float32)
        >>> with chainer.using_config("train", False):
        ...     print(link(np.array([[0.2]], np.float32)).shape)
        (1, 1)

    Source: `chainer.links.BatchNormalization` of Chainer 7.8.1; Ioffe and Szegedy, 2015.
    """

    gamma = None
    beta = None

    def __init__(
        self,
        size: Shape | None = None,
        decay: float = 0.9,
        eps: float = 2e-5,
        dtype: DType | None = None,
        use_gamma: bool = True,
        use_beta: bool = True,
        initial_gamma: Initializer = None,
        initial_beta: Initializer = None,
        axis: IntOrInts | None = None,
        initial_avg_mean: Initializer = None,
        initial_avg_var: Initializer = None,
    ) -> None:
        super().__init__()
        if size is None and axis is None:
            raise RuntimeError("size or axis is required")
        self._initial_avg_mean = initial_avg_mean
        self._initial_avg_var = initial_avg_var
        self.N = 0
        self.register_persistent("N")
        self.decay = decay
        self.eps = eps
        self.axis = (axis,) if isinstance(axis, numbers.Integral) else axis
        self._highprec_dtype = chainer.get_dtype(dtype, map_mixed16=numpy.float32)
        with self.init_scope():
            if use_gamma:
                self.gamma = _highprec_parameter(initial_gamma, 1, self._highprec_dtype)
            if use_beta:
                self.beta = _highprec_parameter(initial_beta, 0, self._highprec_dtype)
        if size is None:
            self.avg_mean = None
            self.avg_var = None
        else:
            self._initialize_params(size)
        self.register_persistent("avg_mean")
        self.register_persistent("avg_var")

    def _initialize_params(self, shape):
        self.avg_mean = self._init_array(self._initial_avg_mean, 0, shape)
        self._initial_avg_mean = None
        self.avg_var = self._init_array(self._initial_avg_var, 1, shape)
        self._initial_avg_var = None
        if self.gamma is not None:
            self.gamma.initialize(shape)
        if self.beta is not None:
            self.beta.initialize(shape)

    def _init_array(self, initializer, default_value, size):
        initializer = initializers._get_initializer(default_value if initializer is None else initializer)
        return initializers.generate_array(initializer, size, self.xp, dtype=self._highprec_dtype, device=self.device)

    def _constant(self, value, dtype):
        with chainer.using_device(self.device):
            return self.xp.full(self.avg_mean.shape, value, dtype=dtype)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield "size", self.avg_mean.shape[0]
        yield "decay", self.decay
        yield "eps", self.eps
        yield "dtype", self.avg_mean.dtype
        yield "use_gamma", hasattr(self, "gamma")
        yield "use_beta", hasattr(self, "beta")

    def _start_step(self, finetune):
        # Returns the decay of this step, and whether F.forget computes it again: such a forward neither counts nor
        # updates the statistics.
        recomputing = chainer.config.in_recomputing
        if not finetune:
            return self.decay, recomputing
        decay = 1.0 - 1.0 / (self.N + 1)
        if not recomputing:
            self.N += 1
        return decay, recomputing

    def forward(self, x: VariableOrArray, **kwargs: Any) -> Variable:
        """Normalizes `x` by its own statistics in training, by the running statistics otherwise. With `finetune=True`
        the running statistics become the averages over all steps since `start_finetuning`.
        """
        finetune = False
        if kwargs:
            (finetune,) = argument.parse_kwargs(
                kwargs,
                ("finetune", False),
                test="test argument is not supported anymore. Use chainer.using_config",
            )
        if self.avg_mean is None:
            self._initialize_params(tuple([d for i, d in enumerate(x.shape) if i not in self.axis]))
        gamma, beta = self.gamma, self.beta
        if gamma is None:
            gamma = self._constant(1, self._highprec_dtype)
        if beta is None:
            beta = self._constant(0, self._highprec_dtype)
        mean, var = self.avg_mean, self.avg_var
        if not configuration.config.train:
            return F.fixed_batch_normalization(x, gamma, beta, mean, var, self.eps, axis=self.axis)
        decay, recomputing = self._start_step(finetune)
        if recomputing:
            mean = var = None
        return F.batch_normalization(
            x, gamma, beta, eps=self.eps, running_mean=mean, running_var=var, decay=decay, axis=self.axis
        )

    def start_finetuning(self) -> None:
        """Resets the count of finetuning steps."""
        self.N = 0
