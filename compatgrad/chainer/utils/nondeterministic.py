"""Warning of results that differ from run to run."""

from __future__ import annotations

import warnings

from compatgrad.chainer.configuration import config


def nondeterministic(f_name: str) -> None:
    """Warns that results may differ in another run, if `config.warn_nondeterministic` is True.

    Args:
        f_name: name of the function with such results.

    Raises:
        UserWarning: warnings are made errors.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught, chainer.using_config("warn_nondeterministic", True):
        ...     warnings.simplefilter("always")
        ...     chainer.utils.nondeterministic("my_function")
        >>> print(caught[0].message)
        Potentially non-deterministic code is being executed while config.warn_nondeterministic set. Source: my_function

    Source: `chainer.utils.nondeterministic` of Chainer 7.8.1.
    """
    if config.warn_nondeterministic:
        warnings.warn(
            "Potentially non-deterministic code is being executed while"
            f" config.warn_nondeterministic set. Source: {f_name}",
            stacklevel=2,
        )
