"""Block: a part of a model that has parameters and other blocks."""

from __future__ import annotations

import re
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.core.changes import Changes
from compatgrad.core.entering import entered, let_in
from compatgrad.core.files import naming
from compatgrad.core.foreign import may_be_foreign, refuse, warn_of

from .._frontend import as_np_ndarrays, fe
from ..util import is_np_array
from ._changes import ObservedDict
from ._loading import all_or_nothing
from ._model_file import load_model, save_model
from ._scope import _BlockScope, _state
from ._summary import print_summary
from .parameter import Parameter, ParameterDict
from .utils import HookHandle, _brief_print_list, _check_all_np_ndarrays, _indent, _load_any, _save

if TYPE_CHECKING:
    from ._typing import Contexts, Dtype, Init


_enter_what_runs_at_once = let_in("mxnet", deferred=False)
_OWN = frozenset(("_children", "_reg_params"))  # containers of registered blocks, and of Parameters only
_PLAIN = frozenset((bool, float, int, str, type(None), Parameter, ParameterDict))  # classes without blocks inside


class Block:
    """Base class of models and layers: a subclass defines `forward(*args)`.

    Blocks and Parameters that are set as attributes are registered: their parameters are collected, initialized,
    written and read with the block's.

    Args:
        prefix: what all names inside start with; None makes one from the name of the class and a number.
        params: the ParameterDict of another block, whose parameters this one shares.

    Raises:
        TypeError: an attribute that is a Block or Parameter is set to something else.
        AssertionError: a Parameter that is an attribute is replaced.
        NotImplementedError: in a call, the subclass defines no `forward`.

    Example:
        >>> class Twice(gluon.Block):
        ...     def __init__(self, **kwargs):
        ...         super().__init__(**kwargs)
        ...         with self.name_scope():
        ...             self.layer = gluon.nn.Dense(1, in_units=2, use_bias=False)
        ...     def forward(self, x):
        ...         return self.layer(x) * 2
        >>> net = Twice(prefix="twice_")
        >>> net.initialize(mx.init.One())
        >>> net(nd.array([[1.0, 2.0]])).asnumpy()
        array([[6.]], dtype=float32)
        >>> list(net.collect_params().keys())
        ['twice_dense0_weight']

    Source: `mxnet.gluon.Block` of MXNet 1.9.1.
    """

    _has_a_row = True  # whether `summary` prints a row for blocks of this class
    _reg_params: dict[str, Parameter]
    _has_foreign = False  # whether an attribute may be a network or a parameter of another framework

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        own = self.__dict__  # `__setattr__` takes long, and a loss may be made in each forward pass
        own["_empty_prefix"] = prefix == ""
        own["_prefix"], own["_params"] = _BlockScope.create(prefix, params, self._alias())
        own["_name"] = own["_prefix"].removesuffix("_")
        own["_scope"] = _BlockScope(self)
        own["_children"] = ObservedDict()
        own["_reg_params"] = {}
        own["_forward_hooks"] = ObservedDict()
        own["_forward_pre_hooks"] = ObservedDict()
        Changes.note()

    def __repr__(self):
        blocks = ((key, value) for key, value in self.__dict__.items() if isinstance(value, Block))
        return self._repr_with(blocks)

    def _repr_with(self, named_blocks):
        lines = "\n".join(f"  ({key}): {_indent(repr(block), 2)}" for key, block in named_blocks)
        return f"{type(self).__name__}(\n{lines}\n)"

    def __setattr__(self, name, value):
        before = getattr(self, name, None)
        if isinstance(before, (Parameter, Block)) and not isinstance(value, type(before)):
            raise TypeError(f"Changing attribute type for {name} from {type(before)} to {type(value)} is not allowed.")
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            assert name not in self._reg_params, (
                f"Overriding Parameter attribute {name} is not allowed. If you want to share parameters between "
                "blocks, please set 'params' at Block construction instead."
            )
            self._reg_params[name] = value
        elif value.__class__ not in _PLAIN and may_be_foreign(value):
            self.__dict__["_has_foreign"] = True
        object.__setattr__(self, name, value)
        Changes.note()

    def __delattr__(self, name):
        object.__delattr__(self, name)
        Changes.note()

    # ---- names ----

    def _alias(self):
        """The beginning of the automatic prefix: the name of the class in lower case."""
        return type(self).__name__.lower()

    @property
    def prefix(self) -> str:
        """The prefix of the names of all blocks and parameters inside."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the underscore at its end."""
        return self._name

    def name_scope(self) -> _BlockScope:
        """`with self.name_scope():` blocks and parameters made inside get this block's prefix."""
        return self._scope

    # ---- parameters ----

    @property
    def params(self) -> ParameterDict:
        """The ParameterDict of this block alone, without its children's."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """A ParameterDict of the parameters of this block and all inside it.

        select: a regular expression that names must match from their beginning.
        """
        found = ParameterDict(self._params.prefix)
        pattern = re.compile(select) if select else None
        self._collect(found, pattern)
        return found

    def _collect(self, found, pattern):
        self._warn_of_unregistered()
        if pattern is None:
            found.update(self._params)
        else:
            found.update({name: param for name, param in self._params.items() if pattern.match(name)})
        for child in self._children.values():
            if type(child).collect_params is Block.collect_params:
                child._collect(found, pattern)
            else:
                found.update(child.collect_params(pattern.pattern if pattern else None))

    def _warn_of_unregistered(self):
        """Warns of blocks in attributes that are lists or dicts, and of other frameworks' networks, because neither are
        registered."""
        # Most blocks return here: the parameters are collected only for blocks that may need a warning
        if not self._has_foreign and not _C.has_containers(self.__dict__, _PLAIN, _OWN):
            return

        def parameters():  # they are collected only if an attribute is foreign
            yield from self._collect_params_with_prefix().values()

        attributes = {key: value for key, value in self.__dict__.items() if key not in _OWN}
        effect = "collect_params() does not contain: a Trainer does not train them, save_parameters does not save them"
        warn_of(self, "mxnet", parameters(), effect, attributes)
        known = None

        def has_unknown(value):
            nonlocal known
            if isinstance(value, Block):
                if known is None:
                    known = set(self._children.values())
                return value not in known
            if isinstance(value, dict):
                value = value.values()
            elif not isinstance(value, (list, tuple)):
                return False
            return any(map(has_unknown, value))

        for key, value in self.__dict__.items():
            if value.__class__ in _PLAIN or key in _OWN:  # most attributes, which cannot contain blocks
                continue
            if isinstance(value, (list, tuple, dict)) and value and not key.startswith("__"):
                if has_unknown(value):
                    warnings.warn(
                        f'"{type(self).__name__}.{key}" is an unregistered container with Blocks. Note that Blocks '
                        "inside the list, tuple or dict will not be registered automatically. Make sure to register "
                        "them using register_child() or switching to nn.Sequential/nn.HybridSequential instead. ",
                        stacklevel=4,
                    )

    def _collect_params_with_prefix(self, prefix=""):
        """Parameters by the path of attributes that leads to them, such as "features.0.weight"."""
        dot = prefix + "." if prefix else ""
        found = {dot + name: param for name, param in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(dot + name))
        return found

    def initialize(
        self, init: Init | None = None, ctx: Contexts | None = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initializes all parameters inside; see ParameterDict.initialize."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Dtype) -> None:
        """Changes the dtype of all parameters inside."""
        for child in self._children.values():
            child.cast(dtype)
        for param in self._params.values():
            param.cast(dtype)

    def save_parameters(self, filename: str, deduplicate: bool = False) -> None:
        """Writes the parameters to a file under their paths in the block, so that a block of any prefix can read them.

        deduplicate: a parameter that is reached on several paths is written once.
        """
        params = self._collect_params_with_prefix()
        if deduplicate:
            params = {name: param for param, name in {param: name for name, param in params.items()}.items()}
        _save(filename, {name: param._reduce() for name, param in params.items()})

    def load_parameters(
        self,
        filename: str,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads the parameters from a file of `save_parameters`, `save_params`, `export` or ParameterDict.save.

        ctx: where to put parameters that are not initialized yet. allow_missing: the file may lack parameters (else
        AssertionError). ignore_extra: the file may have others (else ValueError). cast_dtype: where dtypes differ,
        the values of the file are cast, or, with dtype_source="saved", the parameter.
        """
        found = _load_any(filename)
        params = self._collect_params_with_prefix()
        if not found and not params:
            return
        if not isinstance(found, dict):
            raise ValueError(f"load_parameters: {filename}: expected arrays with names, found a list of arrays")
        if not any("." in name for name in found):
            self.collect_params().load(  # names are full names
                filename, ctx, allow_missing, ignore_extra, self.prefix, cast_dtype, dtype_source
            )
            return
        paths = defaultdict(list)
        for name, param in params.items():
            paths[param].append(name)
        for name, param in () if allow_missing else params.items():
            assert any(path in found for path in paths[param]), (
                f"Parameter '{name}' is missing in file '{filename}', which contains parameters: "
                f"{_brief_print_list(found)}. Set allow_missing=True to ignore missing parameters."
            )
        for name in () if ignore_extra else found:
            if name not in params:
                raise ValueError(
                    f"Parameter '{name}' loaded from file '{filename}' is not present in ParameterDict, which "
                    f"contains parameters {_brief_print_list(params)}. Set ignore_extra=True to ignore. "
                )
        with naming(filename, to=AssertionError), all_or_nothing(params.values()):
            for name, value in found.items():
                if name in params:
                    params[name]._load_init(value, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)

    def save_params(self, filename: str) -> None:
        """Deprecated: `save_parameters` with full names in the file."""
        warnings.warn("save_params is deprecated. Please use save_parameters.", stacklevel=2)
        try:
            self.collect_params().save(filename, strip_prefix=self.prefix)
        except ValueError as error:
            raise ValueError(
                f"{error}\nsave_params is deprecated. Using save_parameters may resolve this error."
            ) from None

    def load_params(
        self, filename: str, ctx: Contexts | None = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """Deprecated: `load_parameters`."""
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Writes the structure, `prefix`-model.json, and the parameters, `prefix`-model.params."""
        save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Reads what `save` wrote of a block of the same structure; the blocks also get their saved names."""
        load_model(self, prefix)

    # ---- children ----

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Adds `block` to the children, under `name` (default: its number). Raises TypeError for a torch module or
        another framework's network."""
        refuse(block, "mxnet", f"{type(self).__name__}.{len(self._children) if name is None else name}")
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Calls `fn` with all blocks inside and then with this one, which is returned."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the HybridBlocks inside; see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # ---- running ----

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Has `hook(block, args)` called before each forward; the handle's `detach` ends that."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Has `hook(block, args, outputs)` called after each forward; the handle's `detach` ends that."""
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Passes the callback to the HybridBlocks inside, which warn that they do not call it."""
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def __call__(self, *args: Any) -> Any:
        args = self._entered(args)
        if args and getattr(args[0], "_ctx", None) is not None:
            outer, _state.ctx = _state.ctx, args[0]._ctx
            try:
                return self._call_with_hooks(args)
            finally:
                _state.ctx = outer
        return self._call_with_hooks(args)

    def _entered(self, args):
        """The inputs with other frontends' Variables as NDArrays, because layers ask them for context and value.

        The `forward` of a program's own class gets nnabla's Variables unchanged, because it may extend their graph.
        """
        if not _C.foreign(fe, args):
            return args
        home = (getattr(type(self).forward, "__module__", None) or "").removeprefix("compatgrad.")
        args = entered(fe, args, None if home.startswith("mxnet.") else _enter_what_runs_at_once)
        return as_np_ndarrays(args) if is_np_array() else args

    def _call_with_hooks(self, args):
        for hook in list(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self._run(args)
        for hook in list(self._forward_hooks.values()):
            hook(self, args, out)
        if is_np_array():
            _check_all_np_ndarrays(out)
        return out

    def _run(self, args):
        return self.forward(*args)

    def forward(self, *args: Any) -> Any:
        """To be defined by subclasses."""
        raise NotImplementedError(f"{type(self).__name__}.forward is not defined")

    def summary(self, *inputs: Any) -> None:
        """Prints a table of the blocks inside with output shapes and numbers of parameters, for these inputs.

        AssertionError if the block is hybridized.
        """
        print_summary(self, inputs)
