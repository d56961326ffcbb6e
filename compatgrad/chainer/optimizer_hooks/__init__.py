"""Hooks that change gradients before an update. Mirrors ``chainer.optimizer_hooks``."""

from compatgrad.chainer.optimizer_hooks.gradient_clipping import GradientClipping
from compatgrad.chainer.optimizer_hooks.gradient_hard_clipping import GradientHardClipping
from compatgrad.chainer.optimizer_hooks.gradient_lars import GradientLARS
from compatgrad.chainer.optimizer_hooks.gradient_noise import GradientNoise
from compatgrad.chainer.optimizer_hooks.lasso import Lasso
from compatgrad.chainer.optimizer_hooks.weight_decay import WeightDecay

__all__ = [
    "GradientClipping",
    "GradientHardClipping",
    "GradientLARS",
    "GradientNoise",
    "Lasso",
    "WeightDecay",
]
