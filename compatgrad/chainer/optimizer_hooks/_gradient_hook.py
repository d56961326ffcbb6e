"""The base of hooks whose arithmetic is a compiled loop over all parameters at once."""


class GradientHook:
    """Called for each parameter, `hook(rule, param)`, or by the optimizer once with all of them,
    `hook._apply(params)`.

    Parameters without data or gradient are skipped.
    """

    call_for_each_param = True
    timing = "pre"

    def __call__(self, rule, param):
        self._apply((param,))

    def _apply(self, params):
        raise NotImplementedError
