"""A dictionary that keeps the order in which keys came."""

from collections import OrderedDict as OrderedDict
