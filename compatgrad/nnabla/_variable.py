"""The name under which nnabla has the compiled module of `Variable`; programs read `nn._variable.Variable`."""

from compatgrad.nnabla.variable import CommunicatorBackwardCallback, Context, Variable

__all__ = ["CommunicatorBackwardCallback", "Context", "Variable"]
