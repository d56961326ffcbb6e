"""Gradients as functions of their own, under the names of nnabla's classes: made of the arguments of the forward
function, they are called with what its gradient is computed from. `nn.grad` does not need them.
"""
