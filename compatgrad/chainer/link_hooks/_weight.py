"""Base class of the hooks that replace a link's weight during its forward."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer.link_hook import LinkHook


class WeightHook(LinkHook):
    """Base class of hooks that replace a weight of a link while the link runs. Outside the link's forward the attribute
    is always the parameter itself, so that optimizers and serializers see the parameter. A hook belongs to one link;
    using it as a context manager raises NotImplementedError. A subclass defines `_replacement`.

    Args:
        weight_name: attribute of the weight.
        name: name of the hook; None is that of its class.

    Example:
        >>> from compatgrad.chainer import link_hooks
        >>> from compatgrad.link_hooks._weight import WeightHook
        Traceback (most recent call last):
          ...
        ModuleNotFoundError: No module named 'compatgrad.link_hooks'
        >>> class Doubled(WeightHook):
        ...     name = "Doubled"
        ...     def _replacement(self, link):
        ...         return link.W * 2
        Traceback (most recent call last):
          ...
        NameError: name 'WeightHook' is not defined
        >>> link = L.Linear(1, 1, initialW=3).add_hook(Doubled("W", None))
        Traceback (most recent call last):
          ...
        NameError: name 'Doubled' is not defined
        >>> link(np.ones((1, 1), np.float32)).array, link.W.array
        Traceback (most recent call last):
          ...
        NameError: name 'link' is not defined

    Source: none in Chainer, where each hook has this code itself.
    """

    def __init__(self, weight_name: str, name: str | None) -> None:
        self.weight_name = weight_name
        if name is not None:
            self.name = name

    def __enter__(self):
        raise NotImplementedError(f"{self.name} is added to a link by add_hook; it is not a context manager.")

    def __exit__(self, *args):
        raise NotImplementedError(f"{self.name} is not a context manager.")

    def added(self, link: Any) -> None:
        """Checks that the link has the weight. Raises ValueError if it has not."""
        if not hasattr(link, self.weight_name):
            raise ValueError(f"Weight {self.weight_name!r} does not exist!")

    def _initialize_weight(self, link, x):
        """Initializes an uninitialized weight by the shape of `x`, the link's first input."""
        if getattr(link, self.weight_name).tensor is None:
            if x is None:
                raise ValueError(f"Weight {self.weight_name!r} has no shape yet, and there is no input to infer it.")
            link._initialize_params(x.shape[1])

    def _replacement(self, link):
        raise NotImplementedError

    def forward_preprocess(self, cb_args: Any) -> None:
        """Replaces the weight."""
        link = cb_args.link
        self._initialize_weight(link, cb_args.args[0])
        replacement = self._replacement(link)
        self.original_weight = getattr(link, self.weight_name)
        setattr(link, self.weight_name, replacement)

    def forward_postprocess(self, cb_args: Any) -> None:
        """Puts the parameter back."""
        setattr(cb_args.link, self.weight_name, self.original_weight)
