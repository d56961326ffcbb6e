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

# of comparisons of two arrays
COMPARED = """
Args:
    x0: any shape, compared in float32.
    x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

Returns:
    Array of 0 and 1 in float32, of the shape that both broadcast to.

Raises:
    RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.
"""

# of comparisons with a number
COMPARED_WITH_NUMBER = """
Args:
    x0: any shape, compared in float32.
    val: the number to compare with.

Returns:
    Array of 0 and 1 in float32, of the shape of `x0`.
"""

# of logical functions of two arrays
LOGICAL = """
Args:
    x0: any shape; 0 is false, all else true.
    x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

Returns:
    Array of 0 and 1 in float32, of the shape that both broadcast to.

Raises:
    RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.
"""

# of logical functions with a number
LOGICAL_WITH_NUMBER = """
Args:
    x0: any shape.
    val: the second operand.

Returns:
    Array of 0 and 1 in float32, of the shape of `x0`.
"""

# of tests of an array's elements
TESTED = """
Args:
    x0: any shape.

Returns:
    Array of 0 and 1 in float32, of the shape of `x0`.
"""
