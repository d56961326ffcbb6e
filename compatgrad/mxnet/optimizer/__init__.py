"""Optimizers: `create(name, **arguments)` makes one, `get_updater` wraps one that also keeps the weights' states."""

from . import contrib as contrib
from . import optimizer as optimizer
from .contrib import *  # noqa: F403
from .optimizer import *  # noqa: F403
