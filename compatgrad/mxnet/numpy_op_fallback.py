"""Custom operators that MXNet puts into symbols for functions of NumPy, so that symbol files with them can be run."""

from __future__ import annotations

from typing import Any

from . import operator
from .ndarray._operator import parse
from .numpy import random

__all__: list[str] = []


class MultivariateNormal(operator.CustomOp):
    """The operator of `np.random.multivariate_normal` on symbols: it draws the vectors.

    Args:
        size: number or shape of the vectors for each mean, None for one.

    Example:
        >>> mx.numpy_op_fallback.MultivariateNormalProp(size=3).create_operator(None, [], []).size
        3

    Source: `mxnet.numpy_op_fallback.MultivariateNormal` of MXNet 1.9.1.
    """

    def __init__(self, size: Any = None) -> None:
        super().__init__()
        self.size = size

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        mean, cov = (x.as_np_ndarray() for x in in_data)
        drawn = random.multivariate_normal(mean, cov, self.size)
        self.assign(out_data[0], req[0], drawn if type(out_data[0]) is type(drawn) else drawn.as_nd_ndarray())

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        raise NotImplementedError("multivariate_normal: numbers that are drawn have no gradient")


@operator.register("mvn_fallback")
class MultivariateNormalProp(operator.CustomOpProp):
    """The CustomOpProp of `np.random.multivariate_normal` on symbols, the operator "mvn_fallback".

    Args:
        size: number or shape of the vectors for each mean, None for one; also as text.
        check_valid, tol: accepted; the covariance is not checked.

    Raises:
        ValueError: in `infer_shape`, the shapes of mean and covariance do not fit.

    Example:
        >>> mx.numpy_op_fallback.MultivariateNormalProp(size="(2,)").infer_shape([(3,), (3, 3)])
        ([(3,), (3, 3)], [(2, 3)], [])

    Source: `mxnet.numpy_op_fallback.MultivariateNormalProp` of MXNet 1.9.1.
    """

    def __init__(self, size: Any = None, check_valid: Any = None, tol: Any = None) -> None:
        super().__init__(need_top_grad=True)
        size = parse(size) if isinstance(size, str) else size
        self.size = size if size is None or isinstance(size, int) else tuple(size)

    def list_arguments(self) -> list[str]:
        return ["mean", "cov"]

    def infer_shape(self, in_shape: Any) -> Any:
        mean, cov = (tuple(s) for s in in_shape)
        if cov[-1:] != cov[-2:-1] or mean[-1:] != cov[-1:]:
            raise ValueError(f"multivariate_normal: a mean of shape {mean} does not fit a covariance of shape {cov}")
        import numpy

        size = () if self.size is None else (self.size,) if isinstance(self.size, int) else self.size
        return in_shape, [(*size, *numpy.broadcast_shapes(mean, cov[:-1]))], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> operator.CustomOp:
        return MultivariateNormal(self.size)
