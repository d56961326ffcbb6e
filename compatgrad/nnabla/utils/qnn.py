"""Quantization-aware training of networks for inference with 8-bit integers.

A graph passes through three states: unmodified; recording, in which functions record the range of each value; and
training, in which values are quantized and dequantized by these ranges. `QATScheduler` converts the graph from state to
state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from .. import _init, parameter
from .. import functions as F  # noqa: F401  programs find it here, as in nnabla
from ..experimental import graph_converters as GC
from ..experimental.graph_converters.quantize import PrecisionMode
from ..function import PythonFunction  # noqa: F401  programs find it here, as in nnabla
from ..initializer import ConstantInitializer  # noqa: F401  programs find it here, as in nnabla
from ..logger import logger
from ..variable import Variable
from . import _recorders
from ._recorders import *  # noqa: F403
from ._recorders import MaxMvaRecorderCallback, MinMaxMinMaxRecorderCallback, _RecorderCallback

__all__ = [
    *_recorders.__all__,
    "FunctionsRankRecorder",
    "PrecisionMode",
    "QATConfig",
    "QATScheduler",
    "QATTensorRTConfig",
    "QNNState",
    "qat_default_config",
]


class QNNState(Enum):
    """The states of a graph during quantization-aware training.

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
    """The settings of quantization-aware training. Programs set attributes of an instance or of a subclass.

    Attributes:
        niter_to_recording: the number of steps before graphs record ranges.
        niter_to_training: the number of steps before training with quantized values.
        recorder_weight, recorder_activation: the classes that record the ranges of weights and of other values.
        record_layers: the types of functions whose inputs are quantized; empty: all.
        recorder_position: whether to record the inputs of functions, or their outputs too.
        skip_inputs_layers, skip_outputs_layers: types of functions that are not quantized at the inputs and at the
            outputs of the graph.
        skip_bias: whether biases are not quantized.
        pow2: how scales are rounded to powers of two.
        narrow_range: whether the lowest integer is not used, so that the range is symmetric.
        round_mode: how values are rounded.
        bn_folding, bn_self_folding: whether to fold batch normalizations into neighboring weights, and the remaining
            ones into a scale and a shift.
        channel_last: whether the channels are the last axis.
        learning_rate_scale: the factor of the learning rate when training with quantized values begins.
        ext_name, zero_point, dtype, precision_mode, channel_wise: settings for other backends of nnabla.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QATConfig
        >>> config = QATConfig()
        >>> config.niter_to_recording, config.niter_to_training = 1, 100
        >>> config.pow2.name
        'ROUND'

    Source: `nnabla.utils.qnn.QATConfig` of nnabla 1.39.0.
    """

    class RoundingMethod(Enum):
        """How scales are rounded to powers of two."""

        CEIL = "CEIL"
        ROUND = "ROUND"
        FLOOR = "FLOOR"
        NOTROUND = "NOTROUND"

    class RecorderPosition(Enum):
        """Whether to record the inputs of functions, or their outputs too."""

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
    """The QATConfig for TensorRT: folds batch normalization, and quantizes the inputs of the layers that TensorRT
    quantizes.

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
    """A callable for `Variable.visit` that numbers the functions.

    Args:
        functions_only_for_training: function types that are not numbered.

    Attributes:
        functions_ranks: a dict from functions to their numbers.

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
    """Converts graphs to the recording state, and later to the training state. Calling the scheduler registers the
    output Variable of a graph, which remains the output of the converted graph.

    Args:
        config: the settings, including the numbers of steps.
        solver: the solver that receives the new parameters. Its learning rate is multiplied by `learning_rate_scale`
            when the training state begins.

    Raises:
        ValueError: the condition 0 <= niter_to_recording < niter_to_training does not hold.

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
                f"{config.niter_to_training}: expected 0 <= niter_to_recording < niter_to_training"
            )
        self.config = config
        self.solver = solver
        self.counter = 0
        self.state = QNNState.NON_QNN
        self.registry: list[tuple[Variable, bool]] = []

    def __call__(self, pred: Variable, training: bool = True) -> None:
        """Registers the output `pred` of a graph; `training`: whether this graph records ranges."""
        self.registry.append((pred, training))

    def step(self) -> None:
        """Counts an iteration, and converts the graphs when the count reaches the configured numbers."""
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
        """Writes the graphs registered with training=False to a file, with an executor named "runtime".

        With `deploy`, raises RuntimeError unless the graphs are in the training state.
        """
        from .save import save

        if deploy and self.state is not QNNState.TRAINING:
            raise RuntimeError(f"QATScheduler.save: deploy=True needs graphs in TRAINING, got {self.state.name}")
        names = {f"x{i}": x for i, x in enumerate(inputs if isinstance(inputs, (list, tuple)) else [inputs])}
        for pred, training in self.registry:
            if training:
                continue
            network = {"name": net_name, "batch_size": batch_size, "outputs": {"y0": pred}, "names": names}
            executor = {"name": "runtime", "network": net_name, "data": list(names), "output": ["y0"]}
            save(fname, {"networks": [network], "executors": [executor]})
