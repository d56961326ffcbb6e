"""`mx.contrib`: contributed operators of arrays and symbols, mixed precision, texts."""

import sys

from .. import ndarray as _ndarray
from .. import symbol as _symbol
from . import amp as amp
from . import autograd as autograd
from . import io as io
from . import onnx as onnx
from . import quantization as quantization
from . import svrg_optimization as svrg_optimization
from . import tensorboard as tensorboard
from . import text as text

quant = quantization
nd = ndarray = _ndarray.contrib
sym = symbol = _symbol.contrib
for _name, _module in (("ndarray", nd), ("nd", nd), ("symbol", sym), ("sym", sym)):
    sys.modules[f"{__name__}.{_name}"] = _module
