"""Measures compatgrad against torch's autograd and, where it is at hand, against real Chainer.

`python -m tests.benchmarks --help`; `make bench`. Figures and what they mean: docs/benchmarks.md.
"""
