"""Replaces itself at its first import by the compiled module: finds, or compiles, the build for this torch.

It is a source module and not the extension itself, so that every way of importing it runs this check.
"""

import sys

from compatgrad._build.loader import load

sys.modules[__name__] = load(__name__)
