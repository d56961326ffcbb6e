"""Categories of warnings."""


class PerformanceWarning(RuntimeWarning):
    """Something runs slower than it could."""
