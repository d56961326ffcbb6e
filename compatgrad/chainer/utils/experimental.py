"""Warning of experimental features."""

import warnings


def _never():
    return False


_silenced = _never


def silence_when(test):
    """No more warnings while `test()` is true. The flag that programs set is a name of the package above."""
    global _silenced
    _silenced = test


def experimental(api_name):
    """Warns (FutureWarning) that `api_name` may change, unless ``disable_experimental_feature_warning`` is
    set.
    """
    if not _silenced():
        warnings.warn(
            f"{api_name} is experimental. The interface can change in the future.",
            FutureWarning,
            stacklevel=2,
        )
