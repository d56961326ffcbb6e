"""Stands in for the compiled module until its first import: finds, or compiles, the build for this torch.

A source module rather than the extension itself, so that no way of importing it avoids the check.
"""

import sys

from compatgrad._build.loader import load

sys.modules[__name__] = load(__name__)
