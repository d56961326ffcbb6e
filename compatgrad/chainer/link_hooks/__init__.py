"""Hooks that measure links or change their weights. Mirrors ``chainer.link_hooks``."""

from compatgrad.chainer.link_hooks.spectral_normalization import SpectralNormalization
from compatgrad.chainer.link_hooks.timer import TimerHook
from compatgrad.chainer.link_hooks.weight_standardization import WeightStandardization

__all__ = ["SpectralNormalization", "TimerHook", "WeightStandardization"]
