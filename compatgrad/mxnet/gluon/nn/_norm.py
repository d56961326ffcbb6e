"""Normalization layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._layer_docs import layer
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Dtype, Init
    from ..parameter import ParameterDict


class _Norm(HybridBlock):
    """A layer with `gamma` and `beta`, one number per channel; a part that is switched off has no gradient."""

    _kwargs: dict

    def _make_scale(self, size, center, scale, beta_initializer, gamma_initializer, forever=False):
        # forever: a part that is off never has a gradient, even if a program sets grad_req later
        for name, on, init in (("gamma", scale, gamma_initializer), ("beta", center, beta_initializer)):
            self._make_param(name, size, init, "write" if on else "null", on or not forever)

    def _set_up(self, size, epsilon, center, scale, beta_initializer, gamma_initializer, **place):
        # place: the operator's argument for the elements that are normalized together, such as axis=1
        self._kwargs = {"eps": epsilon, **place, "center": center, "scale": scale}
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        for name, value in place.items():
            setattr(self, f"_{name}", value)
        self._make_scale(size, center, scale, beta_initializer, gamma_initializer)

    def _make_param(self, name, size, init, grad_req, differentiable):
        param = self.params.get(
            name,
            grad_req=grad_req,
            shape=(size,),
            init=init,
            allow_deferred_init=True,
            differentiable=differentiable,
        )
        setattr(self, name, param)

    def _channels_from(self, x, axis):
        size = (x.shape[axis],)
        for param in self._reg_params.values():
            param.shape = size

    def _repr_content(self):
        return ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())

    def __repr__(self):
        return f"{type(self).__name__}({self._repr_content()}, in_channels={self.gamma.shape[0]})"


class _BatchNorm(_Norm):
    """Batch normalization, with a ReLU after it if fuse_relu."""

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-05, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, fuse_relu: bool = False, beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones", running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        self._axis = axis
        self.fuse_relu = fuse_relu
        if in_channels != 0:
            self.in_channels = in_channels
        self._make_scale(in_channels, center, scale, beta_initializer, gamma_initializer, forever=True)
        self._make_param("running_mean", in_channels, running_mean_initializer, "null", False)
        self._make_param("running_var", in_channels, running_variance_initializer, "null", False)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        self._channels_from(x, self._axis)

    def cast(self, dtype: Dtype) -> None:
        """Changes the dtype of the parameters; they stay float32 if float16 is requested."""
        super().cast("float32" if np.dtype(dtype) == np.float16 else dtype)

    def hybrid_forward(
        self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray, running_mean: NDArray, running_var: NDArray
    ) -> Any:
        y = F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)
        return F.relu(y) if self.fuse_relu else y

    def __repr__(self):
        return f"{type(self).__name__}({self._repr_content()}, in_channels={self.gamma.shape[0] or None})"


@layer
class BatchNorm(_BatchNorm):
    """Normalizes each channel: (x - mean) / sqrt(variance + epsilon) * gamma + beta.

    While training, mean and variance are those of the batch, and the backward pass moves the running ones towards them;
    else the running ones are used. Call: `layer(x)`, x floating point, any shape.

    Example:
        >>> layer, x = gluon.nn.BatchNorm(), nd.array([[1.0, 2.0], [3.0, 2.0]])
        >>> layer.initialize()
        >>> with autograd.record():
        ...     y = layer(x)
        >>> y.backward()
        >>> y.asnumpy().round(3), layer.running_mean.data().asnumpy()
        (array([[-1.,  0.],
               [ 1.,  0.]], dtype=float32), array([0.2, 0.2], dtype=float32))
    """

    def __init__(
        self, axis: int = 1, momentum: float = 0.9, epsilon: float = 1e-05, center: bool = True, scale: bool = True,
        use_global_stats: bool = False, beta_initializer: Init = "zeros", gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros", running_variance_initializer: Init = "ones", in_channels: int = 0,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            axis,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            self._fuse_relu,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )

    _fuse_relu = False


@layer
class BatchNormReLU(BatchNorm):
    """`BatchNorm`, then ReLU.

    While training, mean and variance are those of the batch, and the backward pass moves the running ones towards them;
    else the running ones are used. Call: `layer(x)`, x floating point, any shape.

    Example:
        >>> layer, x = gluon.nn.BatchNormReLU(), nd.array([[1.0, 2.0], [3.0, 2.0]])
        >>> layer.initialize()
        >>> with autograd.record():
        ...     y = layer(x)
        >>> y.asnumpy().round(3)
        array([[0., 0.],
               [1., 0.]], dtype=float32)
    """

    _fuse_relu = True


@layer
class InstanceNorm(_Norm):
    """Normalizes each channel of each sample over the other axes.

    Call: `layer(x)`, x floating point, shape (batch, channels, ...) with at least three axes.

    Example:
        >>> layer = gluon.nn.InstanceNorm()
        >>> layer.initialize()
        >>> layer(nd.array([[[1.0, 3.0], [5.0, 5.0]]])).asnumpy().round(3)
        array([[[-1.,  1.],
                [-0., -0.]]], dtype=float32)
    """

    def __init__(
        self, axis: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = False,
        beta_initializer: Init = "zeros", gamma_initializer: Init = "ones", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        self._set_up(in_channels, epsilon, center, scale, beta_initializer, gamma_initializer, axis=axis)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        self._channels_from(x, self._axis)

    def hybrid_forward(self, F: Any, x: NDArray, gamma: NDArray, beta: NDArray) -> Any:
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        y = F.InstanceNorm(x.swapaxes(1, self._axis), gamma, beta, name="fwd", eps=self._epsilon)
        return y.swapaxes(1, self._axis)


@layer
class LayerNorm(_Norm):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance along one axis.

    Call: `layer(x)`, x floating point, any shape.

    Args:
        axis: the axis that is normalized; gamma and beta have its length.
        in_channels: the length of that axis; 0 is inferred in the first call.

    Example:
        >>> layer = gluon.nn.LayerNorm()
        >>> layer.initialize()
        >>> layer(nd.array([[1.0, 3.0], [5.0, 5.0]])).asnumpy().round(3)
        array([[-1.,  1.],
               [ 0.,  0.]], dtype=float32)
    """

    def __init__(
        self, axis: int = -1, epsilon: float = 1e-05, center: bool = True, scale: bool = True,
        beta_initializer: Init = "zeros", gamma_initializer: Init = "ones", in_channels: int = 0,
        prefix: str | None = None, params: ParameterDict | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._set_up(in_channels, epsilon, center, scale, beta_initializer, gamma_initializer, axis=axis)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        self._channels_from(x, self._axis)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> Any:
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)


@layer
class GroupNorm(_Norm):
    """Normalizes each group of channels of each sample; gamma and beta have a number for each group.

    Call: `layer(x)`, x floating point, shape (batch, channels, ...).

    Args:
        num_groups: the number of groups, which divides that of the channels.

    Example:
        >>> layer = gluon.nn.GroupNorm(num_groups=2)
        >>> layer.initialize()
        >>> layer(nd.array([[[1.0], [3.0], [5.0], [5.0]]])).asnumpy().round(3).ravel()
        array([-1.,  1., -0., -0.], dtype=float32)
    """

    def __init__(
        self, num_groups: int = 1, epsilon: float = 1e-05, center: bool = True, scale: bool = True,
        beta_initializer: Init = "zeros", gamma_initializer: Init = "ones", prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._set_up(num_groups, epsilon, center, scale, beta_initializer, gamma_initializer, num_groups=num_groups)

    def hybrid_forward(self, F: Any, data: NDArray, gamma: NDArray, beta: NDArray) -> Any:
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self):
        return f"{type(self).__name__}({self._repr_content()})"
