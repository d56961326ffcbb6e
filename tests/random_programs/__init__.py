"""Random Chainer programs, made from a seed, that run unchanged on Chainer and on compatgrad.

A program is plain source text: `python -m compatgrad run -m tests.random_programs --show 7` prints one.
Its values, first and
second gradients and the order in which a function hook sees its functions are recorded under real Chainer by
tests/golden/record.py and compared by tests/chainer/test_random_programs.py.
"""
