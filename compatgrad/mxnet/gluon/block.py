"""SymbolBlock, a block that runs a symbol; Block and HybridBlock, which programs import from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.core.files import naming

from .. import symbol
from .._checkpoint import checkpoint_file
from ..base import MXNetError, mx_real_t
from ._block import Block
from ._hybrid import HybridBlock, _fits, _flatten, _kinds, _regroup
from ._scope import _BlockScope as _BlockScope
from ._scope import _state
from .parameter import Parameter as Parameter
from .parameter import ParameterDict
from .utils import _brief_print_list as _brief_print_list
from .utils import _indent as _indent
from .utils import _save

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol
    from ._typing import Contexts, Dtype

__all__ = ["Block", "HybridBlock", "SymbolBlock"]

Block.__module__ = __name__  # the module's name in MXNet, as in pickles

_ROW_SPARSE = "1"  # MXNet's number, the value of a variable's attribute __storage_type__


class SymbolBlock(HybridBlock):
    """A block that runs symbols.

    All variables but the inputs are parameters; auxiliary states have no gradient.

    Args:
        outputs: the symbol that is run, or a list of them.
        inputs: the variables that are the block's inputs, one or a list of them.
        params: a ParameterDict with values for the other variables.

    Raises:
        AssertionError: an input is no variable; a parameter is row-sparse.
        ValueError: `outputs` or `inputs` are no symbols; in a call, there is another number of inputs.

    Example:
        >>> x, w = mx.sym.var("x"), mx.sym.var("w")
        >>> net = gluon.SymbolBlock(mx.sym.broadcast_mul(x, w), x)
        >>> net.collect_params()["w"].shape = (1,)
        >>> net.initialize(mx.init.One())
        >>> net(nd.array([1.0, 2.0])).asnumpy()
        array([1., 2.], dtype=float32)

    Source: `mxnet.gluon.SymbolBlock` of MXNet 1.9.1.
    """

    @staticmethod
    def imports(
        symbol_file: str,
        input_names: str | Sequence[str],
        param_file: str | None = None,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """The block of a file of HybridBlock.export (or Symbol.save), with the parameters of `param_file`."""
        out = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else input_names
        with naming(symbol_file), naming(symbol_file, to=AssertionError):
            block = SymbolBlock(out, [symbol.var(name) for name in names])
        if param_file is not None:
            block.collect_params().load(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
            )
        return block

    def __init__(
        self, outputs: Symbol | Sequence[Symbol], inputs: Symbol | Sequence[Symbol], params: ParameterDict | None = None
    ) -> None:
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        if isinstance(inputs, str):
            inputs = [inputs]  # the error below names the word, and not its first letter
        if isinstance(inputs, symbol.Symbol) and len(inputs.list_outputs()) == 1:
            inputs = [inputs]
        if isinstance(outputs, (list, tuple)):
            outputs = outputs[0] if len(outputs) == 1 else symbol.Group(list(outputs))
        inputs, self._in_format = _flatten(list(inputs))
        flat_outputs, self._out_format = _flatten(outputs)
        for x in (*inputs, *flat_outputs):
            if not isinstance(x, symbol.Symbol):
                raise ValueError(f"SymbolBlock: outputs and inputs must be symbols (mx.sym.var('data')), got {x!r}")
        for x in inputs:
            assert len(x.get_internals().list_outputs()) == 1, (
                f"Input symbols must be variable, but {x} is an output of operators"
            )
        for node in outputs.get_internals():
            assert node.attr("__storage_type__") != _ROW_SPARSE, (
                f"SymbolBlock doesn't support Parameter '{node.name}' because its storage type is 'row_sparse'."
            )
        self._inputs = [x.name for x in inputs]
        self._outputs = outputs
        auxiliary = set(outputs.list_auxiliary_states())
        for name, dtype in _dtypes(inputs, outputs).items():
            if name not in self._inputs:
                options = {"grad_req": "null"} if name in auxiliary else {}
                self._params.get(name, allow_deferred_init=True, dtype=dtype, **options)
        skip = len(_common_prefix(list(self._params.keys())))
        self._reg_params = {name[skip:]: param for name, param in self._params.items()}

    def __repr__(self):
        counts = f"{len(self._inputs)} -> {len(self._outputs.list_outputs())}"
        return f"{type(self).__name__}(\n{self._outputs} : {counts}\n)"

    def _clear_cached_op(self):
        """Does nothing, as the symbol fixes the structure of inputs and outputs."""

    def forward(self, x: NDArray, *args: Any) -> Any:
        """Runs the symbol on arrays, or composes it with symbols."""
        values, _ = _flatten([x, *args])
        if len(values) != len(self._inputs):
            raise ValueError(f"SymbolBlock: expected {len(self._inputs)} inputs, {self._inputs}, got {len(values)}")
        has_symbol, has_array, first = _kinds(values)
        if has_symbol and not has_array:
            return self._outputs(**dict(zip(self._inputs, values, strict=True)))
        if first is None:
            kinds = ", ".join(type(value).__name__ for value in values)
            raise ValueError(f"SymbolBlock: the inputs {self._inputs} must be NDArrays or Symbols, got {kinds}")
        if self._active and not _state.hybridized and _fits(values, self._in_format):
            return self._by_plan(tuple(values), self._run_symbol)
        return self._run_symbol(*values)

    def _run_symbol(self, *values):
        """The results for arrays as inputs."""
        run = getattr(self._outputs, "eval_imperative", None)
        if run is None:
            raise MXNetError(f"SymbolBlock: outputs: expected a Symbol, got {type(self._outputs).__name__}")
        params = self._values(_kinds(values)[2].context, values[0], values[1:])
        own = {self._reg_params[key].name: value for key, value in params.items()}
        out = run({**own, **dict(zip(self._inputs, values, strict=True))})
        return _regroup(out, self._out_format)[0]

    def infer_shape(self, *args: Any) -> None:
        """Sets the unknown dimensions of the parameters from these inputs."""
        values, _ = _flatten(list(args))
        shapes = {name: value.shape for name, value in zip(self._inputs, values, strict=True)}
        arguments, _, auxiliary = self._outputs.infer_shape(**shapes)
        if arguments is None:
            raise ValueError(f"SymbolBlock: the shapes {shapes} do not determine the shapes of all parameters")
        names = (*self._outputs.list_arguments(), *self._outputs.list_auxiliary_states())
        for name, shape in zip(names, (*arguments, *auxiliary), strict=True):
            if name not in self._inputs:
                self._params[name].shape = shape

    def reset_ctx(self, ctx: Contexts | None) -> None:
        """Moves all parameters to other contexts (one or a list)."""
        for param in self.collect_params().values():
            param.reset_ctx(ctx)

    def cast(self, dtype: Dtype) -> None:
        """Changes the dtype of the parameters; those of batch normalization stay float32 instead of float16."""
        super().cast(dtype)
        if np.dtype(dtype) != np.float16:
            return
        for name in list(self._params.keys()):
            for mean, variance in (("running_mean", "running_var"), ("moving_mean", "moving_var")):
                group = [name.removesuffix(variance) + part for part in (variance, mean, "gamma", "beta")]
                if name.endswith(variance) and all(other in self._params for other in group):
                    for other in group:
                        self._params[other].cast("float32")

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Writes the symbol and the parameters; see HybridBlock.export."""
        self._outputs.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        auxiliary = set(self._outputs.list_auxiliary_states())
        kinds = {name: "aux" if name in auxiliary else "arg" for name in self._params.keys()}
        values = {f"{kinds[name]}:{name}": param._reduce() for name, param in self._params.items()}
        _save(checkpoint_file(path, epoch), values)

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, **kwargs: Any) -> Any:
        """Not used: the symbol is run."""
        raise NotImplementedError("SymbolBlock.hybrid_forward: a SymbolBlock runs its symbol: call the block itself")


def _dtypes(inputs, outputs):
    """The dtype of each variable under `outputs`, by name: inferred from the inputs' dtypes, else float32."""
    names = (*outputs.list_arguments(), *outputs.list_auxiliary_states())
    known = {}
    for x in inputs:
        (dtype,) = x.infer_type()[0] or (None,)
        if dtype is None:
            return dict.fromkeys(names, mx_real_t)
        known[x.name] = dtype
    try:
        arguments, _, auxiliary = outputs.infer_type(**known)
    except MXNetError:
        arguments = None
    if arguments is None:
        return dict.fromkeys(names, mx_real_t)
    found = zip(names, (*arguments, *auxiliary), strict=True)
    return {name: mx_real_t if dtype is None else dtype for name, dtype in found}


def _common_prefix(names):
    if not names:
        return ""
    first, last = min(names), max(names)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]
