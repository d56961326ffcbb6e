"""Finds the functions that produce NaN or infinite values."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from .base import FunctionHookCallbackBase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class NanInfTracer(FunctionHookCallbackBase):
    """Provides hooks that look for NaN and infinite values; `check`, or the end of a `trace()` block, raises an error
    that names the function.

    Args:
        trace_nan: whether to look for NaN.
        trace_inf: whether to look for infinite values.
        need_details: whether the error message includes the function's type, shapes and arguments.

    Example:
        >>> from compatgrad.nnabla.utils.inspection import NanInfTracer
        >>> tracer = NanInfTracer(need_details=False)
        >>> y = F.exp(F.log(nn.Variable.from_numpy_array(np.array([-1.0]))))
        >>> y.forward(function_post_hook=tracer.forward_post_hook)
        >>> try:
        ...     tracer.check()
        ... except ValueError as e:
        ...     print(e)
        Error during forward propagation
            Log <-- ERROR
        NanInfTracer: output 0 of the function 'Log' (rank: 0) has nan or inf as its values.

    Source: `nnabla.utils.inspection.NanInfTracer` of nnabla 1.39.0.
    """

    def __init__(self, trace_nan: bool = True, trace_inf: bool = True, need_details: bool = True):
        self.trace_nan = trace_nan
        self.trace_inf = trace_inf
        self.need_details = need_details
        self.key_to_stat_fwd = {}
        self.key_to_stat_bwd = {}

    @property
    def pre_hook(self) -> None:
        """None: the tracer inspects values after functions only."""
        return None

    @property
    def post_hook(self) -> Callable[[Any], Any] | None:
        """Raises NotImplementedError: use `forward_post_hook` or `backward_post_hook`."""
        raise NotImplementedError("NanInfTracer: use its forward_post_hook or its backward_post_hook")

    def _is_bad(self, array):
        # returns a tensor, because converting it to bool here would wait for the device after each function
        values = array.read()
        if not values.is_floating_point():
            return values.new_zeros(())
        if self.trace_nan and self.trace_inf:
            return values.isfinite().logical_not().any()
        return (values.isnan() if self.trace_nan else values.isinf()).any()

    def _hook(self, found, arrays_of):
        if not (self.trace_nan or self.trace_inf):
            return None

        def look(f):
            found[f] = [self._is_bad(array) for array in arrays_of(f)]

        return look

    @property
    def forward_post_hook(self) -> Callable[[Any], None] | None:
        """The hook for `function_post_hook` of `forward`, which inspects outputs; None if neither check is on."""
        return self._hook(self.key_to_stat_fwd, lambda f: [y.data for y in f.outputs])

    @property
    def backward_post_hook(self) -> Callable[[Any], None] | None:
        """The hook for `function_post_hook` of `backward`, which inspects the gradients of the inputs; None if neither
        check is on.
        """
        return self._hook(self.key_to_stat_bwd, lambda f: [x.grad for x in f.inputs])

    @contextmanager
    def trace(self) -> Iterator[NanInfTracer]:
        """A context manager that calls `check` at the end of the block."""
        yield self
        self.check()

    def check(self) -> None:
        """Raises ValueError if a value that a hook inspected is NaN or infinite; prints the functions up to that
        one."""
        for found, direction, what in (
            (self.key_to_stat_fwd, "forward", "output"),
            (self.key_to_stat_bwd, "backward", "gradient"),
        ):
            seen = []
            for f, flags in found.items():
                seen.append(f)
                bad = next((i for i, flag in enumerate(flags) if flag), None)
                if bad is not None:
                    print(f"Error during {direction} propagation")
                    for earlier in seen[:-1]:
                        print(f"\t{earlier}")
                    print(f"\t{f} <-- ERROR")
                    raise ValueError(self._message(f, bad, what))

    def _message(self, f, index, what):
        text = f"NanInfTracer: {what} {index} of the function '{f.name}' (rank: {f.rank}) has nan or inf as its values."
        if self.need_details:
            shapes = f"inputs {[x.shape for x in f.inputs]}, outputs {[y.shape for y in f.outputs]}"
            text += f" It is a {f.info.type_name}; shapes: {shapes}; arguments: {dict(f.info.args)}"
        return text
