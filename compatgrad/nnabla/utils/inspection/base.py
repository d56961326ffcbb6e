"""The base class of objects that provide function hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class FunctionHookCallbackBase:
    """Base class of objects that provide hooks for each function. A subclass defines `pre_hook` and `post_hook`.

    Example:
        >>> from compatgrad.nnabla.utils.inspection import FunctionHookCallbackBase
        >>> class Names(FunctionHookCallbackBase):
        ...     @property
        ...     def pre_hook(self):
        ...         return lambda f: print(f.info.type_name)
        >>> F.relu(nn.Variable((2, 3))).forward(function_pre_hook=Names().pre_hook)
        ReLU

    Source: `nnabla.utils.inspection.FunctionHookCallbackBase` of nnabla 1.39.0.
    """

    @property
    def pre_hook(self) -> Callable[[Any], Any] | None:
        """A callable for `function_pre_hook`, called with each function before it runs. The base class raises
        NotImplementedError."""
        raise NotImplementedError(f"{type(self).__name__} defines no pre_hook")

    @property
    def post_hook(self) -> Callable[[Any], Any] | None:
        """A callable for `function_post_hook`, called with each function after it ran. The base class raises
        NotImplementedError."""
        raise NotImplementedError(f"{type(self).__name__} defines no post_hook")
