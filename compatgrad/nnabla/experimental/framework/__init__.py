"""A training loop whose steps are methods to be overridden."""

from .data import Data
from .trainer import Trainer
from .worker import Worker

__all__ = ["Data", "Trainer", "Worker"]
