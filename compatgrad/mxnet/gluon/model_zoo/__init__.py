"""Models by name."""

from . import vision as vision
