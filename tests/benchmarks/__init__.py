"""Measures compatgrad against torch's autograd and, where they are at hand, against real Chainer and nnabla.

`python -m tests.benchmarks --help`; `make bench`. Figures and what they mean: docs/benchmarks.md.
"""
