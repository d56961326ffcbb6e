"""Caffe's messages: those of networks and their layers that `CaffeFunction` and `exporters.caffe` know.

Fields of other messages are skipped in reading.
"""

from compatgrad.chainer.links.caffe import _proto

TRAIN, TEST = 0, 1
globals().update(_proto._messages)
