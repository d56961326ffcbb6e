"""Models by name."""

from . import model_store as model_store
from . import vision as vision
from .vision import get_model as get_model
