"""A fast walk over all parameters of a link, for code that runs at every training step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Parameter


def _walk(link, out):
    children = getattr(type(link).params, "_walks_children", None)
    if children is None:  # a class that overrides `params` has its own walk
        out.extend(link.params())
        return
    d = link.__dict__
    names = d["_params"]
    if names:
        for name in sorted(names):
            out.append(d[name])
    if children == "named":
        for name in sorted(d["_children"]):
            _walk(d[name], out)
    elif children == "listed":
        for child in d["_children"]:
            _walk(child, out)


def all_params(link: Any) -> list[Parameter]:
    """All parameters of a link and of those below it, as `list(link.params())` gives them, but without a generator for
    each link: optimizers call it at every step.

    Args:
        link: the link.

    Returns:
        The parameters.

    Raises:
        AttributeError: `link` is no link.

    Example:
        >>> from compatgrad.chainer.optimizer import all_params
        >>> [p.name for p in all_params(L.Linear(2, 3))]
        ['W', 'b']

    Source: none in Chainer, where `Link.params` does it.
    """
    out = []
    _walk(link, out)
    return out
