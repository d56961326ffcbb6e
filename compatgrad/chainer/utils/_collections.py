"""A dictionary that keeps the order of its keys."""

from collections import OrderedDict as OrderedDict
