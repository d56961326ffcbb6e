"""Recorders of the range of values, for networks that will run with 8-bit integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import functions as F
from .. import parameter
from .._documents import documented, merged
from ..function import PythonFunction
from ..initializer import ConstantInitializer
from ..variable import Variable

if TYPE_CHECKING:
    from .._typing import Array

__all__ = [
    "AbsMaxRecorder",
    "AbsMaxRecorderCallback",
    "MaxMaxRecorder",
    "MaxMaxRecorderCallback",
    "MaxMvaRecorder",
    "MaxMvaRecorderCallback",
    "MinMaxMinMaxRecorder",
    "MinMaxMinMaxRecorderCallback",
    "MinMaxMvaRecorder",
    "MinMaxMvaRecorderCallback",
    "abs_max_recorder",
    "max_max_recorder",
    "max_mva_recorder",
    "minmax_minmax_recorder",
    "minmax_mva_recorder",
]

_ROUNDING: dict[str, Callable[[Any], Any] | None] = {
    "CEIL": np.ceil,
    "ROUND": np.round,
    "FLOOR": np.floor,
    "NOTROUND": None,
}
_LOWEST, _HIGHEST = -128, 127  # the largest 8-bit integer


# The shared sections of the docstrings of recorders, and of recorders with parameters.
_RECORDERS = """
Args:
    x: any shape, computed in float32.
    m: the array that stores the smallest value, with as many axes as `x` and one element.
    M: the array that stores the largest value, with as many axes as `x` and one element.
    ctx: the context of all its calls; None: the current one.
    decay: the weight of the old value when a forward pass updates a moving average.
    training: whether forward passes record values.

Returns:
    Array with the values of `x`.

Raises:
    SystemError: in a call, an array for the range is missing or has another size.
"""
_CALLED = """

A call takes a Variable, `training` and a name, and returns the result of the recorder. `get_scale_zeropoint` returns
the step between integers for the recorded range.
"""


_recorder = documented(_RECORDERS, source="nnabla.utils.qnn", all_have=())


def _with_example(names: str) -> Callable[[type[_RecorderCallback]], type[_RecorderCallback]]:
    """Completes the docstring of a recorder with parameters, whose `names` its example shows."""

    def complete(cls: type[_RecorderCallback]) -> type[_RecorderCallback]:
        example = f"""
    >>> from compatgrad.nnabla.utils import qnn
    >>> x = nn.Variable.from_numpy_array(np.array([[-1.0, 0.5]]))
    >>> y = qnn.{cls.__name__}()(x, name="x")
    >>> y.forward()
    >>> list(nn.get_parameters())
    {names}"""
        if cls.__doc__:  # python -OO removes docstrings
            source = f"nnabla.utils.qnn.{cls.__name__}"
            cls.__doc__ = merged(cls.__doc__ + _CALLED, (), source=source, more={"Example": example})
        return cls

    return complete


class _Recorder(PythonFunction):
    """Base class of functions that return their first input and record its range in the other inputs, each of one
    element. `_has_minimum`: the smallest value is recorded, too, in the input before the largest one; `_absolute`:
    absolute values are recorded.
    """

    _has_minimum = False
    _absolute = False

    def __init__(self, ctx: Any, training: bool = True) -> None:
        super().__init__(ctx)
        self.training = training

    @property
    def name(self) -> str:
        return type(self).__name__

    def min_outputs(self) -> int:
        return 1

    def setup_impl(self, inputs: Any, outputs: Any) -> None:
        x, *ranges = inputs
        wanted = 2 if self._has_minimum else 1
        assert len(ranges) == wanted, f"{self.name} takes {wanted + 1} inputs, not {len(inputs)}"
        for r in ranges:
            assert r.ndim == x.ndim and r.size == 1, f"{self.name}: a range of {r.shape} does not fit {x.shape}"
        outputs[0].reset_shape(x.shape, True)

    def _merged(self, noted: Any, found: Any, take: Callable[..., Any]) -> None:
        """Updates the recorded value `noted` by the value `found` of a batch."""
        take(noted, found, outputs=[noted])

    def forward_impl(self, inputs: Any, outputs: Any) -> None:
        x, *ranges = (v.data for v in inputs)
        outputs[0].data.copy_from(x)
        if not self.training:
            return
        if self._has_minimum:
            self._merged(ranges[0], F.min(x, keepdims=True), F.minimum2)
        self._merged(ranges[-1], F.max(F.abs(x) if self._absolute else x, keepdims=True), F.maximum2)

    def backward_impl(self, inputs: Any, outputs: Any, propagate_down: Any, accum: Any) -> None:
        if propagate_down[0]:
            dx, dy = inputs[0].grad, outputs[0].grad
            if accum[0]:
                dx += dy
            else:
                dx.copy_from(dy)

    def grad_depends_output_data(self, i: int, o: int) -> bool:
        return False

    def grad_depends_input_data(self, i: int, j: int) -> bool:
        return False


class _MovingRecorder(_Recorder):
    """Base class of recorders of moving averages, with the weight `decay` for the old value."""

    def __init__(self, ctx: Any, decay: float = 0.99, training: bool = True) -> None:
        super().__init__(ctx, training)
        self.decay = decay

    def _merged(self, noted: Any, found: Any, take: Callable[..., Any]) -> None:
        F.identity(self.decay * noted + (1 - self.decay) * found, outputs=[noted])


@_recorder
class MinMaxMinMaxRecorder(_Recorder):
    """A function that returns its first input, and records the smallest and the largest value of all passes in the
    others.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.MinMaxMinMaxRecorder(None)(x, m, M)
        >>> y.forward()
        >>> m.d, M.d
        (array([[-1.]], dtype=float32), array([[0.5]], dtype=float32))
    """

    _has_minimum = True


@_recorder
class MinMaxMvaRecorder(_MovingRecorder):
    """A function that returns its first input, and records moving averages of its smallest and largest value in the
    others.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.MinMaxMvaRecorder(None, decay=0.5)(x, m, M)
        >>> y.forward()
        >>> m.d, M.d
        (array([[-0.5]], dtype=float32), array([[0.25]], dtype=float32))
    """

    _has_minimum = True


@_recorder
class AbsMaxRecorder(_Recorder):
    """A function that returns its first input, and records the largest absolute value of all passes in the second.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.AbsMaxRecorder(None)(x, M)
        >>> y.forward()
        >>> M.d
        array([[1.]], dtype=float32)
    """

    _absolute = True


@_recorder
class MaxMaxRecorder(_Recorder):
    """A function that returns its first input, and records the largest value of all passes in the second.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.MaxMaxRecorder(None)(x, M)
        >>> y.forward()
        >>> M.d
        array([[0.5]], dtype=float32)
    """


@_recorder
class MaxMvaRecorder(_MovingRecorder):
    """A function that returns its first input, and records a moving average of its largest value in the second.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.MaxMvaRecorder(None, decay=0.5)(x, M)
        >>> y.forward()
        >>> M.d
        array([[0.25]], dtype=float32)
    """


@_recorder
def minmax_minmax_recorder(x: Array, m: Array, M: Array, training: bool = True) -> Array:
    """Returns `x`, and records the smallest and the largest value of all passes.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.minmax_minmax_recorder(x, m, M)
        >>> y.forward()
        >>> m.d, M.d
        (array([[-1.]], dtype=float32), array([[0.5]], dtype=float32))
    """
    return MinMaxMinMaxRecorder(None, training)(x, m, M)


@_recorder
def abs_max_recorder(x: Array, M: Array, training: bool = True) -> Array:
    """Returns `x`, and records the largest absolute value of all passes.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.abs_max_recorder(x, M)
        >>> y.forward()
        >>> M.d
        array([[1.]], dtype=float32)
    """
    return AbsMaxRecorder(None, training)(x, M)


@_recorder
def minmax_mva_recorder(x: Array, m: Array, M: Array, decay: float = 0.99, training: bool = True) -> Array:
    """Returns `x`, and records moving averages of its smallest and largest value.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.minmax_mva_recorder(x, m, M, decay=0.5)
        >>> y.forward()
        >>> m.d, M.d
        (array([[-0.5]], dtype=float32), array([[0.25]], dtype=float32))
    """
    return MinMaxMvaRecorder(None, decay, training)(x, m, M)


@_recorder
def max_max_recorder(x: Array, M: Array, training: bool = True) -> Array:
    """Returns `x`, and records the largest value of all passes.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.max_max_recorder(x, M)
        >>> y.forward()
        >>> M.d
        array([[0.5]], dtype=float32)
    """
    return MaxMaxRecorder(None, training)(x, M)


@_recorder
def max_mva_recorder(x: Array, M: Array, decay: float = 0.99, training: bool = True) -> Array:
    """Returns `x`, and records a moving average of its largest value.

    Example:
        >>> from compatgrad.nnabla.utils import qnn
        >>> x, m, M = (nn.Variable.from_numpy_array(np.array([v])) for v in ([-1.0, 0.5], [0.0], [0.0]))
        >>> y = qnn.max_mva_recorder(x, M, decay=0.5)
        >>> y.forward()
        >>> M.d
        array([[0.25]], dtype=float32)
    """
    return MaxMvaRecorder(None, decay, training)(x, M)


class _RecorderCallback:
    """Base class of recorders whose ranges are parameters of the current scope: "M-name" for the largest value, and
    "m-name" for the smallest."""

    _recorder: type[_Recorder]

    def __init__(self) -> None:
        self._function = lambda *inputs, training: self._recorder(None, training=training)(*inputs)

    @classmethod
    def name(cls) -> str:
        """The type of the recorder's functions."""
        return cls._recorder.__name__

    @classmethod
    def _names(cls, name: str) -> list[str]:
        return [f"m-{name}", f"M-{name}"] if cls._recorder._has_minimum else [f"M-{name}"]

    def __call__(self, x: Variable, axes: Sequence[int] = (1,), training: bool = True, name: str = "") -> Variable:
        ranges = [
            parameter.get_parameter_or_create(key, [1] * x.ndim, ConstantInitializer()) for key in self._names(name)
        ]
        return self._function(x, *ranges, training=training)

    @classmethod
    def get_scale_zeropoint(
        cls,
        x: Variable,
        axes: Sequence[int] = (1,),
        narrow_range: bool = False,
        round_method: str = "NOTROUND",
        name: str = "",
    ) -> tuple[Variable | None, Variable | None]:
        """The step between integers for the recorded range, and the integer that stands for 0, which is 0: the
        parameters "scale-name" and "zeropoint-name", or None and None if no range is recorded."""
        ranges = [parameter.get_parameter(key) for key in cls._names(name)]
        if not any(ranges):
            return None, None
        steps = _HIGHEST - _LOWEST - (1 if narrow_range else 0)
        least, greatest = (r.d for r in ranges) if len(ranges) == 2 else (-ranges[0].d, ranges[0].d)
        scale = np.maximum(greatest - least, 1e-24) / steps
        rounding = _ROUNDING[round_method]
        if rounding is not None:
            scale = 2 ** rounding(np.log2(scale))
        zero = parameter.get_parameter_or_create(f"zeropoint-{name}", scale.shape, np.zeros_like(scale), False)
        return parameter.get_parameter_or_create(f"scale-{name}", scale.shape, scale, False), zero


@_with_example("['m-x', 'M-x']")
class MinMaxMinMaxRecorderCallback(_RecorderCallback):
    """`MinMaxMinMaxRecorder` with its parameters."""

    _recorder = MinMaxMinMaxRecorder


@_with_example("['M-x']")
class AbsMaxRecorderCallback(_RecorderCallback):
    """`AbsMaxRecorder` with its parameter."""

    _recorder = AbsMaxRecorder


@_with_example("['m-x', 'M-x']")
class MinMaxMvaRecorderCallback(_RecorderCallback):
    """`MinMaxMvaRecorder` with its parameters."""

    _recorder = MinMaxMvaRecorder


@_with_example("['M-x']")
class MaxMaxRecorderCallback(_RecorderCallback):
    """`MaxMaxRecorder` with its parameter."""

    _recorder = MaxMaxRecorder


@_with_example("['M-x']")
class MaxMvaRecorderCallback(_RecorderCallback):
    """`MaxMvaRecorder` with its parameter."""

    _recorder = MaxMvaRecorder
