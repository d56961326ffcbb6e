"""The batch normalization layer."""

from ... import functions as F
from ...initializer import ConstantInitializer
from .module import Module, make_parameter


class BatchNormalization(Module):
    """`functions.batch_normalization` of arrays with n_dims axes, one of which, axes[0], has n_features
    elements.

    Its parameters are beta, gamma, mean and var; param_init is a dict of initializers or arrays by these
    names. A call takes test=True for the running statistics. The other arguments are those of
    `parametric_functions.batch_normalization`.
    """

    def __init__(
        self,
        n_features,
        n_dims,
        axes=(1,),
        decay_rate=0.9,
        eps=1e-5,
        batch_stat=True,
        output_stat=False,
        fix_parameters=False,
        param_init=None,
    ):
        assert len(axes) == 1, f"BatchNormalization: expected one axis, got axes={axes}"
        shape = [1] * n_dims
        shape[axes[0]] = n_features
        given = param_init or {}

        def make(name, value, fixed):
            return make_parameter(tuple(shape), given.get(name, ConstantInitializer(value)), fixed)

        self.beta = make("beta", 0, fix_parameters)
        self.gamma = make("gamma", 1, fix_parameters)
        self.mean = make("mean", 0, True)
        self.var = make("var", 1, True)
        self.axes = list(axes)
        self.decay_rate = decay_rate
        self.eps = eps
        self.output_stat = output_stat

    def __call__(self, inp, test=False):
        return F.batch_normalization(
            inp,
            self.beta,
            self.gamma,
            self.mean,
            self.var,
            self.axes,
            self.decay_rate,
            self.eps,
            not test,
            self.output_stat,
        )


class BatchNorm1d(BatchNormalization):
    """`BatchNormalization` of arrays with three axes."""

    def __init__(self, n_features, *args, **kwargs):
        super().__init__(n_features, 3, *args, **kwargs)


class BatchNorm2d(BatchNormalization):
    """`BatchNormalization` of arrays with four axes."""

    def __init__(self, n_features, *args, **kwargs):
        super().__init__(n_features, 4, *args, **kwargs)


class BatchNorm3d(BatchNormalization):
    """`BatchNormalization` of arrays with five axes."""

    def __init__(self, n_features, *args, **kwargs):
        super().__init__(n_features, 5, *args, **kwargs)
