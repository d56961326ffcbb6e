"""Chainer's functions."""

from compatgrad.chainer._frontend import frontend as _frontend
from compatgrad.chainer.functions.activation.clipped_relu import clipped_relu as clipped_relu
from compatgrad.chainer.functions.activation.clipped_relu import relu6 as relu6
from compatgrad.chainer.functions.activation.crelu import crelu as crelu
from compatgrad.chainer.functions.activation.elu import elu as elu
from compatgrad.chainer.functions.activation.hard_sigmoid import hard_sigmoid as hard_sigmoid
from compatgrad.chainer.functions.activation.leaky_relu import leaky_relu as leaky_relu
from compatgrad.chainer.functions.activation.log_softmax import log_softmax as log_softmax
from compatgrad.chainer.functions.activation.maxout import maxout as maxout
from compatgrad.chainer.functions.activation.prelu import prelu as prelu
from compatgrad.chainer.functions.activation.relu import relu as relu
from compatgrad.chainer.functions.activation.rrelu import rrelu as rrelu
from compatgrad.chainer.functions.activation.selu import selu as selu
from compatgrad.chainer.functions.activation.sigmoid import sigmoid as sigmoid
from compatgrad.chainer.functions.activation.softmax import softmax as softmax
from compatgrad.chainer.functions.activation.softplus import softplus as softplus
from compatgrad.chainer.functions.activation.swish import swish as swish
from compatgrad.chainer.functions.activation.tanh import tanh as tanh
from compatgrad.chainer.functions.array.as_strided import as_strided as as_strided
from compatgrad.chainer.functions.array.broadcast import broadcast as broadcast
from compatgrad.chainer.functions.array.broadcast import broadcast_to as broadcast_to
from compatgrad.chainer.functions.array.cast import cast as cast
from compatgrad.chainer.functions.array.concat import concat as concat
from compatgrad.chainer.functions.array.copy import copy as copy
from compatgrad.chainer.functions.array.depth2space import depth2space as depth2space
from compatgrad.chainer.functions.array.diagonal import diagonal as diagonal
from compatgrad.chainer.functions.array.dstack import dstack as dstack
from compatgrad.chainer.functions.array.expand_dims import expand_dims as expand_dims
from compatgrad.chainer.functions.array.flatten import flatten as flatten
from compatgrad.chainer.functions.array.flip import flip as flip
from compatgrad.chainer.functions.array.fliplr import fliplr as fliplr
from compatgrad.chainer.functions.array.flipud import flipud as flipud
from compatgrad.chainer.functions.array.get_item import get_item as get_item
from compatgrad.chainer.functions.array.hstack import hstack as hstack
from compatgrad.chainer.functions.array.im2col import im2col as im2col
from compatgrad.chainer.functions.array.moveaxis import moveaxis as moveaxis
from compatgrad.chainer.functions.array.pad import pad as pad
from compatgrad.chainer.functions.array.pad_sequence import pad_sequence as pad_sequence
from compatgrad.chainer.functions.array.permutate import permutate as permutate
from compatgrad.chainer.functions.array.repeat import repeat as repeat
from compatgrad.chainer.functions.array.reshape import reshape as reshape
from compatgrad.chainer.functions.array.resize_images import resize_images as resize_images
from compatgrad.chainer.functions.array.rollaxis import rollaxis as rollaxis
from compatgrad.chainer.functions.array.scatter_add import scatter_add as scatter_add
from compatgrad.chainer.functions.array.select_item import select_item as select_item
from compatgrad.chainer.functions.array.separate import separate as separate
from compatgrad.chainer.functions.array.space2depth import space2depth as space2depth
from compatgrad.chainer.functions.array.spatial_transformer_grid import (
    spatial_transformer_grid as spatial_transformer_grid,
)
from compatgrad.chainer.functions.array.spatial_transformer_sampler import (
    spatial_transformer_sampler as spatial_transformer_sampler,
)
from compatgrad.chainer.functions.array.split_axis import split_axis as split_axis
from compatgrad.chainer.functions.array.squeeze import squeeze as squeeze
from compatgrad.chainer.functions.array.stack import stack as stack
from compatgrad.chainer.functions.array.swapaxes import swapaxes as swapaxes
from compatgrad.chainer.functions.array.tile import tile as tile
from compatgrad.chainer.functions.array.transpose import transpose as transpose
from compatgrad.chainer.functions.array.transpose_sequence import transpose_sequence as transpose_sequence
from compatgrad.chainer.functions.array.vstack import vstack as vstack
from compatgrad.chainer.functions.array.where import where as where
from compatgrad.chainer.functions.connection.bilinear import bilinear as bilinear
from compatgrad.chainer.functions.connection.convolution_2d import convolution_2d as convolution_2d
from compatgrad.chainer.functions.connection.convolution_nd import convolution_1d as convolution_1d
from compatgrad.chainer.functions.connection.convolution_nd import convolution_3d as convolution_3d
from compatgrad.chainer.functions.connection.convolution_nd import convolution_nd as convolution_nd
from compatgrad.chainer.functions.connection.deconvolution_2d import deconvolution_2d as deconvolution_2d
from compatgrad.chainer.functions.connection.deconvolution_nd import deconvolution_1d as deconvolution_1d
from compatgrad.chainer.functions.connection.deconvolution_nd import deconvolution_3d as deconvolution_3d
from compatgrad.chainer.functions.connection.deconvolution_nd import deconvolution_nd as deconvolution_nd
from compatgrad.chainer.functions.connection.deformable_convolution_2d_sampler import (
    deformable_convolution_2d_sampler as deformable_convolution_2d_sampler,
)
from compatgrad.chainer.functions.connection.depthwise_convolution_2d import (
    depthwise_convolution_2d as depthwise_convolution_2d,
)
from compatgrad.chainer.functions.connection.dilated_convolution_2d import (
    dilated_convolution_2d as dilated_convolution_2d,
)
from compatgrad.chainer.functions.connection.embed_id import embed_id as embed_id
from compatgrad.chainer.functions.connection.linear import linear as linear
from compatgrad.chainer.functions.connection.local_convolution_2d import (
    local_convolution_2d as local_convolution_2d,
)
from compatgrad.chainer.functions.connection.shift import shift as shift
from compatgrad.chainer.functions.evaluation.accuracy import accuracy as accuracy
from compatgrad.chainer.functions.evaluation.binary_accuracy import binary_accuracy as binary_accuracy
from compatgrad.chainer.functions.evaluation.classification_summary import (
    classification_summary as classification_summary,
)
from compatgrad.chainer.functions.evaluation.classification_summary import f1_score as f1_score
from compatgrad.chainer.functions.evaluation.classification_summary import precision as precision
from compatgrad.chainer.functions.evaluation.classification_summary import recall as recall
from compatgrad.chainer.functions.evaluation.r2_score import r2_score as r2_score
from compatgrad.chainer.functions.loss.absolute_error import absolute_error as absolute_error
from compatgrad.chainer.functions.loss.black_out import black_out as black_out
from compatgrad.chainer.functions.loss.contrastive import contrastive as contrastive
from compatgrad.chainer.functions.loss.crf1d import argmax_crf1d as argmax_crf1d
from compatgrad.chainer.functions.loss.crf1d import crf1d as crf1d
from compatgrad.chainer.functions.loss.cross_covariance import cross_covariance as cross_covariance
from compatgrad.chainer.functions.loss.ctc import (
    connectionist_temporal_classification as connectionist_temporal_classification,
)
from compatgrad.chainer.functions.loss.decov import decov as decov
from compatgrad.chainer.functions.loss.discriminative_loss import (
    discriminative_margin_based_clustering_loss as discriminative_margin_based_clustering_loss,
)
from compatgrad.chainer.functions.loss.hinge import hinge as hinge
from compatgrad.chainer.functions.loss.huber_loss import huber_loss as huber_loss
from compatgrad.chainer.functions.loss.mean_absolute_error import mean_absolute_error as mean_absolute_error
from compatgrad.chainer.functions.loss.mean_squared_error import mean_squared_error as mean_squared_error
from compatgrad.chainer.functions.loss.negative_sampling import negative_sampling as negative_sampling
from compatgrad.chainer.functions.loss.sigmoid_cross_entropy import (
    sigmoid_cross_entropy as sigmoid_cross_entropy,
)
from compatgrad.chainer.functions.loss.softmax_cross_entropy import (
    softmax_cross_entropy as softmax_cross_entropy,
)
from compatgrad.chainer.functions.loss.squared_error import squared_difference as squared_difference
from compatgrad.chainer.functions.loss.squared_error import squared_error as squared_error
from compatgrad.chainer.functions.loss.triplet import triplet as triplet
from compatgrad.chainer.functions.loss.vae import bernoulli_nll as bernoulli_nll
from compatgrad.chainer.functions.loss.vae import gaussian_kl_divergence as gaussian_kl_divergence
from compatgrad.chainer.functions.loss.vae import gaussian_nll as gaussian_nll
from compatgrad.chainer.functions.math.arctanh import arctanh as arctanh
from compatgrad.chainer.functions.math.average import average as average
from compatgrad.chainer.functions.math.basic_math import absolute as absolute
from compatgrad.chainer.functions.math.basic_math import add as add
from compatgrad.chainer.functions.math.batch_l2_norm_squared import (
    batch_l2_norm_squared as batch_l2_norm_squared,
)
from compatgrad.chainer.functions.math.bias import bias as bias
from compatgrad.chainer.functions.math.ceil import ceil as ceil
from compatgrad.chainer.functions.math.cholesky import cholesky as cholesky
from compatgrad.chainer.functions.math.clip import clip as clip
from compatgrad.chainer.functions.math.cumprod import cumprod as cumprod
from compatgrad.chainer.functions.math.cumsum import cumsum as cumsum
from compatgrad.chainer.functions.math.det import batch_det as batch_det
from compatgrad.chainer.functions.math.det import det as det
from compatgrad.chainer.functions.math.digamma import digamma as digamma
from compatgrad.chainer.functions.math.einsum import einsum as einsum
from compatgrad.chainer.functions.math.erf import erf as erf
from compatgrad.chainer.functions.math.erfc import erfc as erfc
from compatgrad.chainer.functions.math.erfcinv import erfcinv as erfcinv
from compatgrad.chainer.functions.math.erfcx import erfcx as erfcx
from compatgrad.chainer.functions.math.erfinv import erfinv as erfinv
from compatgrad.chainer.functions.math.exponential import exp as exp
from compatgrad.chainer.functions.math.exponential import log as log
from compatgrad.chainer.functions.math.exponential import log2 as log2
from compatgrad.chainer.functions.math.exponential import log10 as log10
from compatgrad.chainer.functions.math.exponential_m1 import expm1 as expm1
from compatgrad.chainer.functions.math.fft import fft as fft
from compatgrad.chainer.functions.math.fft import ifft as ifft
from compatgrad.chainer.functions.math.fix import fix as fix
from compatgrad.chainer.functions.math.floor import floor as floor
from compatgrad.chainer.functions.math.fmod import fmod as fmod
from compatgrad.chainer.functions.math.hyperbolic import cosh as cosh
from compatgrad.chainer.functions.math.hyperbolic import sinh as sinh
from compatgrad.chainer.functions.math.identity import identity as identity
from compatgrad.chainer.functions.math.inv import batch_inv as batch_inv
from compatgrad.chainer.functions.math.inv import inv as inv
from compatgrad.chainer.functions.math.lgamma import lgamma as lgamma
from compatgrad.chainer.functions.math.linear_interpolate import linear_interpolate as linear_interpolate
from compatgrad.chainer.functions.math.log_ndtr import log_ndtr as log_ndtr
from compatgrad.chainer.functions.math.logarithm_1p import log1p as log1p
from compatgrad.chainer.functions.math.logsumexp import logsumexp as logsumexp
from compatgrad.chainer.functions.math.matmul import batch_matmul as batch_matmul
from compatgrad.chainer.functions.math.matmul import matmul as matmul
from compatgrad.chainer.functions.math.maximum import maximum as maximum
from compatgrad.chainer.functions.math.minimum import minimum as minimum
from compatgrad.chainer.functions.math.minmax import argmax as argmax
from compatgrad.chainer.functions.math.minmax import argmin as argmin
from compatgrad.chainer.functions.math.minmax import max as max
from compatgrad.chainer.functions.math.minmax import min as min
from compatgrad.chainer.functions.math.ndtr import ndtr as ndtr
from compatgrad.chainer.functions.math.ndtri import ndtri as ndtri
from compatgrad.chainer.functions.math.polygamma import polygamma as polygamma
from compatgrad.chainer.functions.math.prod import prod as prod
from compatgrad.chainer.functions.math.scale import scale as scale
from compatgrad.chainer.functions.math.sign import sign as sign
from compatgrad.chainer.functions.math.sparse_matmul import sparse_matmul as sparse_matmul
from compatgrad.chainer.functions.math.sqrt import rsqrt as rsqrt
from compatgrad.chainer.functions.math.sqrt import sqrt as sqrt
from compatgrad.chainer.functions.math.square import square as square
from compatgrad.chainer.functions.math.sum import sum as sum
from compatgrad.chainer.functions.math.sum import sum_to as sum_to
from compatgrad.chainer.functions.math.tensordot import tensordot as tensordot
from compatgrad.chainer.functions.math.trigonometric import arccos as arccos
from compatgrad.chainer.functions.math.trigonometric import arcsin as arcsin
from compatgrad.chainer.functions.math.trigonometric import arctan as arctan
from compatgrad.chainer.functions.math.trigonometric import arctan2 as arctan2
from compatgrad.chainer.functions.math.trigonometric import cos as cos
from compatgrad.chainer.functions.math.trigonometric import sin as sin
from compatgrad.chainer.functions.math.trigonometric import tan as tan
from compatgrad.chainer.functions.math.zeta import zeta as zeta
from compatgrad.chainer.functions.noise.dropout import dropout as dropout
from compatgrad.chainer.functions.noise.gaussian import gaussian as gaussian
from compatgrad.chainer.functions.noise.gumbel_softmax import gumbel_softmax as gumbel_softmax
from compatgrad.chainer.functions.noise.simplified_dropconnect import (
    simplified_dropconnect as simplified_dropconnect,
)
from compatgrad.chainer.functions.noise.zoneout import zoneout as zoneout
from compatgrad.chainer.functions.normalization.batch_normalization import (
    batch_normalization as batch_normalization,
)
from compatgrad.chainer.functions.normalization.batch_normalization import (
    fixed_batch_normalization as fixed_batch_normalization,
)
from compatgrad.chainer.functions.normalization.batch_renormalization import (
    batch_renormalization as batch_renormalization,
)
from compatgrad.chainer.functions.normalization.batch_renormalization import (
    fixed_batch_renormalization as fixed_batch_renormalization,
)
from compatgrad.chainer.functions.normalization.decorrelated_batch_normalization import (
    decorrelated_batch_normalization as decorrelated_batch_normalization,
)
from compatgrad.chainer.functions.normalization.decorrelated_batch_normalization import (
    fixed_decorrelated_batch_normalization as fixed_decorrelated_batch_normalization,
)
from compatgrad.chainer.functions.normalization.group_normalization import (
    group_normalization as group_normalization,
)
from compatgrad.chainer.functions.normalization.l2_normalization import normalize as normalize
from compatgrad.chainer.functions.normalization.layer_normalization import (
    layer_normalization as layer_normalization,
)
from compatgrad.chainer.functions.normalization.local_response_normalization import (
    local_response_normalization as local_response_normalization,
)
from compatgrad.chainer.functions.pooling.average_pooling_2d import average_pooling_2d as average_pooling_2d
from compatgrad.chainer.functions.pooling.average_pooling_nd import average_pooling_1d as average_pooling_1d
from compatgrad.chainer.functions.pooling.average_pooling_nd import average_pooling_3d as average_pooling_3d
from compatgrad.chainer.functions.pooling.average_pooling_nd import average_pooling_nd as average_pooling_nd
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_1d as max_pooling_1d
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_2d as max_pooling_2d
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_3d as max_pooling_3d
from compatgrad.chainer.functions.pooling.max_pooling_nd import max_pooling_nd as max_pooling_nd
from compatgrad.chainer.functions.pooling.roi_average_align_2d import (
    roi_average_align_2d as roi_average_align_2d,
)
from compatgrad.chainer.functions.pooling.roi_average_pooling_2d import (
    roi_average_pooling_2d as roi_average_pooling_2d,
)
from compatgrad.chainer.functions.pooling.roi_max_align_2d import roi_max_align_2d as roi_max_align_2d
from compatgrad.chainer.functions.pooling.roi_max_pooling_2d import roi_max_pooling_2d as roi_max_pooling_2d
from compatgrad.chainer.functions.pooling.roi_pooling_2d import roi_pooling_2d as roi_pooling_2d
from compatgrad.chainer.functions.pooling.spatial_pyramid_pooling_2d import (
    spatial_pyramid_pooling_2d as spatial_pyramid_pooling_2d,
)
from compatgrad.chainer.functions.pooling.unpooling_2d import unpooling_2d as unpooling_2d
from compatgrad.chainer.functions.pooling.unpooling_nd import unpooling_1d as unpooling_1d
from compatgrad.chainer.functions.pooling.unpooling_nd import unpooling_3d as unpooling_3d
from compatgrad.chainer.functions.pooling.unpooling_nd import unpooling_nd as unpooling_nd
from compatgrad.chainer.functions.pooling.upsampling_2d import upsampling_2d as upsampling_2d
from compatgrad.chainer.functions.rnn.lstm import lstm as lstm
from compatgrad.chainer.functions.rnn.n_step_gru import n_step_bigru as n_step_bigru
from compatgrad.chainer.functions.rnn.n_step_gru import n_step_gru as n_step_gru
from compatgrad.chainer.functions.rnn.n_step_lstm import n_step_bilstm as n_step_bilstm
from compatgrad.chainer.functions.rnn.n_step_lstm import n_step_lstm as n_step_lstm
from compatgrad.chainer.functions.rnn.n_step_rnn import n_step_birnn as n_step_birnn
from compatgrad.chainer.functions.rnn.n_step_rnn import n_step_rnn as n_step_rnn
from compatgrad.chainer.functions.rnn.slstm import slstm as slstm
from compatgrad.chainer.functions.rnn.tree_lstm import tree_lstm as tree_lstm
from compatgrad.chainer.functions.util.forget import forget as forget
from compatgrad.core.entering import open_functions as _open_functions

mean = average
_open_functions(_frontend, globals())
