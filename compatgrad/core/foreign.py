"""Foreign networks and parameters: those of one framework that are attributes or parts of another framework's network.

The optimizers and files of the outer network's framework miss them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.adapters import frontend_of
from compatgrad.core.lines import OWN

__all__ = ["advice", "foreign_attributes", "may_be_foreign", "refuse", "warn_of"]

_WRAPPERS = {
    "chainer": "interop.as_chainer_link({})",
    "mxnet": "interop.as_gluon_block({})",
    "nnabla": "interop.as_parametric_function({})",
    "torch": "{}",
}
_PARAMETERS = {
    "chainer": "a chainer.Parameter",
    "mxnet": "a Parameter of Gluon (self.params.get)",
    "nnabla": "a Variable of nn.parameter.get_parameter_or_create",
    "torch": "a torch.nn.Parameter",
}
_NAMES = {"chainer": "Chainer", "mxnet": "Gluon", "nnabla": "nnabla", "torch": "torch"}
# Classes of most attributes, which the search of all attributes at each `collect_params` passes quickly
_SIMPLE = frozenset((bool, float, int, str, type(None)))


def _kind(value: Any) -> tuple[str, str]:
    """The framework and the form of a network or a parameter. The form is "module", "link", "block" or "parameter", or
    empty if the value is neither a network nor a parameter."""
    cls = type(value)
    if cls in _SIMPLE:
        return "", ""
    if isinstance(value, torch.nn.Module):
        return "torch", "module"
    if isinstance(value, torch.nn.Parameter):
        return "torch", "parameter"
    if issubclass(cls, type):
        return "", ""
    # The attributes of the class are looked at, because an object may have a `__getattr__` that answers to every name
    if hasattr(cls, "namedparams"):
        return "chainer", "link"
    if hasattr(cls, "_collect_params_with_prefix"):
        return "mxnet", "block"
    if hasattr(cls, "get_parameters") and hasattr(cls, "submodules"):
        return "nnabla", "module"
    if hasattr(cls, "list_data"):
        return "mxnet", "parameter"
    if isinstance(value, _C.DeferredVariable):
        return "nnabla", "parameter" if value.need_grad and value.parent is None else ""
    if isinstance(value, _C.Variable):
        own = frontend_of(value)
        return own.name, "parameter" if own.name == "chainer" and own.is_parameter(value) else ""
    return "", ""


def may_be_foreign(value: Any) -> bool:
    """Whether a value that is no network of Gluon may be a network or a parameter of another framework.

    Args:
        value: anything.

    Returns:
        False if `foreign_attributes` certainly does not report the value as an attribute.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> import torch
        >>> from compatgrad.core.foreign import may_be_foreign
        >>> may_be_foreign(torch.nn.ReLU()), may_be_foreign(3)
        (True, False)

    Source: `compatgrad/core/foreign.py`.
    """
    return bool(_kind(value)[1])


def _trained(value: Any, framework: str, form: str) -> list[Any]:
    """The parameters of a network or a parameter that an optimizer would train."""
    found: Iterable[Any]
    if form == "parameter":
        found = [value]
    elif framework == "torch":
        found = value.parameters()
    elif framework == "chainer":
        found = value.params()
    elif framework == "mxnet":
        found = value._collect_params_with_prefix().values()
    else:
        found = value.get_parameters(grad_only=True).values()
    if framework == "torch":
        return [p for p in found if p.requires_grad]
    return [p for p in found if getattr(p, "grad_req", "") != "null"]


def _address(parameter: Any) -> int | None:
    """The address of the values of a parameter; None before the parameter has values."""
    if isinstance(parameter, _C.DeferredVariable):
        parameter = parameter.data.read()
    elif hasattr(parameter, "list_data"):
        parameter = None if parameter._data is None else parameter.list_data()[0].tensor
    elif isinstance(parameter, _C.Variable):
        parameter = parameter.tensor if getattr(parameter, "is_initialized", True) else None
    if not isinstance(parameter, torch.Tensor) or torch.nn.parameter.is_lazy(parameter):
        return None
    place: int = parameter.data_ptr()
    return place


def _of(value: Any, own: str) -> tuple[str, str]:
    """What `value` is, and what a network of `own` takes in its place, if `value` is a network or a parameter of
    another framework and has parameters to train; otherwise two empty texts."""
    framework, form = _kind(value)
    if not form or framework == own or not _trained(value, framework, form):
        return "", ""
    name = f"a {_NAMES[framework]} {form}"
    if form == "parameter":
        return name, _PARAMETERS[own]
    name += f" ({type(value).__name__})"
    if framework == "torch":
        return name, _WRAPPERS[own].format(form)
    rest = ", module.get_parameters(), frontend='nnabla'" if framework == "nnabla" else ""
    return name, _WRAPPERS[own].format(f"interop.as_torch_module({form}{rest})")


def _foreign_in(value: Any, own: str) -> Iterator[tuple[Any, str, str]]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else None
    if inner is None:
        what, instead = _of(value, own)
        if what:
            yield value, what, instead
    else:
        for x in list(inner):
            yield from _foreign_in(x, own)


def foreign_attributes(attributes: Mapping[str, Any], own: str, known: Iterable[Any]) -> Iterator[tuple[str, str, str]]:
    """The attributes of a network of the framework `own` that are, or contain, networks or parameters of another.

    Args:
        attributes: the attributes by name.
        own: "chainer", "mxnet", "nnabla" or "torch".
        known: the network's parameters; foreign parameters that share memory with them are trained, so not reported.

    Returns:
        Triples: the name of the attribute, what it is or contains, and what to assign in its place.

    Raises:
        AttributeError: `attributes` is no mapping.

    Example:
        >>> import torch
        >>> from compatgrad.core.foreign import foreign_attributes
        >>> list(foreign_attributes({"body": torch.nn.Linear(3, 2), "size": 3}, "mxnet", ()))
        [('body', 'is a torch module (Linear)', 'interop.as_gluon_block(module)')]

    Source: `compatgrad/core/foreign.py`.
    """
    places: set[int | None] | None = None  # of the parameters in `known`, which are read only if they are needed
    for name, value in list(attributes.items()):
        for foreign, what, instead in _foreign_in(value, own):
            if places is None:
                places = {_address(p) for p in known} - {None}
            if any(_address(p) not in places for p in _trained(foreign, *_kind(foreign))):
                yield name, f"{'is' if foreign is value else 'contains'} {what}", instead
                break


def _depth() -> int:
    """The `stacklevel` with which a warning of the calling function names a line of the program, not of compatgrad."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN):
        frame, depth = frame.f_back, depth + 1
    return depth


def warn_of(network: Any, own: str, known: Iterable[Any], effect: str, attributes: Any = None) -> None:
    """Warns of each attribute of a network that `foreign_attributes` finds.

    Args:
        network: the network.
        own, known: as for `foreign_attributes`.
        effect: the words after "whose parameters" in the warning, which say what happens to the parameters.
        attributes: the network's attributes, if some are to be left out.

    Raises:
        TypeError: `network` has no attributes, and none are given.

    Example:
        >>> import warnings
        >>> import torch
        >>> import compatgrad.mxnet as mx
        >>> net = mx.gluon.Block()
        >>> net.body = torch.nn.Linear(3, 2)
        >>> with warnings.catch_warnings(record=True) as found:
        ...     warnings.simplefilter("always")
        ...     _ = net.collect_params()
        >>> str(found[0].message)[:42]
        '"Block.body" is a torch module (Linear), w'

    Source: `compatgrad/core/foreign.py`.
    """
    for name, what, instead in foreign_attributes(vars(network) if attributes is None else attributes, own, known):
        warnings.warn(
            f'"{type(network).__name__}.{name}" {what}, whose parameters {effect}. Use {instead} in its place, or '
            "train and save them separately",
            stacklevel=_depth(),
        )


def advice(value: Any, own: str) -> str:
    """The end of an error text for a value that a network or an optimizer refuses.

    Args:
        value: the value.
        own: the framework of the network or the optimizer, as for `foreign_attributes`.

    Returns:
        What the value is and what to use instead. Empty if the value is no network or parameter of another framework,
        or has no parameters to train.

    Raises:
        KeyError: `own` is unknown.

    Example:
        >>> import torch
        >>> from compatgrad.core.foreign import advice
        >>> advice(torch.nn.Linear(3, 2), "chainer")
        '. It is a torch module (Linear): use interop.as_chainer_link(module)'

    Source: `compatgrad/core/foreign.py`.
    """
    what, instead = _of(value, own)
    if what and _kind(value)[1] == "parameter":
        inner = "network" if _kind(value)[0] == "torch" else "interop.as_torch_module(network)"
        instead = f"the parameters of {_WRAPPERS[own].format(inner)}"
    return f". It is {what}: use {instead}" if what else ""


def refuse(value: Any, own: str, where: str) -> None:
    """Refuses a network or a parameter of another framework at a place whose parameters are trained.

    Args:
        value: what a program puts there.
        own: the framework of the place, as for `foreign_attributes`.
        where: the name of the place in the error.

    Raises:
        TypeError: the value is such a network or parameter.

    Example:
        >>> import torch
        >>> from compatgrad.core.foreign import refuse
        >>> refuse(torch.nn.ReLU(), "chainer", "Chain.a")
        >>> refuse(torch.nn.Linear(3, 2), "chainer", "Chain.a")
        Traceback (most recent call last):
        ...
        TypeError: ...

    Source: `compatgrad/core/foreign.py`.
    """
    what, instead = _of(value, own)
    if what:
        raise TypeError(
            f"{where} is {what}, whose parameters {_NAMES[own]}'s optimizers and files would miss: use {instead}"
        )
