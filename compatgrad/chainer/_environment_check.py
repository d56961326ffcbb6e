"""Chainer's check of the environment, which it makes at import."""


def check():
    """Does nothing: the original's checks are for Python 3.5, macOS and packages that compatgrad does not use."""
