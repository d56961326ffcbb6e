"""Lets tests import `tests.golden` and the like from any directory, behind an installed compatgrad."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
