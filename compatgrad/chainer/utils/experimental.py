"""Warning of experimental features."""

from __future__ import annotations

import warnings
from collections.abc import Callable


def _never():
    return False


_silenced = _never


def silence_when(test: Callable[[], bool]) -> None:
    """Sets the function that decides whether `experimental` warns. Chainer itself sets it to
    `chainer.disable_experimental_feature_warning`.

    Args:
        test: called at each warning; True suppresses the warning.

    Raises:
        TypeError: when `experimental` is called, `test` is not callable.

    Example:
        >>> chainer.silence_when(lambda chainer=chainer: chainer.disable_experimental_feature_warning)

    Source: compatgrad's own; Chainer's `chainer.utils.experimental` reads the flag itself.
    """
    global _silenced
    _silenced = test


def experimental(api_name: str) -> None:
    """Warns, with a FutureWarning, that a name may change, unless `chainer.disable_experimental_feature_warning` is
    True.

    Args:
        api_name: the name that may change.

    Raises:
        FutureWarning: warnings are made errors.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     chainer.utils.experimental("my_function")
        >>> print(caught[0].message)
        my_function is experimental. The interface can change in the future.

    Source: `chainer.utils.experimental` of Chainer 7.8.1.
    """
    if not _silenced():
        warnings.warn(
            f"{api_name} is experimental. The interface can change in the future.",
            FutureWarning,
            stacklevel=2,
        )
