"""Chainer's API on compatgrad's engine. Mirrors ``chainer`` 7.8.1."""

# ruff: noqa: F401, I001
# The imported names are Chainer's API; modules that others import come first.

from compatgrad._importing import CollectorPause as _CollectorPause
from compatgrad.names.absent import speak as _speak

with _CollectorPause():
    _speak(__name__)

    from compatgrad import chainerx
    from compatgrad.chainer._version import __version__
    from compatgrad.chainer.configuration import (
        DebugMode,
        config,
        get_compute_mode,
        get_dtype,
        global_config,
        is_debug,
        mixed16,
        set_debug,
        using_config,
    )

    #: True silences the warnings of experimental features.
    disable_experimental_feature_warning = False

    from compatgrad.chainer import backends, types, utils, warnings
    from compatgrad.chainer.backend import (
        get_array_types,
        get_cpu_array_types,
        get_device,
        is_arrays_compatible,
        using_device,
    )
    from compatgrad.chainer.backends import cuda
    from compatgrad.chainer.backends.cuda import should_use_cudnn, should_use_cudnn_tensor_core
    from compatgrad.chainer.device_resident import DeviceResident
    from compatgrad.chainer.utils import walker_alias
    from compatgrad.chainer.utils.experimental import silence_when
    from compatgrad.chainer.initializer import Initializer
    from compatgrad.chainer import initializers
    from compatgrad.chainer.variable import Parameter, Variable, as_array, as_variable
    from compatgrad.chainer.function_hook import FunctionHook, get_function_hooks
    from compatgrad.chainer.function_node import FunctionNode, grad
    from compatgrad.chainer.function import Function, FunctionAdapter, force_backprop_mode, no_backprop_mode
    from compatgrad.chainer._backprop import backward
    from compatgrad.chainer.serializer import AbstractSerializer, Deserializer, Serializer
    from compatgrad.chainer import serializers
    from compatgrad.chainer.reporter import (
        DictSummary,
        Reporter,
        Summary,
        get_current_reporter,
        report,
        report_scope,
    )
    from compatgrad.chainer.link_hook import LinkHook, _get_link_hooks
    from compatgrad.chainer.link import Chain, ChainList, Link
    from compatgrad.chainer.sequential import Sequential
    from compatgrad.chainer.optimizer import GradientMethod, Optimizer, UpdateRule
    from compatgrad.chainer import optimizer_hooks, optimizers
    from compatgrad.chainer import functions, _methods
    from compatgrad.chainer.distribution import Distribution, cross_entropy, kl_divergence, register_kl
    from compatgrad.chainer.functions import array
    from compatgrad.chainer.functions.math import basic_math
    from compatgrad.chainer import computational_graph, function_hooks, memory_layouts
    from compatgrad.chainer import dataset, datasets, iterators, training
    from compatgrad.chainer.graph_optimizations.static_graph import static_graph
    from compatgrad.chainer.graph_optimizations.static_graph_utilities import static_code
    from compatgrad.chainer._runtime_info import print_runtime_info
    from compatgrad.chainer import _adapter

    class _FallbackType:
        def __repr__(self):
            return "Fallback"

    #: The result of a function's ``forward_chainerx`` if it does not apply. compatgrad never calls
    #: ``forward_chainerx``.
    Fallback = _FallbackType()

    silence_when(lambda: disable_experimental_feature_warning)
    utils.WalkerAlias = walker_alias.WalkerAlias


_LAZY = ("distributions", "links")  # large packages: imported when a program first uses them


def __getattr__(name):
    if name in _LAZY:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)
