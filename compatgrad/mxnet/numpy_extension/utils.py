"""`mx.npx.utils`: MXNet's module of `save` and `load`, from which programs import them."""

from ._files import load as load
from ._files import save as save
