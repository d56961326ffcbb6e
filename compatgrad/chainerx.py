"""What Chainer programs see where ChainerX is not built: the question whether it is, and a type to test
against.
"""


class ndarray:
    """Nothing is an instance of this. Making one raises RuntimeError."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("chainerx is not available.")


def is_available():
    """False."""
    return False
