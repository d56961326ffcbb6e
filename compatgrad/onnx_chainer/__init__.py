"""The two functions of onnx-chainer: Chainer's networks as ONNX models, by `interop.export` and torch's exporter."""

from compatgrad.names.absent import speak as _speak

_speak(__name__)

from compatgrad.onnx_chainer.export import MAXIMUM_OPSET_VERSION as MAXIMUM_OPSET_VERSION
from compatgrad.onnx_chainer.export import MINIMUM_OPSET_VERSION as MINIMUM_OPSET_VERSION
from compatgrad.onnx_chainer.export import export as export
from compatgrad.onnx_chainer.export_testcase import export_testcase as export_testcase
