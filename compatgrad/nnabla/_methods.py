"""Methods of NdArray and Variable that need functions, which themselves import these classes."""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad.core.arrays import refuse_dlpack as _refuse_dlpack
from compatgrad.nnabla import functions as F
from compatgrad.nnabla._arithmetic import in_place, operators, swapped
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._indexing import getitem, set_variable_item, setitem
from compatgrad.nnabla._nd_array import NdArray, dimensions
from compatgrad.nnabla.parameter import get_parameters
from compatgrad.nnabla.variable import Variable

__all__: list[str] = []

_refuse_dlpack(NdArray, "x.data, or nnabla.utils.dlpack.to_dlpack(x)")
_refuse_dlpack(Variable, "x.d")


def reshape(self: Variable, shape: Any, unlink: bool = False) -> Variable:
    """A Variable of another shape: the result of a function, or with `unlink` a view without a parent. Raises
    RuntimeError if the number of elements differs.
    """
    if unlink:
        shape = dimensions(shape)
        v = Variable(shape, self.need_grad)
        v.data, v.grad = self.data.view(shape), self.grad.view(shape)
        return v
    y = F.reshape(self, shape)
    y.data = self.data.view(y.shape)  # both share memory, as with `unlink`
    return y


def bool_fill_(self: Variable, mask: NdArray, value: float) -> Variable:
    """Sets the values where `mask` is not 0 to `value`, in this Variable's array."""
    return F.bool_fill(self, mask, value, outputs=[self.data])


def no_grad(self: Variable) -> Variable:
    """A copy of the network up to this Variable in which no parameter needs a gradient. Other leaves are shared."""
    parameters = {p.data for p in get_parameters(grad_only=False).values()}

    def leaf(v: Variable) -> Variable:
        return v.get_unlinked_variable(need_grad=False) if v.data in parameters else v

    if self.parent is None:
        return leaf(self)
    made: dict[int, Any] = {}
    keep = []
    for f in self._functions():
        if _C.function_info(f) is None and not f.inputs:  # a Variable of another framework counts as a leaf
            keep += f.outputs
            made.update((id(x), x) for x in f.outputs)
            continue
        inputs = []
        for x in f.inputs:
            if id(x) not in made:
                keep.append(x)
                made[id(x)] = leaf(x)
            inputs.append(made[id(x)])
        result = f(*inputs)
        for old, new in zip(f.outputs, result if isinstance(result, tuple) else (result,), strict=True):
            keep.append(old)
            made[id(old)] = new
    return made[id(self)]


def _attach(cls: Any, **methods: Any) -> None:
    for name, method in methods.items():
        setattr(cls, name, method)


_attach(
    Variable,
    reshape=reshape,
    bool_fill_=bool_fill_,
    masked_fill_=bool_fill_,
    no_grad=no_grad,
    __setitem__=set_variable_item,
)
_attach(NdArray, __getitem__=getitem, __setitem__=setitem)

# The engine implements the operators of Variable and calls these where its own code does not apply.
fe.fallbacks.update(operators, getitem=getitem)
for _name in ("add", "sub", "mul", "div", "pow", "matmul"):
    fe.fallbacks[f"r{_name}"] = swapped(operators[_name])

for _method in ("add", "sub", "mul", "truediv", "pow", "matmul"):
    _name = _method.removeprefix("true")
    _attach(NdArray, **{f"__{_method}__": operators[_name], f"__r{_method}__": swapped(operators[_name])})
    if _method != "matmul":
        _attach(NdArray, **{f"__i{_method}__": in_place(_name)})
_attach(NdArray, __neg__=operators["neg"], __pos__=lambda x: x)
