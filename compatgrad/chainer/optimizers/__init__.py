"""Optimizers. Mirrors ``chainer.optimizers``."""

from compatgrad.chainer.optimizers.ada_delta import AdaDelta
from compatgrad.chainer.optimizers.ada_grad import AdaGrad
from compatgrad.chainer.optimizers.adam import AdaBound, Adam, AdamW, AMSBound, AMSGrad
from compatgrad.chainer.optimizers.corrected_momentum_sgd import CorrectedMomentumSGD
from compatgrad.chainer.optimizers.momentum_sgd import MomentumSGD
from compatgrad.chainer.optimizers.msvag import MSVAG
from compatgrad.chainer.optimizers.nesterov_ag import NesterovAG
from compatgrad.chainer.optimizers.rmsprop import RMSprop
from compatgrad.chainer.optimizers.rmsprop_graves import RMSpropGraves
from compatgrad.chainer.optimizers.sgd import SGD
from compatgrad.chainer.optimizers.smorms3 import SMORMS3

__all__ = [
    "AMSBound",
    "AMSGrad",
    "AdaBound",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "CorrectedMomentumSGD",
    "MSVAG",
    "MomentumSGD",
    "NesterovAG",
    "RMSprop",
    "RMSpropGraves",
    "SGD",
    "SMORMS3",
]
