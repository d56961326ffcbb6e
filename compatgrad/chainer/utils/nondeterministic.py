"""Warning of results that differ from run to run."""

import warnings

from compatgrad.chainer.configuration import config


def nondeterministic(f_name):
    """Warns, if ``config.warn_nondeterministic`` is set, that `f_name` may give other results in another
    run.
    """
    if config.warn_nondeterministic:
        warnings.warn(
            "Potentially non-deterministic code is being executed while"
            f" config.warn_nondeterministic set. Source: {f_name}",
            stacklevel=2,
        )
