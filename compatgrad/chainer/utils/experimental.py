"""Warning of experimental features."""

import warnings

from compatgrad import chainer


def experimental(api_name):
    """Warns (FutureWarning) that `api_name` may change, unless ``disable_experimental_feature_warning`` is
    set.
    """
    if not chainer.disable_experimental_feature_warning:
        warnings.warn(
            f"{api_name} is experimental. The interface can change in the future.",
            FutureWarning,
            stacklevel=2,
        )
