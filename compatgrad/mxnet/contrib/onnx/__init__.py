"""`mx.contrib.onnx`: ONNX models as symbols or blocks, and symbols as ONNX models (`mx.onnx`)."""

from ...onnx import export_model as export_model
from . import onnx2mx as onnx2mx
from .onnx2mx.import_model import get_model_metadata as get_model_metadata
from .onnx2mx.import_model import import_model as import_model
from .onnx2mx.import_to_gluon import import_to_gluon as import_to_gluon
