"""`mx.nd.op`: the operators of `mx.nd`, under the name of the file that has them in MXNet."""

from ._cached_op import CachedOp as CachedOp
