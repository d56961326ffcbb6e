"""Links. Mirrors ``chainer.links``."""

from compatgrad.chainer.links.activation.maxout import Maxout
from compatgrad.chainer.links.activation.prelu import PReLU
from compatgrad.chainer.links.activation.simplified_dropconnect import SimplifiedDropconnect
from compatgrad.chainer.links.activation.swish import Swish
from compatgrad.chainer.links.connection.bias import Bias
from compatgrad.chainer.links.connection.bilinear import Bilinear
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.connection.convolution_nd import Convolution1D, Convolution3D, ConvolutionND
from compatgrad.chainer.links.connection.deconvolution_2d import Deconvolution2D
from compatgrad.chainer.links.connection.deconvolution_nd import (
    Deconvolution1D,
    Deconvolution3D,
    DeconvolutionND,
)
from compatgrad.chainer.links.connection.deformable_convolution_2d import DeformableConvolution2D
from compatgrad.chainer.links.connection.depthwise_convolution_2d import DepthwiseConvolution2D
from compatgrad.chainer.links.connection.dilated_convolution_2d import DilatedConvolution2D
from compatgrad.chainer.links.connection.embed_id import EmbedID
from compatgrad.chainer.links.connection.highway import Highway
from compatgrad.chainer.links.connection.inception import Inception
from compatgrad.chainer.links.connection.inceptionbn import InceptionBN
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.connection.local_convolution_2d import LocalConvolution2D
from compatgrad.chainer.links.connection.mlp_convolution_2d import MLPConvolution2D
from compatgrad.chainer.links.connection.parameter import Parameter
from compatgrad.chainer.links.connection.scale import Scale
from compatgrad.chainer.links.loss.black_out import BlackOut
from compatgrad.chainer.links.loss.crf1d import CRF1d
from compatgrad.chainer.links.loss.hierarchical_softmax import BinaryHierarchicalSoftmax
from compatgrad.chainer.links.loss.negative_sampling import NegativeSampling
from compatgrad.chainer.links.model.classifier import Classifier
from compatgrad.chainer.links.model.vision.googlenet import GoogLeNet
from compatgrad.chainer.links.model.vision.resnet import ResNet50Layers, ResNet101Layers, ResNet152Layers
from compatgrad.chainer.links.model.vision.vgg import VGG16Layers, VGG19Layers
from compatgrad.chainer.links.normalization.batch_normalization import BatchNormalization
from compatgrad.chainer.links.normalization.batch_renormalization import BatchRenormalization
from compatgrad.chainer.links.normalization.decorrelated_batch_normalization import (
    DecorrelatedBatchNormalization,
)
from compatgrad.chainer.links.normalization.group_normalization import GroupNormalization
from compatgrad.chainer.links.normalization.layer_normalization import LayerNormalization
from compatgrad.chainer.links.rnn.gru import GRU, StatefulGRU, StatelessGRU
from compatgrad.chainer.links.rnn.lstm import LSTM, StatelessLSTM
from compatgrad.chainer.links.rnn.mgu import StatefulMGU, StatelessMGU
from compatgrad.chainer.links.rnn.n_step_gru import NStepBiGRU, NStepGRU
from compatgrad.chainer.links.rnn.n_step_lstm import NStepBiLSTM, NStepLSTM
from compatgrad.chainer.links.rnn.n_step_rnn import (
    NStepBiRNNReLU,
    NStepBiRNNTanh,
    NStepRNNReLU,
    NStepRNNTanh,
)
from compatgrad.chainer.links.rnn.peephole import StatefulPeepholeLSTM
from compatgrad.chainer.links.rnn.tree_lstm import ChildSumTreeLSTM, NaryTreeLSTM
from compatgrad.chainer.links.rnn.zoneoutlstm import StatefulZoneoutLSTM
from compatgrad.chainer.links.theano.theano_function import TheanoFunction

__all__ = [
    "BatchNormalization",
    "BatchRenormalization",
    "Bias",
    "Bilinear",
    "BinaryHierarchicalSoftmax",
    "BlackOut",
    "CRF1d",
    "ChildSumTreeLSTM",
    "Classifier",
    "Convolution1D",
    "Convolution2D",
    "Convolution3D",
    "ConvolutionND",
    "Deconvolution1D",
    "Deconvolution2D",
    "Deconvolution3D",
    "DeconvolutionND",
    "DecorrelatedBatchNormalization",
    "DeformableConvolution2D",
    "DepthwiseConvolution2D",
    "DilatedConvolution2D",
    "EmbedID",
    "GRU",
    "GoogLeNet",
    "GroupNormalization",
    "Highway",
    "Inception",
    "InceptionBN",
    "LSTM",
    "LayerNormalization",
    "Linear",
    "LocalConvolution2D",
    "MLPConvolution2D",
    "Maxout",
    "NStepBiGRU",
    "NStepBiLSTM",
    "NStepBiRNNReLU",
    "NStepBiRNNTanh",
    "NStepGRU",
    "NStepLSTM",
    "NStepRNNReLU",
    "NStepRNNTanh",
    "NaryTreeLSTM",
    "NegativeSampling",
    "PReLU",
    "Parameter",
    "ResNet101Layers",
    "ResNet152Layers",
    "ResNet50Layers",
    "Scale",
    "SimplifiedDropconnect",
    "StatefulGRU",
    "StatefulMGU",
    "StatefulPeepholeLSTM",
    "StatefulZoneoutLSTM",
    "StatelessGRU",
    "StatelessLSTM",
    "StatelessMGU",
    "Swish",
    "TheanoFunction",
    "VGG16Layers",
    "VGG19Layers",
]
