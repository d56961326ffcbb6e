"""The version of nnabla whose behaviour is reproduced."""

__version__ = "1.39.0"
__author__ = "compatgrad"
__email__ = ""
__build_number__ = "compatgrad"
