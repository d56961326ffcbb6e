"""Lets tests of this folder use the samples of the ops."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "ops"))
