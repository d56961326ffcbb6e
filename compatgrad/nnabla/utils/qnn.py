"""Training of networks that are to run with integers of 8 bits.

A graph goes through three states: as it was made; recording, with recorders of the range of each value; and training,
with values quantized and dequantized by those ranges. `QATScheduler` leads it through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _init, parameter
from .. import functions as F  # noqa: F401  programs find it here, as in nnabla
from ..experimental import graph_converters as GC
from ..experimental.graph_converters.quantize import PrecisionMode
from ..function import PythonFunction  # noqa: F401  programs find it here, as in nnabla
from ..initializer import ConstantInitializer  # noqa: F401  programs find it here, as in nnabla
from ..logger import logger
from ..variable import Variable
from ._recorders import (
    AbsMaxRecorder,
    AbsMaxRecorderCallback,
    MaxMaxRecorder,
    MaxMaxRecorderCallback,
    MaxMvaRecorder,
    MaxMvaRecorderCallback,
    MinMaxMinMaxRecorder,
    MinMaxMinMaxRecorderCallback,
    MinMaxMvaRecorder,
    MinMaxMvaRecorderCallback,
    _RecorderCallback,
    abs_max_recorder,
    max_max_recorder,
    max_mva_recorder,
    minmax_minmax_recorder,
    minmax_mva_recorder,
)

if TYPE_CHECKING:
    pass

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


class QNNState(Enum):
    """Where a graph is on its way to integers.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QNNState
        >>> [state.name for state in QNNState]
        ['NON_QNN', 'RECORDING', 'TRAINING', 'DEPLOYMENT']

    Source: `nnabla.utils.qnn.QNNState` of nnabla 1.39.0.
    """

    NON_QNN = 0
    RECORDING = 1
    TRAINING = 2
    DEPLOYMENT = 3


class QATConfig:
    """What is quantized, and how. Programs change attributes of an instance, or of a subclass.

    Attributes:
        niter_to_recording: after how many steps graphs record ranges.
        niter_to_training: after how many steps graphs are trained with quantized values.
        recorder_weight, recorder_activation: what notes the ranges of weights, and of other values.
        record_layers: the types of functions whose inputs are quantized; none: all.
        recorder_position: whether recorders stand before functions, or behind them, too.
        skip_inputs_layers, skip_outputs_layers: types of functions at the ends of the graph that are left as they are.
        skip_bias: whether biases are left as they are.
        pow2: how scales become powers of two.
        narrow_range: whether the lowest integer is left out.
        round_mode: how values are rounded.
        bn_folding, bn_self_folding: whether batch normalization becomes a part of weights, or a scale.
        channel_last: whether the channels are the last axis.
        learning_rate_scale: what the learning rate is multiplied by when training with quantized values begins.
        ext_name, zero_point, dtype, precision_mode, channel_wise: what nnabla's other backends need.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QATConfig
        >>> config = QATConfig()
        >>> config.niter_to_recording, config.niter_to_training = 1, 100
        >>> config.pow2.name
        'ROUND'

    Source: `nnabla.utils.qnn.QATConfig` of nnabla 1.39.0.
    """

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
    """The QATConfig for TensorRT: batch normalization is folded, and the inputs of the layers that it quantizes are.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QATTensorRTConfig
        >>> QATTensorRTConfig().record_layers
        ['Convolution', 'Deconvolution', 'Affine', 'BatchMatmul', 'ReLU']

    Source: `nnabla.utils.qnn.QATTensorRTConfig` of nnabla 1.39.0.
    """

    bn_folding = True
    bn_self_folding = True
    record_layers = ["Convolution", "Deconvolution", "Affine", "BatchMatmul", "ReLU"]
    record_position = QATConfig.RecorderPosition.BEFORE


qat_default_config = QATTensorRTConfig()


class FunctionsRankRecorder:
    """Numbers the functions that `Variable.visit` gives it.

    Args:
        functions_only_for_training: types that are left out.

    Attributes:
        functions_ranks: the numbers by the functions.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import FunctionsRankRecorder
        >>> recorder = FunctionsRankRecorder()
        >>> F.sum(F.dropout(F.relu(nn.Variable((2, 3))))).visit(recorder)
        >>> {f.name: rank for f, rank in recorder.functions_ranks.items()}
        {'ReLU': 0, 'Sum': 1}

    Source: `nnabla.utils.qnn.FunctionsRankRecorder` of nnabla 1.39.0.
    """

    def __init__(self, functions_only_for_training: Sequence[str] = ("ImageAugmentation", "Dropout")) -> None:
        self.functions_only_for_training = functions_only_for_training
        self.rank = 0
        self.functions_ranks: dict[Any, int] = {}

    def __call__(self, f: Any) -> None:
        if f.info.type_name not in self.functions_only_for_training:
            self.functions_ranks[f] = self.rank
            self.rank += 1


class QATScheduler:
    """Leads graphs to recording, and then to training with quantized values.

    A call registers the output of a graph, which stays the output.

    Args:
        config: what is quantized, and after how many steps.
        solver: gets the new parameters, and from training on its learning rate times `learning_rate_scale`.

    Raises:
        ValueError: 0 <= niter_to_recording < niter_to_training does not hold.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QATScheduler, QATTensorRTConfig
        >>> config = QATTensorRTConfig()
        >>> config.niter_to_recording, config.niter_to_training = 1, 2
        >>> y = PF.affine(F.relu(PF.affine(nn.Variable((2, 3)), 4, name="a")), 5, name="b")
        >>> scheduler = QATScheduler(config)
        >>> scheduler(y)
        >>> for _ in range(3):
        ...     scheduler.step()
        >>> scheduler.state.name
        'TRAINING'

    Source: `nnabla.utils.qnn.QATScheduler` of nnabla 1.39.0.
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
