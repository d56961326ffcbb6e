"""Whether the surroundings are such as Chainer works in."""


def check():
    """Nothing to find: the original's checks are for Python 3.5, macOS, and packages that are not used here."""
