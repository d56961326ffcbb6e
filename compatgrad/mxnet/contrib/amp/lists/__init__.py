"""Lists of operators by the types they run in."""

from . import symbol_fp16 as symbol_fp16
