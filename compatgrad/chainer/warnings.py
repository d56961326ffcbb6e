"""Categories of warnings."""

from __future__ import annotations


class PerformanceWarning(RuntimeWarning):
    """Warning that something runs slower than it could.

    Example:
        >>> issubclass(chainer.warnings.PerformanceWarning, RuntimeWarning)
        True

    Source: `chainer.warnings.PerformanceWarning` of Chainer 7.8.1.
    """
