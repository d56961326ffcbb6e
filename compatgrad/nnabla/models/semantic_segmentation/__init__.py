"""Networks that label each pixel of an image."""

from .deeplabv3plus import DeepLabV3plus

__all__ = ["DeepLabV3plus"]
