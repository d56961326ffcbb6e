"""Random MXNet programs, made from a seed, that run unchanged on MXNet and on compatgrad.

A program is plain source text: `python -m compatgrad run -m tests.random_programs.mxnet --show 7` prints one.
Their values,
gradients, gradients of gradients and the classes of the errors that they end with are recorded under real MXNet
by tests/golden/record_mxnet.py and compared by tests/mxnet/test_random_programs.py.

Every fourth program is made of the operators that MXNet differentiates twice and is differentiated twice. What
MXNet differentiates once only, or wrongly, is checked against finite differences instead (`beyond.py`).
"""
