"""Gradients of functions as classes with nnabla's names. An instance is made with the arguments of the forward function
and is called with the Variables from which the gradient is computed. `nn.grad` does not use these classes.
"""

from compatgrad.nnabla.backward_function import affine as affine
from compatgrad.nnabla.backward_function import average_pooling as average_pooling
from compatgrad.nnabla.backward_function import batch_normalization as batch_normalization
from compatgrad.nnabla.backward_function import concatenate as concatenate
from compatgrad.nnabla.backward_function import convolution as convolution
from compatgrad.nnabla.backward_function import deconvolution as deconvolution
from compatgrad.nnabla.backward_function import embed as embed
from compatgrad.nnabla.backward_function import fused_batch_normalization as fused_batch_normalization
from compatgrad.nnabla.backward_function import global_average_pooling as global_average_pooling
from compatgrad.nnabla.backward_function import interpolate as interpolate
from compatgrad.nnabla.backward_function import pad as pad
from compatgrad.nnabla.backward_function import slice as slice
from compatgrad.nnabla.backward_function import sum_pooling as sum_pooling
from compatgrad.nnabla.backward_function import transpose as transpose
from compatgrad.nnabla.backward_function import unpooling as unpooling
