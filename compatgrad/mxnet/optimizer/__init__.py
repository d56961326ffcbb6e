"""Optimizers: `create(name, **arguments)`, and `get_updater` for one that keeps the weights' states."""

from . import contrib as contrib
from . import optimizer as optimizer
from .contrib import *  # noqa: F403
from .optimizer import *  # noqa: F403
