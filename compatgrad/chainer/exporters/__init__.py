"""Networks as files of other frameworks."""

from compatgrad.chainer.exporters import caffe  # noqa: F401
