"""CenterNet: ResNet with deconvolutions, for objects and for poses, and the hourglass; focal and L1 losses."""

import types

import _mxnet
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon


def train(run):
    run.path()
    _mxnet.streams()
    run.without("cv2", "numba", "progress", "progress.bar")
    from models import losses
    from models.hourglass import stacked_hourglass
    from models.resnet import PoseResNet
    from models.tensor_utils import _sigmoid

    yield {}
