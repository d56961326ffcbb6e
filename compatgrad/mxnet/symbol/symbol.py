"""Symbol: a graph of operators, which is run later.

Methods that create nodes, or run the graph, are in `_methods`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ..attribute import AttrScope
from ..base import MXNetError, NotImplementedForSymbol
from ..context import current_context
from ..ndarray.ndarray import _STORAGE_TYPE_STR_TO_ID
from ..util import is_np_array
from ._common import without_casts
from ._graph import HIDDEN, Entry, Node, auxiliary, copied, from_json, order, text, to_json

__all__ = ["Group", "Symbol", "Variable", "load", "load_json", "var"]


class Symbol:
    """One output of a graph of operators, or a group of several.

    `mx.sym.var` makes variables, and the functions of `mx.sym` nodes of operators. Python's operators, and methods with
    the names of operators, make nodes too. A symbol is run by `eval`, by an Executor from `bind` or `simple_bind`, or
    in a Module or a SymbolBlock.

    Args:
        outputs: the outputs of nodes, pairs (node, number); made by the functions of `mx.sym`.

    Example:
        >>> x = mx.sym.var("x")
        >>> y = mx.sym.exp(x, name="exp") + 1
        >>> y.list_arguments()
        ['x']
        >>> y.eval(x=nd.zeros(2))[0].asnumpy()
        array([2., 2.], dtype=float32)

    Source: `mxnet.sym.Symbol` of MXNet 1.9.1.
    """

    __array_priority__ = 1000.0
    _numpy = False  # whether it is a symbol of mx.sym.np
    _plan: Any = None  # the `_evaluate.Plan`, made at the first run

    def __init__(self, outputs: Sequence[Entry]) -> None:
        self._outputs: list[Entry] = list(outputs)

    # ---- attributes of the symbol
    @property
    def name(self) -> str | None:
        """The name of its operator or variable; None for a group."""
        nodes = {id(n): n for n, _ in self._outputs}
        return next(iter(nodes.values())).name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        name = self.name
        if name is None:
            return f"<{type(self).__name__} group [{', '.join(s.name for s in self)}]>"
        return f"<{type(self).__name__} {name}>"

    def __len__(self) -> int:
        return len(self._outputs)

    def __iter__(self) -> Iterator[Symbol]:
        return (Symbol([e]) for e in self._outputs)

    def __getitem__(self, index: Any) -> Symbol:
        """An output by number, name or slice; of one output, with NumPy's arrays, a part of the array."""
        if len(self) == 1 and is_np_array() and isinstance(index, (slice, tuple, int)):
            return self._part(index if isinstance(index, tuple) else (index,))
        if isinstance(index, slice):
            return Group([self[i] for i in range(*index.indices(len(self)))])
        if isinstance(index, str):
            found = [i for i, n in enumerate(self.list_outputs()) if n == index]
            if len(found) != 1:
                what = "There are multiple outputs with" if found else "Cannot find output that matches"
                raise ValueError(f'{what} name "{index}"; the outputs are {self.list_outputs()}')
            index = found[0]
        if not isinstance(index, int):
            raise TypeError(f"Symbol only supports integers and names to fetch an output, got {index!r}")
        if not 0 <= index < len(self):
            raise IndexError(f"output {index} of a symbol with {len(self)} outputs")
        return Symbol([self._outputs[index]])

    def _nodes(self) -> list[Node]:
        return order(self._outputs)

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [n.output_names()[i] for n, i in self._outputs]

    def list_inputs(self) -> list[str]:
        """Names of all variables, arguments and states."""
        return [n.name for n in self._nodes() if n.op is None]

    def list_arguments(self) -> list[str]:
        """Names of the variables that are arguments."""
        nodes = self._nodes()
        states = auxiliary(nodes)
        return [n.name for n in nodes if n.op is None and id(n) not in states]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write to, such as moving averages."""
        nodes = self._nodes()
        states = auxiliary(nodes)
        return [n.name for n in nodes if id(n) in states]

    def get_internals(self) -> Symbol:
        """A group of all outputs of all operators, and of all variables."""
        return Symbol([(n, i) for n in self._nodes() for i in range(len(n.output_names()))])

    def get_children(self) -> Symbol | None:
        """A group of the inputs of the output's operator; None for a variable."""
        seen: dict[int, Node] = {id(n): n for n, _ in self._outputs}
        inputs = [e for n in seen.values() for e in n.inputs]
        return Symbol(inputs) if inputs else None

    # ---- attributes
    def attr(self, key: str) -> str | None:
        """An attribute or parameter of the operator or variable, None if it is not set."""
        return self._outputs[0][0].shown_attrs().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the operator or variable."""
        if recursive:
            raise DeprecationWarning("Symbol.list_attr with recursive=True is deprecated; use attr_dict")
        return self._outputs[0][0].shown_attrs()

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of all operators and variables, by their names."""
        result = {}
        for n in self._nodes():
            found = n.shown_attrs()
            if found:
                result[n.name] = found
        return result

    def _set_attr(self, **kwargs: str) -> None:
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"Set Attr only accepts string values, got {key}={value!r}")
            self._outputs[0][0].attrs[f"__{key}__" if key in HIDDEN else key] = value

    # ---- text
    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON, in MXNet's format; `remove_amp_cast`: without the casts of mixed precision."""
        return to_json(without_casts(self._outputs) if remove_amp_cast else self._outputs)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Writes the graph, see `tojson`, to a file that MXNet reads too."""
        try:
            with replacing(fname, "w", encoding="utf-8") as f:
                f.write(self.tojson(remove_amp_cast))
        except OSError as e:
            raise MXNetError(f'Symbol.save: cannot write "{fname}": {e.strerror or e}') from None

    def debug_str(self) -> str:
        """The graph as readable text."""
        lines = ["Symbol Outputs:"]
        lines += [f"\toutput[{k}]={n.name}({i})" for k, (n, i) in enumerate(self._outputs)]
        for n in self._nodes():
            if n.op is None:
                lines.append(f"Variable:{n.name}")
                continue
            lines += ["-" * 20, f"Op:{n.op}, Name={n.name}", "Inputs:"]
            lines += [f"\targ[{k}]={m.name}({i})" + ("" if m.op else " version=0") for k, (m, i) in enumerate(n.inputs)]
            if n.all_attrs:
                lines += ["Attrs:", *(f"\t{k}={v}" for k, v in sorted(n.all_attrs.items()))]
        return "\n".join(lines) + "\n"

    def __getstate__(self) -> dict[str, str]:
        return {"handle": self.tojson()}

    def __setstate__(self, state: dict[str, str]) -> None:
        self._outputs = from_json(state["handle"])

    def __copy__(self) -> Symbol:
        return Symbol(copied(self._outputs))

    def __deepcopy__(self, memo: Any) -> Symbol:
        return self.__copy__()

    # ---- composition
    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """A copy in which variables are replaced by symbols: by order, or by name."""
        s = self.__copy__()
        s._compose(*args, **kwargs)
        return s

    def _compose(self, *args: Symbol, **kwargs: Any) -> None:
        name = kwargs.pop("name", None)
        if args and kwargs:
            raise TypeError("compose: give symbols either by position or by name, not both")
        for s in (*args, *kwargs.values()):
            if not isinstance(s, Symbol):
                raise TypeError(f"compose: expected Symbols, got {type(s)}")
        variables = [n for n in self._nodes() if n.op is None]
        if args:
            if len(args) > len(variables):
                raise MXNetError(f"compose: {len(args)} symbols for {len(variables)} variables")
            pairs = list(zip(variables, args, strict=False))
        else:
            by_name = {n.name: n for n in variables}
            unknown = [k for k in kwargs if k not in by_name]
            if unknown:
                raise MXNetError(f"compose: {unknown[0]} is no variable of the symbol, which has {list(by_name)}")
            pairs = [(by_name[k], s) for k, s in kwargs.items()]
        self._outputs = copied(self._outputs, {id(n): s._outputs[0] for n, s in pairs})
        if name and self.name is not None:
            self._outputs[0][0].name = name

    def _gen_atomic_symbol(self) -> Symbol:
        """A copy of the operator alone, with variables as inputs."""
        node = self._outputs[0][0]
        inputs = [(Node(None, f"{node.name}_{n.name}"), 0) for n, _ in node.inputs]
        alone = Node(node.op, node.name, inputs, dict(node.params), dict(node.attrs), node.subgraphs)
        return Symbol([(alone, i) for i in range(len(alone.output_names()))])

    def as_nd_ndarray(self) -> Symbol:
        """Itself."""
        return self

    # ---- running
    def gradient(self, wrt: Any) -> Symbol:
        """MXNetError: MXNet does not implement it either. An executor's `backward` gives gradients."""
        raise MXNetError("Symbol.gradient is not implemented, as in MXNet: bind the symbol and call backward")

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: Any = None,
        shape_dict: Any = None,
        type_dict: Any = None,
        stype_dict: Any = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """Returns the symbol itself, with a warning: there are no backends (oneDNN, TensorRT, …).

        MXNet without the backend also returns the symbol, after a message on the terminal.
        """
        warnings.warn(f"optimize_for: there is no backend {backend!r}; the symbol is unchanged", stacklevel=2)
        return self

    def get_backend_symbol(self, backend: str) -> Symbol:
        """MXNetError: there are no backends."""
        raise MXNetError(f"get_backend_symbol: there is no backend {backend!r}")

    def eval(self, ctx: Any = None, **kwargs: Any) -> list[Any]:
        """The outputs from NDArrays by names of variables, in prediction mode."""
        return self.bind(current_context() if ctx is None else ctx, kwargs).forward()

    # ---- operators
    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(self.__bool__, "bool")

    __hash__ = object.__hash__

    @property
    def T(self) -> Symbol:
        """The axes in reverse order."""
        return self.transpose()


_DTYPE_NUMBERS = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6, "bool": 7}


def var(
    name: str, attr: dict[str, str] | None = None, shape: Any = None, lr_mult: float | None = None,
    wd_mult: float | None = None, dtype: Any = None, init: Any = None, stype: str | None = None,
    profiler_scope: Any = None, **kwargs: str,
) -> Symbol:  # fmt: skip
    """A variable: an input of a graph.

    Args:
        name: its name.
        attr: a dict of attributes.
        shape: its shape, in which 0 is a length that is not known.
        lr_mult: the factor of the learning rate for it.
        wd_mult: the factor of the weight decay for it.
        dtype: its dtype.
        init: an Initializer of its values, or the text of one.
        stype: its storage type: "default", "row_sparse" or "csr".
        profiler_scope: without effect.
        **kwargs: attributes that are named like `__key__`.

    Returns:
        Symbol.

    Raises:
        TypeError: `name` is no string, or `dtype` no dtype.
        ValueError: another keyword is not named like `__key__`.
        KeyError: `stype` has another value.

    Example:
        >>> x = mx.sym.var("x", shape=(2, 3), lr_mult=0.1)
        >>> x.attr("__shape__"), x.attr("__lr_mult__")
        ('(2, 3)', '0.1')

    Source: `mxnet.sym.var` of MXNet 1.9.1.
    """
    if not isinstance(name, str):
        raise TypeError(f"var: name: expected a string, got {type(name)}")
    attrs = dict(AttrScope._current.value.get(attr))
    if shape is not None:
        attrs["__shape__"] = text((shape,) if isinstance(shape, int) else tuple(shape))
    if lr_mult is not None:
        attrs["__lr_mult__"] = str(lr_mult)
    if wd_mult is not None:
        attrs["__wd_mult__"] = str(wd_mult)
    if dtype is not None:
        attrs["__dtype__"] = str(_DTYPE_NUMBERS[np.dtype(dtype).name])
    if init is not None:
        attrs["__init__"] = init if isinstance(init, str) else init.dumps()
    if stype is not None:
        attrs["__storage_type__"] = str(_STORAGE_TYPE_STR_TO_ID[stype])
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(
                f"var: attribute name={key} is not supported: names must begin and end with double underscores"
            )
        attrs[key] = str(value)
    return Symbol([(Node(None, name, attrs=attrs), 0)])


Variable = var


def Group(symbols: Sequence[Symbol], create_fn: Callable[..., Symbol] = Symbol) -> Symbol:
    """Several symbols as one.

    Args:
        symbols: a sequence of Symbols, or a Symbol of several outputs.
        create_fn: the class of the result.

    Returns:
        Symbol whose outputs are those of the symbols, in their order.

    Raises:
        TypeError: there is no symbol, or something else among them.

    Example:
        >>> mx.sym.Group([mx.sym.var("x"), mx.sym.var("y")]).list_outputs()
        ['x', 'y']

    Source: `mxnet.sym.Group` of MXNet 1.9.1.
    """
    parts = [symbols[i] for i in range(len(symbols))] if isinstance(symbols, Symbol) else list(symbols)
    if not parts or any(not isinstance(s, Symbol) for s in parts):
        raise TypeError(f"Group: expected a list of symbols as input, got {[type(s).__name__ for s in parts]}")
    return create_fn([e for s in parts for e in s._outputs])


def load(fname: str) -> Symbol:
    """The symbol in a file that `Symbol.save` wrote, here or in MXNet.

    Args:
        fname: the name of the file.

    Returns:
        Symbol.

    Raises:
        TypeError: `fname` is no string.
        mxnet.base.MXNetError: the file is missing or damaged.

    Example:
        >>> mx.sym.var("x").save("x.json")
        >>> mx.sym.load("x.json")
        <Symbol x>

    Source: `mxnet.sym.load` of MXNet 1.9.1.
    """
    if not isinstance(fname, str):
        raise TypeError(f"load: fname need to be string, got {type(fname)}")
    try:
        with open(fname, encoding="utf-8") as f:
            content = f.read()
    except (OSError, UnicodeDecodeError) as e:
        raise MXNetError(f'symbol.load: cannot read "{fname}": {e}') from None
    return Symbol(from_json(content, f'"{fname}"'))


def load_json(json_str: str) -> Symbol:
    """The symbol in a text that `Symbol.tojson` gave, here or in MXNet.

    Args:
        json_str: the text.

    Returns:
        Symbol.

    Raises:
        TypeError: `json_str` is no string.
        mxnet.base.MXNetError: the text is no symbol.

    Example:
        >>> mx.sym.load_json(mx.sym.var("x").tojson())
        <Symbol x>

    Source: `mxnet.sym.load_json` of MXNet 1.9.1.
    """
    if not isinstance(json_str, str):
        raise TypeError(f"load_json: fname required to be string, got {type(json_str)}")
    return Symbol(from_json(json_str))
