"""Converters for quantization-aware training: to graphs that record ranges of values, and to graphs that quantize
values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from ... import functions as F
from ... import parameter
from ...variable import Variable
from .graph_converter import FunctionModifier

__all__ = ["PrecisionMode", "QuantizeNonQNNToRecordingModifier", "QuantizeRecordingToTrainingModifier"]


class PrecisionMode(Enum):
    """The arithmetic of a training graph; only SIM_QNN, floats that are quantized and dequantized, is supported.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import PrecisionMode
        >>> PrecisionMode.SIM_QNN.value
        1

    Source: `nnabla.utils.qnn.PrecisionMode` of nnabla 1.39.0.
    """

    QNN = 0
    SIM_QNN = 1
    MIXED_QNN = 2


_OF_TWO = ("Add2", "Sub2", "Mul2", "Div2", "Pow2")
_OF_MANY = ("Concatenate", "Stack")
_WITH_BIAS = ("Affine", "Convolution", "Deconvolution", "DepthwiseConvolution", "DepthwiseDeconvolution")
_SHARING = ("Add2", "Concatenate")  # all inputs of these functions share one range


def _data_inputs(f: Any) -> int:
    """The number of data inputs, which come first; the others are parameters."""
    if f.info.type_name in _OF_MANY:
        return len(f.inputs)
    return 2 if f.info.type_name in _OF_TWO else 1


def _upstream(f: Any) -> Iterator[Any]:
    seen = {x.parent for x in f.inputs if x.parent is not None}
    queue = list(seen)
    for g in queue:  # the loop appends to the list
        new = {x.parent for x in g.inputs if x.parent is not None} - seen
        seen |= new
        queue += new
    return iter(queue)


def _downstream(f: Any) -> Iterator[Any]:
    seen = set(f.outputs[0].function_references)
    queue = list(seen)
    for g in queue:  # the loop appends to the list
        new = {h for y in g.outputs for h in y.function_references} - seen
        seen |= new
        queue += new
    return iter(queue)


class _Quantizing(FunctionModifier):
    def __init__(self, functions_ranks: Mapping[Any, int], config: Any) -> None:
        super().__init__()
        self._config = config
        self.functions_ranks = functions_ranks

    def get_function_rank(self, f: Any) -> int:
        """The number of `f`; -1 where it has none."""
        return self.functions_ranks.get(f, -1)

    def _scope(self, f: Any) -> Any:
        return parameter.parameter_scope(f"{f.info.type_name}-{self.get_function_rank(f)}")

    @property
    def _axes(self) -> list[int]:
        return [3] if self._config.channel_last else [1]


class QuantizeNonQNNToRecordingModifier(_Quantizing):
    """Inserts recorders of ranges before functions, and also after them where the configuration says so.

    Args:
        functions_ranks: numbers of the functions from `FunctionsRankRecorder`, which become part of parameter names.
        config (QATConfig): says which functions are recorded, by which recorders, and at which positions.
        training: whether the recorders record.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> from compatgrad.nnabla.utils.qnn import FunctionsRankRecorder, QATConfig
        >>> class Config(QATConfig):
        ...     skip_outputs_layers = []
        >>> y = PF.affine(nn.Variable((2, 3)), 4)
        >>> ranks = FunctionsRankRecorder()
        >>> y.visit(ranks)
        >>> modifier = GC.QuantizeNonQNNToRecordingModifier(ranks.functions_ranks, Config())
        >>> recording = GC.GraphConverter([modifier]).convert(y)
        >>> recording.visit(lambda f: print(f.info.type_name))
        MaxMvaRecorder
        MinMaxMinMaxRecorder
        MinMaxMinMaxRecorder
        Affine

    Source: `nnabla.experimental.graph_converters.QuantizeNonQNNToRecordingModifier` of nnabla 1.39.0.
    """

    def __init__(self, functions_ranks: Mapping[Any, int], config: Any = None, training: bool = True) -> None:
        super().__init__(functions_ranks, config)
        self._training = training

    def check(self, f: Any) -> bool:
        """Whether the inputs of `f` are to be recorded."""
        type_name, config = f.info.type_name, self._config
        if type_name in ("Sink", "BatchNormalization"):
            return False
        if config.record_layers and type_name not in config.record_layers:
            return False
        first, last = config.skip_inputs_layers, config.skip_outputs_layers
        if type_name in first and not any(g.info.type_name in first for g in _upstream(f)):
            return False
        return not (type_name in last and not any(g.info.type_name in last for g in _downstream(f)))

    def _recorded(self, x: Variable, name: str) -> Variable:
        recorder = self._config.recorder_activation()
        return recorder(x, axes=self._axes, training=self._training, name=name)

    def add_recorder(self, f: Any, inputs: list[Variable], cfg: Any) -> list[Variable]:
        """The `inputs` of `f` after recorders of the configuration `cfg`. Data that has a recorder already gets no
        second one.
        """
        count = _data_inputs(f)
        type_name = cfg.recorder_activation.name()
        found = []
        with self._scope(f):
            for i, x in enumerate(inputs[:count]):
                readers = x.function_references
                if readers and readers[0].info.type_name == type_name:
                    x = readers[0].outputs[0]
                elif x.parent is None or x.parent.info.type_name != type_name:
                    x = self._recorded(x, f"x{i}")
                found.append(x)
            for i, w in enumerate(inputs[count:]):
                found.append(cfg.recorder_weight()(w, axes=self._axes, training=self._training, name=f"w{i}"))
        return found

    def share_recorder(self, f: Any, inputs: list[Variable], new_inputs: list[Variable], cfg: Any) -> list[Variable]:
        """Makes all inputs of an addition or a concatenation share the recorder of the input with the lowest rank."""
        if f.info.type_name not in _SHARING:
            return new_inputs
        ranks = [inputs[0].rank, *(x.rank for x in new_inputs[1:])]
        first = ranks.index(min(ranks))
        scope = self.get_parameter_scope(new_inputs[first].parent.inputs[1])
        with parameter.parameter_scope(scope):
            return [x if i == first else self._recorded(x.parent.inputs[0], "x0") for i, x in enumerate(new_inputs)]

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if not self.check(f):
            return None
        config = self._config
        recorded = self.share_recorder(f, inputs, self.add_recorder(f, inputs, config), config)
        h = self._modify_as_same(f, recorded)
        if config.recorder_position == config.RecorderPosition.BOTH:
            with self._scope(f.outputs[0].function_references[0]):
                h = self._recorded(h, "x0")
        return h


class QuantizeRecordingToTrainingModifier(_Quantizing):
    """Quantizes and dequantizes values by the recorded ranges, in a graph without its recorders.

    Args:
        functions_ranks: numbers of the functions, the same as those for the recording graph.
        config (QATConfig): the rounding and the number of quantization steps.

    Raises:
        NotImplementedError: the configuration's precision mode is not SIM_QNN.

    Example:
        >>> from compatgrad.nnabla.utils.qnn import QATConfig, QATScheduler
        >>> class Config(QATConfig):
        ...     niter_to_recording, niter_to_training, skip_outputs_layers = 0, 1, []
        >>> x = nn.Variable.from_numpy_array(np.ones((2, 3)))
        >>> y = PF.affine(x, 4)
        >>> scheduler = QATScheduler(Config())  # applies this modifier in its second step
        >>> scheduler(y)
        >>> scheduler.step()
        >>> y.forward()
        >>> scheduler.step()
        >>> y.parent.inputs[0].parent.info.type_name
        'DequantizeLinear'

    Source: `nnabla.experimental.graph_converters.QuantizeRecordingToTrainingModifier` of nnabla 1.39.0.
    """

    def __init__(self, functions_ranks: Mapping[Any, int], config: Any = None) -> None:
        if config.precision_mode is not PrecisionMode.SIM_QNN:
            raise NotImplementedError(f"precision_mode {config.precision_mode}: only SIM_QNN is supported")
        super().__init__(functions_ranks, config)

    def _range(self, recorder: Any, x: Variable, name: str) -> tuple[Any, Any]:
        config = self._config
        return recorder.get_scale_zeropoint(
            x, axes=self._axes, narrow_range=config.narrow_range, round_method=config.pow2.value, name=name
        )

    def _quantized(self, x: Variable, scale: Any, zero: Any) -> Variable:
        config = self._config
        if scale is None:
            return x
        return F.quantize_linear(x, scale, zero, config.round_mode, config.narrow_range, config.dtype)

    @staticmethod
    def _is(x: Variable, type_name: str) -> bool:
        return x.parent is not None and x.parent.info.type_name == type_name

    def _quantize_inputs(self, f: Any, inputs: list[Variable]) -> list[Variable]:
        """The inputs with leaves and parameters quantized; results of functions are quantized already."""
        count, config = _data_inputs(f), self._config
        found = []
        with self._scope(f):
            for i, x in enumerate(inputs[:count]):
                known = self._range(config.recorder_activation, x, f"x{i}") if x.rank == 0 else (None, None)
                found.append(self._quantized(x, *known))
            for i, w in enumerate(inputs[count:]):
                found.append(self._quantized(w, *self._range(config.recorder_weight, w, f"w{i}")))
            if f.info.type_name in _WITH_BIAS and len(found) == 3:
                found[2] = self._quantize_bias(*found)
        return found

    def _quantize_bias(self, x: Variable, w: Variable, b: Variable) -> Variable:
        """The bias, quantized with the step of the products to which it is added."""
        if self._config.skip_bias or not all(self._is(v, "QuantizeLinear") for v in (x, w, b)):
            return b
        step = (x.parent.inputs[1].d * w.parent.inputs[1].d.reshape(-1)[0]).reshape(1)
        scale = parameter.get_parameter_or_create("scale-b", (1,), step, False)
        zero_of_x = x.parent.inputs[2].d.reshape(1)
        zero = parameter.get_parameter_or_create("zeropoint-b", (1,), np.array(zero_of_x), False)
        return self._quantized(b.parent.inputs[0], scale, zero)

    def _dequantize(self, x: Variable) -> Variable:
        for reader in x.function_references:
            if reader.info.type_name == "DequantizeLinear":
                x = reader.outputs[0]
                break
        return F.dequantize_linear(x, *x.parent.inputs[1:3]) if self._is(x, "QuantizeLinear") else x

    def _share(self, f: Any, inputs: list[Variable]) -> list[Variable]:
        """Makes all inputs of an addition or a concatenation have the step of the input with the lowest rank."""
        if f.info.type_name not in _SHARING:
            return inputs
        first = 0
        for i, x in enumerate(inputs):
            if self._is(x, "DequantizeLinear") and x.rank < inputs[first].rank:
                first = i
        if not self._is(inputs[first], "DequantizeLinear"):
            return [
                x.parent.inputs[0].parent.inputs[0] if i != first and self._is(x, "DequantizeLinear") else x
                for i, x in enumerate(inputs)
            ]
        scale, zero = inputs[first].parent.inputs[1:3]
        shared = []
        for i, x in enumerate(inputs):
            if i != first:
                source = x.parent.inputs[0].parent.inputs[0] if self._is(x, "DequantizeLinear") else x
                x = F.dequantize_linear(self._quantized(source, scale, zero), scale, zero)
            shared.append(x)
        return shared

    def _quantize_output(self, f: Any, y: Variable) -> Variable:
        """The output, quantized by the range that the first of its readers with a recorder has recorded."""
        scale = zero = None
        for reader in f.outputs[0].function_references:
            if reader.info.type_name == "Sink":
                return y
            name = "x0"
            if reader.info.type_name in _OF_TWO:
                name = f"x{max(i for i, x in enumerate(reader.inputs) if x == f.outputs[0])}"
            with self._scope(reader):
                scale, zero = self._range(self._config.recorder_activation, y, name)
            if scale is not None:
                break
        return self._quantized(y, scale, zero)

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        inputs = [self._dequantize(x) for x in self._quantize_inputs(f, inputs)]
        y = self._modify_as_same(f, self._share(f, inputs))
        return y if f.info.type_name == "Sink" else self._quantize_output(f, y)
