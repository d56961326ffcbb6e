"""`mx.nd.op`: the operators of `mx.nd`, under the name of the file that has them in MXNet."""

from .._home import of_package
from ._cached_op import CachedOp as CachedOp

__getattr__ = of_package(__name__)
