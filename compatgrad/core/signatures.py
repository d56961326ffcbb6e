"""The signatures of ops for `inspect.signature` and `help`. The compiled module calls this."""

from __future__ import annotations

from inspect import Parameter, Signature, signature

from compatgrad import _C


def signature_of(op: _C.Op) -> Signature:
    """The signature that `inspect.signature` and `help` show for an op.

    Args:
        op: the op.

    Returns:
        The signature of the frontend's function that the op implements, or inputs x0, x1, ... and the op's parameters.

    Raises:
        AttributeError: `op` is not an op.

    Example:
        >>> import compatgrad
        >>> from compatgrad.core.signatures import signature_of
        >>> print(signature_of(compatgrad.ops.softmax))
        (x0, /, axis=1)

    Source: `compatgrad/core/signatures.py`.
    """
    if op.fallback is not None:
        return signature(op.fallback)
    info = _C.op_info(op.__name__)
    if info["inputs"] < 0:
        inputs = [Parameter("tensors", Parameter.POSITIONAL_ONLY)]
    else:
        count, optional = info["inputs"], info["optional"]
        # optional inputs before the last required one must be passed as None
        last = max((i for i in range(count) if i not in optional), default=-1)
        inputs = [
            Parameter(f"x{i}", Parameter.POSITIONAL_ONLY, default=None if i > last else Parameter.empty)
            for i in range(count)
        ]
    params = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty if default is ... else default)
        for name, _, default in info["params"]
    ]
    has_default = [p.default is not Parameter.empty for p in inputs + params]
    if has_default != sorted(has_default):  # a parameter without a default after others with one is keyword-only
        params = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in params]
    return Signature(inputs + params)
