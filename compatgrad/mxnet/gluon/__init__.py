"""Layers, parameters, training and data."""

# ruff: noqa: F403, I001
from .parameter import *
from .block import *
from . import nn as nn
from . import rnn as rnn
from .trainer import *
from . import loss as loss
from . import utils as utils
from . import data as data
from . import model_zoo as model_zoo
from . import contrib as contrib
