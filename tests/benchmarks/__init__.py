"""Compares the speed of compatgrad with torch's autograd and, where installed, with the real Chainer, nnabla and MXNet.

See `python -m tests.benchmarks --help` and `make bench`; docs/benchmarks.md has the results.
"""
