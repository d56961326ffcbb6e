"""Networks that find objects in images."""

from .yolov2 import YoloV2

__all__ = ["YoloV2"]
