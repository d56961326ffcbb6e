"""Functions with parameters, which they look up or make in the current parameter scope."""

# ruff: noqa: F401, F403

from .. import functions as F
from ..initializer import (
    ConstantInitializer,
    NormalInitializer,
    UniformInitializer,
    WeightNormalizationScaleInitializer,
    calc_uniform_lim_glorot,
)
from ..parameter import get_parameter, get_parameter_or_create
from ._api import parametric_function_api
from .affine import *
from .attention import *
from .convolution import *
from .min_max_quantized import *
from .normalization import *
from .normalization import _spectral_norm_v1, _weight_normalization_v1
from .quantized import *
from .recurrent import *
