"""`mx.nd.op`: MXNet's module of operators, whose names are those of `mx.nd`."""

from ._cached_op import CachedOp as CachedOp
