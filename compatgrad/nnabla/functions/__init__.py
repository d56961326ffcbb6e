"""nnabla.functions: the functions of which graphs consist."""

# ruff: noqa: F403

from compatgrad.core.entering import open_functions as _open_functions
from compatgrad.nnabla import numpy_compat_functions as _numpy_compat_functions
from compatgrad.nnabla._frontend import fe as _fe
from compatgrad.nnabla.functions.activation import *
from compatgrad.nnabla.functions.arithmetic import *
from compatgrad.nnabla.functions.arrays import *
from compatgrad.nnabla.functions.binary import *
from compatgrad.nnabla.functions.convolution import *
from compatgrad.nnabla.functions.create import *
from compatgrad.nnabla.functions.detection import *
from compatgrad.nnabla.functions.elementwise import *
from compatgrad.nnabla.functions.fused import *
from compatgrad.nnabla.functions.geometry import *
from compatgrad.nnabla.functions.gradients import *
from compatgrad.nnabla.functions.indexing import *
from compatgrad.nnabla.functions.layers import *
from compatgrad.nnabla.functions.linalg import *
from compatgrad.nnabla.functions.logical import *
from compatgrad.nnabla.functions.loss import *
from compatgrad.nnabla.functions.normalization import *
from compatgrad.nnabla.functions.order import *
from compatgrad.nnabla.functions.pooling import *
from compatgrad.nnabla.functions.quantize import *
from compatgrad.nnabla.functions.random import *
from compatgrad.nnabla.functions.recurrent import *
from compatgrad.nnabla.functions.reduction import *
from compatgrad.nnabla.functions.sample_normalization import *
from compatgrad.nnabla.functions.sequence import *
from compatgrad.nnabla.functions.spectral import *
from compatgrad.nnabla.functions.weights import *
from compatgrad.nnabla.numpy_compat_functions import *

# except those declared by `function`, which accept Variables of all frameworks themselves
_open_functions(_fe, vars(_numpy_compat_functions))
_open_functions(_fe, globals(), [f for f in list(globals().values()) if hasattr(f, "spec")])
