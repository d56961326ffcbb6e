"""Converters that fold batch normalizations into neighbouring layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import parameter
from ...initializer import ConstantInitializer
from ...variable import Variable
from . import _folding
from .graph_converter import FunctionModifier

__all__ = [
    "AddBiasModifier",
    "BatchNormalizationFoldingModifier",
    "BatchNormalizationFoldingModifierInner",
    "BatchNormalizationFoldingOppositeModifierInner",
]


def _is_norm(f: Any) -> bool:
    return f is not None and f.info.type_name == "BatchNormalization" and len(f.inputs) == 5


def _is_layer(f: Any) -> bool:
    return f is not None and f.info.type_name in _folding.LAYERS


class AddBiasModifier(FunctionModifier):
    """Adds a bias of zeros, the parameter "b" next to the weights, to layers next to a batch normalization.

    Here and in the other classes, layers are affine functions, convolutions and deconvolutions.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.batch_normalization(PF.affine(nn.Variable((2, 3)), 4, with_bias=False), batch_stat=False)
        >>> with_bias = GC.GraphConverter([GC.AddBiasModifier()]).convert(y)
        >>> nn.get_parameters()["affine/b"].shape
        (4,)

    Source: `nnabla.experimental.graph_converters.AddBiasModifier` of nnabla 1.39.0.
    """

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if not _is_layer(f) or len(inputs) != 2:
            return None
        readers = f.outputs[0].function_references
        if not _is_norm(f.inputs[0].parent) and not any(map(_is_norm, readers)):
            return None
        with parameter.parameter_scope(self.get_parameter_scope(inputs[1])):
            bias = parameter.get_parameter_or_create(
                "b", _folding.bias_shape(f), ConstantInitializer(), need_grad=True, as_need_grad=True
            )
        return self._call_function(f.info.type_name, [*inputs, bias], f.info.args)


class BatchNormalizationFoldingModifierInner(FunctionModifier):
    """Folds a batch normalization into the layer before it: the new parameters are "w-folded" and "b-folded", next to
    the layer's own.

    Args:
        channel_last: whether images have their channels in the last axis.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.batch_normalization(PF.affine(nn.Variable((2, 3)), 4), batch_stat=False)
        >>> GC.GraphConverter([GC.BatchNormalizationFoldingModifierInner()]).convert(y).parent.info.type_name
        'Affine'
        >>> nn.get_parameters()["affine/w-folded"].shape
        (3, 4)

    Source: `nnabla.experimental.graph_converters.BatchNormalizationFoldingModifierInner` of nnabla 1.39.0.
    """

    def __init__(self, channel_last: bool = False) -> None:
        super().__init__()
        self._channel_last = channel_last
        self._folded: set[Any] = set()

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if f in self._folded:
            return inputs[0]
        readers = f.outputs[0].function_references
        if not _is_layer(f) or len(readers) != 1 or not _is_norm(readers[0]):
            return None
        w, b = _folding.after(f, readers[0], self._channel_last)
        need = [x.need_grad for x in inputs[1:]]
        with parameter.parameter_scope(self.get_parameter_scope(inputs[1])):
            weight = parameter.get_parameter_or_create("w-folded", w.shape, w, need[0])
            bias = parameter.get_parameter_or_create("b-folded", b.shape, b, need[-1])
        self._folded.add(readers[0])
        return self._call_function(f.info.type_name, [inputs[0], weight, bias], f.info.args)

    def __finish__(self) -> None:
        self._folded = set()


class BatchNormalizationFoldingOppositeModifierInner(FunctionModifier):
    """Folds a batch normalization into the layers after it, if only layers read its result; the parameters of these
    layers change.

    Args:
        channel_last: whether images have their channels in the last axis.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> y = PF.affine(PF.batch_normalization(nn.Variable((2, 3)), batch_stat=False), 4)
        >>> folded = GC.GraphConverter([GC.BatchNormalizationFoldingOppositeModifierInner()]).convert(y)
        >>> folded.visit(lambda f: print(f.info.type_name))
        Affine

    Source: `nnabla.experimental.graph_converters.BatchNormalizationFoldingOppositeModifierInner` of nnabla 1.39.0.
    """

    def __init__(self, channel_last: bool = False) -> None:
        super().__init__()
        self._channel_last = channel_last
        self._folded: set[Any] = set()

    def modify(self, f: Any, inputs: list[Variable]) -> Any:
        if _is_norm(f):
            readers = f.outputs[0].function_references
            if not readers or not all(_is_layer(g) and len(g.inputs) == 3 for g in readers):
                return None
            self._folded.add(f)
            return inputs[0]
        norm = f.inputs[0].parent if f.inputs else None
        if norm not in self._folded:
            return None
        w, b = _folding.before(norm, f, self._channel_last)
        f.inputs[1].d, f.inputs[2].d = np.ascontiguousarray(w), b
        return self._call_function(f.info.type_name, [inputs[0], *f.inputs[1:]], f.info.args)

    def __finish__(self) -> None:
        self._folded = set()


class BatchNormalizationFoldingModifier:
    """A list of modifiers: one that adds missing biases, and one that folds batch normalizations into neighbouring
    layers.

    Args:
        opposite: whether to fold them into the layers after them instead of those before them.
        channel_last: whether images have their channels in the last axis.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> x = nn.Variable.from_numpy_array(np.random.rand(2, 3))
        >>> y = PF.batch_normalization(PF.affine(x, 4), batch_stat=False)
        >>> folded = GC.GraphConverter([GC.BatchNormalizationFoldingModifier()]).convert(y)
        >>> nn.forward_all([y, folded])
        >>> folded.parent.info.type_name, bool(np.allclose(y.d, folded.d, atol=1e-5))
        ('Affine', True)

    Source: `nnabla.experimental.graph_converters.BatchNormalizationFoldingModifier` of nnabla 1.39.0.
    """

    def __new__(cls, opposite: bool = False, channel_last: bool = False) -> list[FunctionModifier]:  # type: ignore[misc]
        if opposite:
            return [AddBiasModifier(), BatchNormalizationFoldingOppositeModifierInner(channel_last)]
        return [AddBiasModifier(), BatchNormalizationFoldingModifierInner(channel_last)]
