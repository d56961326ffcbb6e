"""Training of networks that are to run with integers of 8 bits.

A graph goes through three states: as it was made; recording, with recorders of the range of each value; and training,
with values quantized and dequantized by those ranges. `QATScheduler` leads it through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import _init, parameter
from .. import functions as F
from ..experimental import graph_converters as GC
from ..experimental.graph_converters.quantize import PrecisionMode
from ..function import PythonFunction
from ..initializer import ConstantInitializer
from ..logger import logger
from ..variable import Variable

__all__ = [
    "AbsMaxRecorder",
    "AbsMaxRecorderCallback",
    "FunctionsRankRecorder",
    "MaxMaxRecorder",
    "MaxMaxRecorderCallback",
    "MaxMvaRecorder",
    "MaxMvaRecorderCallback",
    "MinMaxMinMaxRecorder",
    "MinMaxMinMaxRecorderCallback",
    "MinMaxMvaRecorder",
    "MinMaxMvaRecorderCallback",
    "PrecisionMode",
    "QATConfig",
    "QATScheduler",
    "QATTensorRTConfig",
    "QNNState",
    "abs_max_recorder",
    "max_max_recorder",
    "max_mva_recorder",
    "minmax_minmax_recorder",
    "minmax_mva_recorder",
    "qat_default_config",
]

_ROUNDING: dict[str, Callable[[Any], Any] | None] = {
    "CEIL": np.ceil,
    "ROUND": np.round,
    "FLOOR": np.floor,
    "NOTROUND": None,
}
_LOWEST, _HIGHEST = -128, 127  # of 8 bits


class _Recorder(PythonFunction):
    """Hands on its first input, and notes the range of that in the others, each of one element.

    `_has_minimum`: the least value is noted too, before the greatest; `_absolute`: of absolute values.
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
        """Lets `noted` take in what a batch has."""
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
    """Notes moving averages, of which `decay` stays at each forward pass."""

    def __init__(self, ctx: Any, decay: float = 0.99, training: bool = True) -> None:
        super().__init__(ctx, training)
        self.decay = decay

    def _merged(self, noted: Any, found: Any, take: Callable[..., Any]) -> None:
        F.identity(self.decay * noted + (1 - self.decay) * found, outputs=[noted])


class MinMaxMinMaxRecorder(_Recorder):
    """Notes the least and the greatest value ever."""

    _has_minimum = True


class MinMaxMvaRecorder(_MovingRecorder):
    """Notes moving averages of the least and the greatest value."""

    _has_minimum = True


class AbsMaxRecorder(_Recorder):
    """Notes the greatest absolute value ever."""

    _absolute = True


class MaxMaxRecorder(_Recorder):
    """Notes the greatest value ever."""


class MaxMvaRecorder(_MovingRecorder):
    """Notes a moving average of the greatest value."""


def minmax_minmax_recorder(x: Any, m: Any, M: Any, training: bool = True) -> Any:
    """`x`, whose range is noted in `m` and `M` by a `MinMaxMinMaxRecorder`."""
    return MinMaxMinMaxRecorder(None, training)(x, m, M)


def abs_max_recorder(x: Any, M: Any, training: bool = True) -> Any:
    """`x`, whose range is noted in `M` by an `AbsMaxRecorder`."""
    return AbsMaxRecorder(None, training)(x, M)


def minmax_mva_recorder(x: Any, m: Any, M: Any, decay: float = 0.99, training: bool = True) -> Any:
    """`x`, whose range is noted in `m` and `M` by a `MinMaxMvaRecorder`."""
    return MinMaxMvaRecorder(None, decay, training)(x, m, M)


def max_max_recorder(x: Any, M: Any, training: bool = True) -> Any:
    """`x`, whose range is noted in `M` by a `MaxMaxRecorder`."""
    return MaxMaxRecorder(None, training)(x, M)


def max_mva_recorder(x: Any, M: Any, decay: float = 0.99, training: bool = True) -> Any:
    """`x`, whose range is noted in `M` by a `MaxMvaRecorder`."""
    return MaxMvaRecorder(None, decay, training)(x, M)


class _RecorderCallback:
    """A recorder whose ranges are parameters of the current scope: "M-name", and "m-name" for the least value."""

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
        """The step between integers for the noted range, and the integer of 0, which is 0: parameters "scale-name"
        and "zeropoint-name", or None and None where no range is noted."""
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


class MinMaxMinMaxRecorderCallback(_RecorderCallback):
    """`MinMaxMinMaxRecorder` with its parameters."""

    _recorder = MinMaxMinMaxRecorder


class AbsMaxRecorderCallback(_RecorderCallback):
    """`AbsMaxRecorder` with its parameter."""

    _recorder = AbsMaxRecorder


class MinMaxMvaRecorderCallback(_RecorderCallback):
    """`MinMaxMvaRecorder` with its parameters."""

    _recorder = MinMaxMvaRecorder


class MaxMaxRecorderCallback(_RecorderCallback):
    """`MaxMaxRecorder` with its parameter."""

    _recorder = MaxMaxRecorder


class MaxMvaRecorderCallback(_RecorderCallback):
    """`MaxMvaRecorder` with its parameter."""

    _recorder = MaxMvaRecorder


class QNNState(Enum):
    """Where a graph is on its way to integers."""

    NON_QNN = 0
    RECORDING = 1
    TRAINING = 2
    DEPLOYMENT = 3


class QATConfig:
    """What is quantized, and how. Change attributes of an instance, or of a subclass."""

    class RoundingMethod(Enum):
        """How scales become powers of two."""

        CEIL = "CEIL"
        ROUND = "ROUND"
        FLOOR = "FLOOR"
        NOTROUND = "NOTROUND"

    class RecorderPosition(Enum):
        """Before functions, or behind them too."""

        BEFORE = 0
        BOTH = 1

    ext_name = "cudnn"
    zero_point = False
    dtype = np.int8
    precision_mode = PrecisionMode.SIM_QNN
    channel_last = False
    channel_wise = False
    niter_to_recording = 0
    niter_to_training = -1
    pow2 = RoundingMethod.ROUND
    narrow_range = False
    round_mode = "HALF_TO_EVEN"
    bn_folding = False
    bn_self_folding = False
    recorder_weight: type[_RecorderCallback] = MinMaxMinMaxRecorderCallback
    recorder_activation: type[_RecorderCallback] = MaxMvaRecorderCallback
    record_layers: Sequence[str] = []
    recorder_position = RecorderPosition.BEFORE
    skip_inputs_layers: Sequence[str] = ["Convolution", "Deconvolution"]
    skip_outputs_layers: Sequence[str] = ["Affine"]
    learning_rate_scale = 0.1
    skip_bias = False


class QATTensorRTConfig(QATConfig):
    """What TensorRT quantizes."""

    bn_folding = True
    bn_self_folding = True
    record_layers = ["Convolution", "Deconvolution", "Affine", "BatchMatmul", "ReLU"]
    record_position = QATConfig.RecorderPosition.BEFORE


qat_default_config = QATTensorRTConfig()


class FunctionsRankRecorder:
    """Numbers the functions that `Variable.visit` gives it, in `functions_ranks`, but for some types."""

    def __init__(self, functions_only_for_training: Sequence[str] = ("ImageAugmentation", "Dropout")) -> None:
        self.functions_only_for_training = functions_only_for_training
        self.rank = 0
        self.functions_ranks: dict[Any, int] = {}

    def __call__(self, f: Any) -> None:
        if f.info.type_name not in self.functions_only_for_training:
            self.functions_ranks[f] = self.rank
            self.rank += 1


class QATScheduler:
    """Makes graphs recording ones after `niter_to_recording` steps, and training ones after `niter_to_training`.

    config: a QATConfig with those two numbers; ValueError unless 0 <= niter_to_recording < niter_to_training. solver:
    gets the new parameters, and from training on the learning rate times `learning_rate_scale`.
    """

    def __init__(self, config: QATConfig = qat_default_config, solver: Any = None) -> None:
        if not 0 <= config.niter_to_recording < config.niter_to_training:
            raise ValueError(
                f"QATScheduler: niter_to_recording={config.niter_to_recording} and niter_to_training="
                f"{config.niter_to_training}: 0 <= niter_to_recording < niter_to_training is needed"
            )
        self.config = config
        self.solver = solver
        self.counter = 0
        self.state = QNNState.NON_QNN
        self.registry: list[tuple[Variable, bool]] = []

    def __call__(self, pred: Variable, training: bool = True) -> None:
        """Registers the output `pred` of a graph, which stays the output; `training`: whether it records ranges."""
        self.registry.append((pred, training))

    def step(self) -> None:
        """Counts an iteration, and changes the graphs when it is time."""
        if self.counter == self.config.niter_to_recording:
            self._change(self._start_recording, QNNState.RECORDING)
        elif self.counter == self.config.niter_to_training:
            self._change(self._start_training, QNNState.TRAINING)
        self.counter += 1

    def _change(self, change: Callable[[Variable, bool], None], state: QNNState) -> None:
        _init.clear_memory_cache()
        for pred, training in self.registry:
            change(pred, training)
            if self.solver and (self.config.bn_folding or self.config.bn_self_folding):
                self.solver.set_parameters(parameter.get_parameters(grad_only=True))
            if self.solver and state is QNNState.TRAINING:
                self.solver.set_learning_rate(self.solver.learning_rate() * self.config.learning_rate_scale)
            logger.info("%s -> %s: graph=%s", self.state, state, pred)
        self.state = state

    @staticmethod
    def _rewire(pred: Variable, modifiers: Sequence[Any]) -> None:
        pred.rewire_on(GC.GraphConverter(modifiers).convert(pred))

    @staticmethod
    def _ranks(pred: Variable) -> dict[Any, int]:
        recorder = FunctionsRankRecorder()
        pred.visit(recorder)
        return recorder.functions_ranks

    def _start_recording(self, pred: Variable, training: bool) -> None:
        folding: list[Any] = []
        if self.config.bn_folding:
            folding += [
                GC.BatchNormalizationFoldingModifier(opposite, self.config.channel_last) for opposite in (False, True)
            ]
        if self.config.bn_self_folding:
            folding.append(GC.BatchNormalizationSelfFoldingModifier())
        if folding:
            self._rewire(pred, [GC.UnfusedBatchNormalizationModifier(), *folding])
        recording = GC.QuantizeNonQNNToRecordingModifier(self._ranks(pred), config=self.config, training=training)
        self._rewire(pred, [recording])
        pred.need_grad = False

    def _start_training(self, pred: Variable, training: bool) -> None:
        recorders = [self.config.recorder_activation.name(), self.config.recorder_weight.name()]
        self._rewire(pred, [GC.RemoveFunctionModifier(recorders)])
        self._rewire(pred, [GC.QuantizeRecordingToTrainingModifier(self._ranks(pred), config=self.config)])

    def save(
        self,
        fname: Any,
        inputs: Variable | Sequence[Variable],
        batch_size: int = 1,
        net_name: str = "net",
        deploy: bool = False,
    ) -> None:
        """Writes the graphs that were registered with training=False to a file, with an executor "runtime".

        deploy: RuntimeError unless training graphs were made.
        """
        from .save import save

        if deploy and self.state is not QNNState.TRAINING:
            raise RuntimeError(f"QATScheduler.save: deploy=True needs graphs in training, not {self.state.name}")
        names = {f"x{i}": x for i, x in enumerate(inputs if isinstance(inputs, (list, tuple)) else [inputs])}
        for pred, training in self.registry:
            if training:
                continue
            network = {"name": net_name, "batch_size": batch_size, "outputs": {"y0": pred}, "names": names}
            executor = {"name": "runtime", "network": net_name, "data": list(names), "output": ["y0"]}
            save(fname, {"networks": [network], "executors": [executor]})
