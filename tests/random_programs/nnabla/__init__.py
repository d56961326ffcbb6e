"""Random nnabla programs, made from a seed, that run unchanged on nnabla and on compatgrad.

A program is plain source text: `python -m compatgrad run -m tests.random_programs.nnabla --show 7` prints one.
Programs of
even seeds build a static graph, the others run under `nn.auto_forward()`. Their values, gradients, gradients
of gradients and the order in which hooks see the functions are recorded under real nnabla by
tests/golden/record_nnabla.py and compared by tests/nnabla/test_random_programs.py.
"""
