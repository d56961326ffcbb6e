"""`mx.onnx`: symbols with their parameters as ONNX models."""

from .export import export_model as export_model
from .export import get_operator_support as get_operator_support
