"""MXNet 1.9's imperative and Gluon interface on compatgrad's engine."""

from compatgrad._importing import CollectorPause as _CollectorPause
from compatgrad.names.absent import speak as _speak

with _CollectorPause():
    _speak(__name__)

    from . import ndarray as ndarray
    from . import autograd as autograd
    from .base import MXNetError as MXNetError
    from .context import Context as Context
    from .context import cpu as cpu
    from .context import cpu_pinned as cpu_pinned
    from .context import current_context as current_context
    from .context import gpu as gpu
    from .context import gpu_memory_info as gpu_memory_info
    from .context import num_gpus as num_gpus
    from . import registry as registry
    from . import initializer as initializer
    from . import lr_scheduler as lr_scheduler
    from . import metric as metric
    from . import optimizer as optimizer
    from . import log as log
    from . import model as model
    from . import recordio as recordio
    from . import io as io
    from . import image as image
    from . import callback as callback
    from . import monitor as monitor
    from . import visualization as visualization
    from . import engine as engine
    from . import error as error
    from . import libinfo as libinfo
    from . import numpy as numpy
    from . import numpy_extension as numpy_extension
    from . import numpy_dispatch_protocol as numpy_dispatch_protocol
    from . import numpy_op_fallback as numpy_op_fallback
    from . import numpy_op_signature as numpy_op_signature
    from . import profiler as profiler
    from . import random as random
    from . import runtime as runtime
    from . import symbol as symbol
    from . import executor as executor
    from . import test_utils as test_utils
    from . import util as util
    from .util import is_np_array as is_np_array
    from .util import is_np_shape as is_np_shape
    from .util import np_array as np_array
    from .util import np_shape as np_shape
    from .util import set_np_shape as set_np_shape
    from .util import use_np as use_np
    from .util import use_np_array as use_np_array
    from .util import use_np_shape as use_np_shape
    from . import name as name
    from . import attribute as attribute
    from .attribute import AttrScope as AttrScope
    from . import kvstore as kvstore
    from . import operator as operator
    from . import executor_manager as executor_manager
    from . import module as module
    from . import rnn as rnn
    from . import library as library
    from . import rtc as rtc
    from . import onnx as onnx
    from . import contrib as contrib
    from . import gluon as gluon
    from . import _adapter as _adapter

    # the short names that programs write
    nd, np, npx, sym, kv, mod = ndarray, numpy, numpy_extension, symbol, kvstore, module
    init, rnd, img, mon, viz = initializer, random, image, monitor, visualization
    np_symbol = symbol.numpy

    __version__ = "1.9.1"

# a scheduler or a server of ps-lite ends here
kvstore._roles.serve()
