"""The version of Chainer whose behaviour is reproduced."""

__version__ = "7.8.1"
