"""The name that ``chainer.backends.cuda`` had until Chainer 4."""

import sys

from compatgrad.chainer.backends import cuda

sys.modules[__name__] = cuda
