"""Where values stop being numbers."""

from contextlib import contextmanager

from .base import FunctionHookCallbackBase


class NanInfTracer(FunctionHookCallbackBase):
    """Gives hooks that look for NaN and infinite values; `check`, or leaving `trace()`, says which function
    made them.

        with tracer.trace():
            y.forward(function_post_hook=tracer.forward_post_hook)
            y.backward(function_post_hook=tracer.backward_post_hook)

    trace_nan, trace_inf: what is looked for. need_details: whether the error tells shapes and arguments.
    """

    def __init__(self, trace_nan=True, trace_inf=True, need_details=True):
        self.trace_nan = trace_nan
        self.trace_inf = trace_inf
        self.need_details = need_details
        self.key_to_stat_fwd = {}
        self.key_to_stat_bwd = {}

    @property
    def pre_hook(self):
        """None: there is nothing to do before."""
        return None

    @property
    def post_hook(self):
        """Raises NotImplementedError: there is one for each direction."""
        raise NotImplementedError("NanInfTracer: take its forward_post_hook or its backward_post_hook")

    def _is_bad(self, array):
        # not read from the device yet
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
    def forward_post_hook(self):
        """For function_post_hook of `forward`."""
        return self._hook(self.key_to_stat_fwd, lambda f: [y.data for y in f.outputs])

    @property
    def backward_post_hook(self):
        """For function_post_hook of `backward`."""
        return self._hook(self.key_to_stat_bwd, lambda f: [x.grad for x in f.inputs])

    @contextmanager
    def trace(self):
        """Calls `check` at the end of a `with` block."""
        yield self
        self.check()

    def check(self):
        """ValueError where a function that a hook has seen gave a bad value; the way there is printed."""
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
