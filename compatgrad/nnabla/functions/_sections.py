"""Sections that docstrings of related functions share."""

__all__ = [
    "ANGLES",
    "COMPARED",
    "COMPARED_WITH_NUMBER",
    "LOGICAL",
    "LOGICAL_WITH_NUMBER",
    "OPERANDS",
    "POINTWISE",
    "TESTED",
]

# of functions of one array, element by element
POINTWISE = """
Args:
    x: any shape, computed in float32.

Returns:
    Array of the shape of `x`.
"""

# of trigonometric functions
ANGLES = """
Args:
    x: angles in radians, any shape, computed in float32.

Returns:
    Array of the shape of `x`.
"""

# of arithmetic on two arrays
OPERANDS = """
Args:
    x0: any shape, computed in float32.
    x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.
    inplace: accepted, without effect, as in nnabla.

Returns:
    Array of the shape that both broadcast to.

Raises:
    RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.
"""

# of comparisons and logical functions, whose results are 0 and 1
_OF_TWO = """
Args:
    x0: {x0}
    x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

Returns:
    Array of 0 and 1 in float32, of the shape that both broadcast to.

Raises:
    RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.
"""
_OF_ONE = """
Args:
    x0: {x0}
    val: {val}

Returns:
    Array of 0 and 1 in float32, of the shape of `x0`.
"""
COMPARED = _OF_TWO.format(x0="any shape, compared in float32.")
COMPARED_WITH_NUMBER = _OF_ONE.format(x0="any shape, compared in float32.", val="the number to compare with.")
LOGICAL = _OF_TWO.format(x0="any shape; 0 is false, all else true.")
# an entry for an argument that a function does not have is left out
LOGICAL_WITH_NUMBER = TESTED = _OF_ONE.format(x0="any shape.", val="the second operand.")
