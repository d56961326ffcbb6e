"""All classes of `nnabla.experimental.parametric_function_class`."""

from .parametric_function_class.affine import Affine, Linear
from .parametric_function_class.batch_normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    BatchNormalization,
)
from .parametric_function_class.convolution import Conv1d, Conv2d, Conv3d, ConvNd, Convolution
from .parametric_function_class.deconvolution import Deconv1d, Deconv2d, Deconv3d, DeconvNd, Deconvolution
from .parametric_function_class.embed import Embed
from .parametric_function_class.module import Module

__all__ = [
    "Affine",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "BatchNormalization",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvNd",
    "Convolution",
    "Deconv1d",
    "Deconv2d",
    "Deconv3d",
    "DeconvNd",
    "Deconvolution",
    "Embed",
    "Linear",
    "Module",
]
