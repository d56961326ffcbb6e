"""Link: parameters and persistent values of a part of a model, by name."""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import copy
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, device_resident, initializers, link_hook, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer._link_walk import all_params
from compatgrad.chainer.backend import get_array_types, using_device
from compatgrad.chainer.link_hook import _thread
from compatgrad.core.entering import entered, let_in
from compatgrad.core.foreign import refuse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compatgrad.chainer.device_resident import DeviceResidentsVisitor
    from compatgrad.chainer.serializer import AbstractSerializer

_Self = TypeVar("_Self", bound="Link")
_COPY_MODES = ("init", "copy", "share")
_foreign = _C.foreign
_enter_what_runs_at_once = let_in("chainer", deferred=False)


def _bad_copy_mode(mode):
    return ValueError(f"The 'mode' argument should be either 'init', 'copy', or 'share'. But {mode} was given.")


def _is_shape(value):
    if value is None:
        return True
    if isinstance(value, collections.abc.Sequence):
        try:
            return all(int(x) for x in value)
        except TypeError:
            return False
    try:
        int(value)
        return True
    except TypeError:
        return False


class Link(device_resident.DeviceResident):
    """A part of a model that owns parameters and persistent values.

    Assigning a `Parameter` to an attribute inside `with self.init_scope():` registers it. Calling the link calls its
    `forward`.

    Args:
        **params: parameters to register, by name: a shape, or a pair of shape and dtype.

    Example:
        >>> class Scale(chainer.Link):
        ...     def __init__(self, size):
        ...         super().__init__()
        ...         with self.init_scope():
        ...             self.W = chainer.Parameter(2.0, (size,))
        ...     def forward(self, x):
        ...         return self.W * x
        >>> scale = Scale(3)
        >>> scale(np.float32([1, 2, 3])).array, [path for path, param in scale.namedparams()]
        (array([2., 4., 6.], dtype=float32), ['/W'])

    Source: `chainer.Link` of Chainer 7.8.1.
    """

    _local_link_hooks = None
    _within_init_scope = False
    _super_call = False  # a class after Link in the MRO defines __call__
    _plain_call = False  # no hooks of its own: __call__ checks the thread's hooks alone
    __init_done = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        mro = cls.__mro__
        cls._super_call = any("__call__" in vars(c) for c in mro[mro.index(Link) + 1 :])

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._params = set()
        self._persistent = set()
        self._within_init_scope = False
        self.name = None
        self._plain_call = not self._super_call
        self.__init_done = True
        for name, value in params.items():
            shape, dtype = (value, numpy.float32) if _is_shape(value) else value
            self.add_param(name, shape, dtype=dtype)

    def __check_init_done(self):
        if not self.__init_done:
            raise RuntimeError("Link.__init__() has not been called.")

    def __str__(self):
        specs = ", ".join(f"{name}={value}" for name, value in self.printable_specs)
        return f"{type(self).__name__}({specs})"

    @property
    def local_link_hooks(self):
        """The hooks of this link alone, an ordered dict."""
        if self._local_link_hooks is None:
            self._local_link_hooks = collections.OrderedDict()
            self._plain_call = False
        return self._local_link_hooks

    @property
    def _device_id(self):
        warnings.warn("Link._device_id is deprecated. Use Link.device instead.", DeprecationWarning, stacklevel=2)
        return self.device.device.id if self.device.xp is not numpy else None

    @property
    def printable_specs(self):
        """Pairs of constructor argument and value, which `str(link)` shows."""
        yield from ()

    @property
    def within_init_scope(self):
        """True inside `with link.init_scope():`."""
        return self._within_init_scope

    @contextlib.contextmanager
    def init_scope(self) -> Iterator[None]:
        """Context in which assigned parameters (for Chain: links too) are registered."""
        self.__check_init_done()
        old = self.within_init_scope
        self._within_init_scope = True
        try:
            yield
        finally:
            self._within_init_scope = old

    def __call__(self, *args, **kwargs):
        if _foreign(frontend, args) or (kwargs and _foreign(frontend, tuple(kwargs.values()))):
            args, kwargs = self.__entered(args), dict(zip(kwargs, self.__entered(tuple(kwargs.values())), strict=True))
        if self._plain_call and not _thread.hooks:
            return self.forward(*args, **kwargs)
        return self.__call_with_hooks(args, kwargs)

    def __entered(self, values):
        """The arguments with other frameworks' Variables turned into Chainer's, because `forward` may read their
        dtypes, arrays and devices. A `forward` that a program defines gets nnabla's Variables unchanged, as it may
        continue nnabla's graph.
        """
        home = (getattr(type(self).forward, "__module__", None) or "").removeprefix("compatgrad.")
        return entered(frontend, values, None if home.startswith("chainer.links") else _enter_what_runs_at_once)

    def __call_with_hooks(self, args, kwargs):
        self.__check_init_done()
        hooks = link_hook._get_link_hooks()
        if self._local_link_hooks:
            hooks = {**hooks, **self._local_link_hooks}
        hooks = list(hooks.values())
        if hooks:
            pre = link_hook._ForwardPreprocessCallbackArgs(self, "forward", args, kwargs)
            for hook in hooks:
                hook.forward_preprocess(pre)
        # A mixin's __call__ takes precedence over forward: links of old programs define __call__ alone.
        forward = super().__call__ if self._super_call else self.forward
        out = forward(*args, **kwargs)
        if hooks:
            post = link_hook._ForwardPostprocessCallbackArgs(self, "forward", args, kwargs, out)
            for hook in hooks:
                hook.forward_postprocess(post)
        return out

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, variable.Parameter):
            value.name = name
            self._params.add(name)
            self._persistent.discard(name)
        elif self._within_init_scope:
            refuse(value, "chainer", f"{type(self).__name__}.{name}")
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._params.discard(name)
        self._persistent.discard(name)
        super().__delattr__(name)

    def add_param(
        self, name: str, shape: int | Sequence[int] | None = None, dtype: Any = numpy.float32, initializer: Any = None
    ) -> None:
        """Registers a parameter; without `initializer` its elements are NaN of `dtype`. Raises AttributeError if the
        attribute exists."""
        if name in self.__dict__:
            raise AttributeError(f"cannot register a new parameter {name}: attribute exists")
        if initializer is None:
            initializer = initializers.NaN(dtype)
        param = variable.Parameter(initializer, shape)
        with self.init_scope():
            setattr(self, name, param)

    def add_persistent(self, name: str, value: Any) -> None:
        """Registers `value` as a persistent value, saved with the link. Raises AttributeError if the attribute
        exists."""
        d = self.__dict__
        if name in d:
            raise AttributeError(f"cannot register a new persistent value {name}: attribute exists")
        self._persistent.add(name)
        self._params.discard(name)
        d[name] = value

    def register_persistent(self, name: str) -> None:
        """Makes an existing attribute persistent. Raises AttributeError if there is none."""
        if not hasattr(self, name):
            raise AttributeError(f"cannot register non-existent attribute {name} as a persistent value")
        self._persistent.add(name)
        self._params.discard(name)

    @classmethod
    def from_params(cls, *args: Any, **kwargs: Any) -> Link:
        """Makes the link from given parameters. Raises NotImplementedError unless the class defines it."""
        raise NotImplementedError("This link does not implement `from_params`.")

    def copy(self: _Self, mode: str = "share") -> _Self:
        """A copy of the link and its children, whose parameters have the same arrays ("share"), copies of the arrays
        ("copy") or newly drawn values ("init"). Raises ValueError for another mode.
        """
        if mode == "share":
            ret = copy.copy(self)
            ret._params = set(self._params)
            ret._persistent = set(self._persistent)
            ret.name = None
            d = ret.__dict__
            for name in ret._params:
                d[name] = copy.copy(d[name])
                d[name].grad = None
            return ret
        if mode == "copy":
            return copy.deepcopy(self)
        if mode == "init":
            ret = copy.deepcopy(self)
            for param in ret.params(include_uninit=False):
                param.initialize(param.shape)
            return ret
        raise _bad_copy_mode(mode)

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        d = self.__dict__
        for name in self._params:
            visitor.visit_variable(d[name])
        array_types = get_array_types()
        for name in self._persistent:
            if isinstance(d[name], array_types):
                d[name] = visitor.visit_array(d[name])

    def params(self, include_uninit: bool = True) -> Iterator[variable.Parameter]:
        """Iterates over the parameters, sorted by name; then over those of the children."""
        d = self.__dict__
        for name in sorted(self._params):
            if include_uninit or d[name].is_initialized:
                yield d[name]

    params._walks_children = "none"

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, variable.Parameter]]:
        """Iterates over pairs of path ("/child/W") and parameter, in the order of `params`."""
        d = self.__dict__
        for name in sorted(self._params):
            if include_uninit or d[name].is_initialized:
                yield "/" + name, d[name]

    def links(self, skipself: bool = False) -> Iterator[Link]:
        """Iterates over this link and all links below it."""
        if not skipself:
            yield self

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        """Iterates over pairs of path and link; this link's own path is "/"."""
        if not skipself:
            yield "/", self

    def children(self) -> Iterator[Link]:
        """Iterates over the direct child links."""
        yield from ()

    def copyparams(self, link: Link, copy_persistent: bool = True) -> None:
        """Copies the values of another link's parameters, and persistent values, into this one's."""
        src = link.__dict__
        dst = self.__dict__
        for name in self._params:
            dst[name].copydata(src[name])
        if copy_persistent:
            array_types = get_array_types()
            for name in self._persistent:
                d, s = dst[name], src[name]
                if isinstance(d, array_types) and isinstance(s, array_types):
                    backend.copyto(d, s)
                else:
                    dst[name] = copy.deepcopy(s)

    def cleargrads(self) -> None:
        """Makes every parameter's gradient None."""
        for param in all_params(self):
            param.cleargrad()

    def zerograds(self) -> None:
        """Deprecated: fills every parameter's gradient with zeros."""
        warnings.warn("Link.zerograds is deprecated. Use Link.cleargrads instead.", DeprecationWarning, stacklevel=2)
        for param in self.params():
            param.zerograd()

    def addgrads(self, link: Link) -> None:
        """Adds the gradients of another link's parameters to this one's."""
        src = link.__dict__
        dst = self.__dict__
        for name in self._params:
            dst[name].addgrad(src[name])

    def _set_update_enabled(self, enabled):
        for param in self.params():
            if param.update_rule is not None:
                param.update_rule.enabled = enabled

    def enable_update(self) -> None:
        """Lets optimizers update all parameters."""
        self._set_update_enabled(True)

    def disable_update(self) -> None:
        """Keeps optimizers from updating any parameter."""
        self._set_update_enabled(False)

    @property
    def update_enabled(self):
        """True if at least one parameter has an enabled update rule."""
        return any(p.update_rule is not None and p.update_rule.enabled for p in self.params())

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads parameters and persistent values; an uninitialized parameter takes the shape of the loaded
        array."""
        d = self.__dict__
        for name in self._params:
            param = d[name]
            data = serializer(name, param.data)
            if param.data is None and data is not None:
                param.initialize(data.shape)
                with using_device(param.device):
                    param.data[...] = param.device.send(data)
        for name in self._persistent:
            d[name] = serializer(name, d[name])

    def count_params(self) -> int:
        """The number of elements of all initialized parameters; warns (UserWarning) of the others."""
        size = 0
        for name, param in self.namedparams():
            if param.is_initialized:
                size += param.size
            else:
                warnings.warn(
                    f"Parameter '{name}' has not been initialized, so the resulting count will not include "
                    "the number of parameters in it.",
                    stacklevel=2,
                )
        return size

    def add_hook(self: _Self, hook: link_hook.LinkHook, name: str | None = None) -> _Self:
        """Registers a LinkHook and returns the link. Raises TypeError for another type, KeyError for a name in
        use."""
        if not isinstance(hook, link_hook.LinkHook):
            raise TypeError(f"Hook must be of type LinkHook. Actual: {type(hook).__name__}")
        if name is None:
            name = hook.name
        hooks = self.local_link_hooks
        if name in hooks:
            raise KeyError(f"Hook {name} already exists")
        hooks[name] = hook
        hook.added(self)
        return self

    def delete_hook(self, name: str) -> None:
        """Removes the hook of that name. Raises KeyError if there is none."""
        if name not in self.local_link_hooks:
            raise KeyError(f"Hook {name} does not exist")
        self.local_link_hooks[name].deleted(self)
        del self.local_link_hooks[name]
