"""`Variable`, `Parameter` and `VariableNode` of Chainer 7.8.1's `chainer.variable`.

Arrays are NumPy views (CuPy on CUDA) that share memory with the torch tensors the engine computes on.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy
import torch

from compatgrad import _C
from compatgrad.chainer import backend, initializers
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer._variable_node import (
    VariableNode,  # noqa: F401
    _check_grad_type,
    _creator,
    _creator_node,
)
from compatgrad.chainer._variable_text import facts as _facts
from compatgrad.chainer._variable_text import variable_repr, variable_str
from compatgrad.chainer.backends import cuda
from compatgrad.chainer.initializers import constant
from compatgrad.chainer.utils import argument
from compatgrad.core.arrays import refuse_dlpack as _refuse_dlpack
from compatgrad.core.passes import unchain_backward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer.types import DeviceSpec, NdArray

for _known in (variable_repr, variable_str):
    _known.__module__ = __name__  # the module from which programs import them
del _known

_get_array = _C.Variable.array.__get__
_set_array = _C.Variable.array.__set__
_run_backward = _C.backward


def _create_variable(data, name, grad, requires_grad, device):
    var = Variable(data, name=name, grad=grad, requires_grad=requires_grad)
    var.to_device(device)
    return var


_known_devices = (backend.CpuDevice, backend.GpuDevice)  # the devices that follow from the class of the array


def _no_comparison(operator):
    def compare(self, other):
        raise TypeError(f"Variables do not support {operator} operator. You could use `array` attribute instead.")

    return compare


class Variable(_C.Variable):
    """An array in the graph: functions applied to it are recorded, `backward` computes gradients.

    Args:
        data: array or torch tensor, whose memory is shared; None for none yet.
        name: shown in texts and graphs.
        grad: gradient, an array of the dtype and shape of `data`; None for none.
        requires_grad: False makes a constant, for which backward computes no gradient.
        layout: None.
        **kwargs: none; those of old versions are refused.

    Raises:
        TypeError: `data` is no array, or there is an unknown option.
        AssertionError: `requires_grad` is no bool.
        NotImplementedError: a `layout` is given.

    Example:
        >>> x = chainer.Variable(np.float32([1, 2]))
        >>> y = F.sum(x ** 2)
        >>> y.backward()
        >>> y.array, x.grad
        (array(5., dtype=float32), array([2., 4.], dtype=float32))

    Source: `chainer.Variable` of Chainer 7.8.1.
    """

    _frontend = frontend
    _has_chainerx_array = False
    _device = None  # the device to which the variable was moved, if any
    __array_priority__ = 200

    def __init__(
        self,
        data: NdArray | torch.Tensor | None = None,
        *,
        name: str | None = None,
        grad: NdArray | None = None,
        requires_grad: bool = True,
        layout: None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs:
            argument.check_unexpected_kwargs(
                kwargs, volatile="volatile argument is not supported anymore. Use chainer.using_config"
            )
            argument.assert_kwargs_empty(kwargs)
        if layout is not None:
            raise NotImplementedError("memory layouts: Variable(layout=...)")
        assert isinstance(requires_grad, bool), f"requires_grad: expected a bool, not {requires_grad!r}"
        if data is not None and type(data) is not numpy.ndarray:
            _check_data_type(data)
        super().__init__(data, requires_grad, name)
        if grad is not None:
            self._grad_array = grad

    @staticmethod
    def _init_unchecked(data=None, device=None, name=None, grad=None, requires_grad=True, is_chainerx_array=False):
        if is_chainerx_array:
            raise RuntimeError("ChainerX is not available.")
        var = Variable(data, name=name, grad=grad, requires_grad=requires_grad)
        var._device = device
        return var

    # ---- data ----

    data = _C.Variable.array
    raw_array = _C.Variable.array
    _node = _C.Variable.node
    layout = None
    creator = _creator
    creator_node = _creator_node(_C.Variable)

    @property
    def device(self):
        """The device of the array; for a device of a class that a program defines, the one to which the Variable was
        moved."""
        t, device = self.tensor, self._device  # the tensor, because in a trace it has no array
        if device is not None and (t is None or type(device) not in _known_devices):
            return device
        return backend.CpuDevice() if t is None or t.is_cpu else backend.get_device_from_array(self.array)

    @property
    def xp(self):
        """The array module: numpy, or cupy."""
        t = self.tensor
        return numpy if t is not None and t.is_cpu else self.device.xp

    @property
    def label(self):
        """Shape and dtype in a few words."""
        return self.node.label

    @property
    def chx_array(self):
        """Raises ValueError: ChainerX is not supported."""
        raise ValueError("chx_array is not available for Variable with non-ChainerX array.")

    def as_layout(self, layout: None) -> Variable:
        """Does nothing for the standard layout, None, the only one that is supported."""
        if layout is not None:
            raise NotImplementedError(f"memory layouts: Variable.as_layout({layout!r})")
        return self

    # ---- gradient ----

    def _set_grad(self, g):
        if g is not None:
            _check_grad_type(None, self, False, g)
        self._grad_array = g

    def _set_grad_var(self, g):
        if g is not None:
            _check_grad_type(None, self, False, g.array)
        _set_grad_var(self, g)

    _grad = _C.Variable._grad_array
    grad = property(_C.Variable._grad_array.__get__, _set_grad, doc="Gradient array or None; checked when it is set.")
    grad_var = property(
        _C.Variable.grad_var.__get__,
        _set_grad_var,
        doc="Gradient as a Variable or None; checked when it is set.",
    )
    cleargrad = _C.Variable.cleargrad_

    def zerograd(self) -> None:
        """Deprecated: fills the gradient with zeros, in place where there is one."""
        warnings.warn(
            "Variable.zerograd is deprecated. Use Variable.cleargrad instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        self._zerograd()

    def _zerograd(self):
        arr = self.array
        if arr is None:
            return
        grad = self._grad_array
        if grad is None:
            with backend.using_device(self.device):
                self._grad_array = self.xp.zeros_like(arr)
        else:
            self.grad_var.unchain()
            grad.fill(0)

    def copydata(self, var: Variable) -> None:
        """Copies the data of `var` into this array, also between devices. A parameter that has no array is initialized
        first."""
        src, dst = var.array, self.array
        if src is None:
            if dst is None:
                return
            var.initialize(self.shape)
            src = var.array
        elif dst is None:
            self.initialize(src.shape)
            dst = self.array
        backend.copyto(dst, src)

    # ---- graph ----

    def set_creator(self, gen_func: Any) -> None:
        """Same as setting `creator`."""
        self.creator_node = gen_func

    def set_creator_node(self, fnode: Any) -> None:
        """Same as setting `creator_node`."""
        self.creator_node = fnode

    def unchain(self) -> None:
        """Cuts this variable from the function that made it."""
        self.creator_node = None

    unchain_backward = unchain_backward

    def backward(
        self, retain_grad: bool = False, enable_double_backprop: bool = False, loss_scale: float | None = None
    ) -> None:
        """Backpropagates from this variable and adds the results to the gradients of all leaves. It starts from this
        variable's gradient, which is cleared, or, for one element without a gradient, from `loss_scale` (1 by default).
        `retain_grad` keeps the gradients of intermediates, `enable_double_backprop` records the computation of the
        gradients.
        """
        own = gy = self.grad_var
        if own is not None:
            self.cleargrad_()
        elif self.size == 1:
            if self.ndim != 0:
                warnings.warn(
                    f"Variable.backward of one element in {self.ndim} dimensions is deprecated: "
                    "make it a scalar with chainer.functions.squeeze, or set its grad.",
                    DeprecationWarning,
                    stacklevel=2,
                )
            ones = torch.ones_like(self.tensor)
            if loss_scale is not None:
                ones *= loss_scale
            gy = Variable(ones)
        try:
            _run_backward(frontend, (self,), (gy,), retain_grad, loss_scale, enable_double_backprop)
        except BaseException:
            if own is not None:
                _set_grad_var(self, own)
            raise

    # ---- devices ----

    def to_cpu(self) -> None:
        """Moves array and gradient to the CPU."""
        self.to_device(backend.CpuDevice())

    def to_gpu(self, device: Any = None) -> None:
        """Moves array and gradient to a GPU, the current one by default. Raises RuntimeError without CUDA."""
        cuda.check_cuda_available()
        self.to_device(cuda._get_device_or_current(device))

    def to_intel64(self) -> None:
        """Raises RuntimeError: iDeep is not supported."""
        raise RuntimeError("iDeep is not available.")

    def to_chx(self) -> None:
        """Raises RuntimeError: ChainerX is not supported."""
        raise RuntimeError("ChainerX is not available.")

    def from_chx(self) -> None:
        """Does nothing, because ChainerX is not supported."""

    def to_device(self, device: DeviceSpec) -> None:
        """Moves array and gradient to `device`, an object or a specifier such as '@numpy' or '@cupy:0'."""
        self._to_device(backend.get_device(device))

    def _to_device(self, device):
        arr = self.array
        self._device = device
        if arr is None or backend.get_device_from_array(arr) == device:
            return
        grad_var = self.grad_var
        _set_array(self, device.send(arr))
        if grad_var is not None:
            grad_var._to_device(device)
            _set_grad_var(self, grad_var)

    def item(self) -> float | int:
        """The only element, as a Python number."""
        return self.array.item()

    # ---- Python protocols ----

    def __copy__(self):
        return self._copy_to(Variable())

    def _copy_to(self, target):
        target.__dict__.update(self.__dict__)
        _set_array(target, self.array)
        target._set_requires_grad(self.requires_grad)
        target.name = self.name
        target._loss_scale = self._loss_scale
        _set_grad_var(target, self.grad_var)
        return target

    def __reduce__(self):
        return _create_variable, (self.array, self.name, self.grad, self.requires_grad, self.device)

    def __pos__(self):
        return self

    __repr__ = variable_repr
    __str__ = variable_str

    def summary(self) -> str:
        """The name, or the address, in angle brackets."""
        return f"<variable {self.name}>" if self.name else f"<variable at 0x{id(self):x}>"

    def debug_print(self) -> str:
        """A few lines on device, shape, dtype, mean and deviation of the data and the gradient."""
        return _facts(self)

    __hash__ = None

    def __bool__(self):
        raise TypeError("Variables cannot be evaluated as Python bool.")

    __lt__ = _no_comparison("<")
    __le__ = _no_comparison("<=")
    __eq__ = _no_comparison("==")
    __ne__ = _no_comparison("!=")
    __gt__ = _no_comparison(">")
    __ge__ = _no_comparison(">=")


_set_grad_var = _C.Variable.grad_var.__set__


def _check_data_type(data):
    types = backend.get_array_types()
    if not isinstance(data, (*types, torch.Tensor)):
        expected = " or ".join(map(str, types))
        raise TypeError(f"data must be {expected}. Actual: {type(data)}")


def _recover_parameter(data, name, grad, *rest):
    # pickles of Chainer before 7 have six values, without `grad_valid`
    grad_valid, initializer, update_rule, device = rest if len(rest) == 4 else (True, *rest)
    p = Parameter(initializer=initializer, name=name)
    p.array = data
    p._grad_array = grad
    p._grad_valid = grad_valid
    p.update_rule = update_rule
    p.to_device(device)
    return p


class Parameter(Variable):
    """A Variable that a link owns, and whose shape may be set later. Where an initializer has filled the parameter, its
    gradient is NaN until `cleargrad`.

    Args:
        initializer: a callable that fills an array in place, a number for all elements, an array or a torch tensor;
            None: NaN.
        shape: an int or a tuple of ints. None: an array becomes the data, anything else leaves the parameter empty
            until `initialize(shape)`.
        name: shown in texts and graphs; a link sets its own.
        layout: None.

    Raises:
        NotImplementedError: a `layout` is given.

    Example:
        >>> p = chainer.Parameter(initializer=0)
        >>> p.is_initialized
        False
        >>> p.initialize((2, 3))
        >>> p.shape, p.dtype
        ((2, 3), dtype('float32'))

    Source: `chainer.Parameter` of Chainer 7.8.1.
    """

    initializer = None
    update_rule = None
    _grad_initializer = None
    _grad_valid = True
    _sharing = None  # weak references to all shallow copies of a parameter, which are initialized together

    def __init__(
        self,
        initializer: Any = None,
        shape: int | Sequence[int] | None = None,
        name: str | None = None,
        *,
        layout: None = None,
    ) -> None:
        if initializer is None:
            initializer = constant.NaN()
        elif numpy.isscalar(initializer):
            initializer = constant.Constant(initializer)
        initializer = initializers._array_of_tensor(initializer)
        is_array = isinstance(initializer, backend.get_array_types())
        if shape is None:
            if is_array:
                super().__init__(initializer, name=name, layout=layout)
            else:
                super().__init__(name=name, layout=layout)
                self._grad_valid = False
                self._grad_initializer = constant.NaN(getattr(initializer, "dtype", None))
        else:
            xp = numpy
            if is_array:
                xp = backend.get_array_module(initializer)
                initializer = constant.Constant(initializer)
            data = initializers.generate_array(initializer, shape, xp)
            super().__init__(data, name=name, grad=xp.full_like(data, numpy.nan), layout=layout)
        self._device = backend.CpuDevice()
        self.initializer = initializer

    def _set_shared_array(self, d):
        if self._sharing is None:
            _set_array(self, d)
            return
        for ref in self._sharing:
            var = ref()
            if var is not None:
                _set_array(var, d)

    array = data = raw_array = property(_get_array, _set_shared_array, doc="The array, None while empty. Settable.")

    def _leave_sharing(self):
        if self._sharing is not None:
            self._sharing[:] = [r for r in self._sharing if r() is not None and r() is not self]
            self._sharing = None

    def _get_grad(self):
        g = self._grad_array
        if g is None and not self._grad_valid:
            raise RuntimeError("The grad of an uninitialized parameter is not determined: call cleargrad() or set it.")
        return g

    def _set_grad(self, g):
        Variable.grad.fset(self, g)
        self._grad_valid = True

    grad = property(_get_grad, _set_grad, doc="Gradient array or None; RuntimeError while it is not determined.")

    @property
    def is_initialized(self):
        """Whether the parameter has its array."""
        return self.tensor is not None

    @property
    def dtype(self):
        """Dtype of the array, or of the initializer. Raises RuntimeError if neither determines it."""
        if self.tensor is not None:
            return self.node.dtype
        if hasattr(self.initializer, "dtype"):
            return numpy.dtype(self.initializer.dtype)
        raise RuntimeError(
            "The dtype of the parameter is not determined: it is uninitialized, and its initializer has none."
        )

    def cleargrad(self) -> None:
        """Sets the gradient to None; an uninitialized parameter keeps None when it is initialized."""
        self.cleargrad_()
        self._grad_valid = True
        if self.tensor is None:
            self._grad_initializer = None

    def _zerograd(self):
        super()._zerograd()
        self._grad_valid = True
        if self.tensor is None:
            self._grad_initializer = initializers.Zero(getattr(self.initializer, "dtype", None))

    def initialize(self, shape: int | Sequence[int]) -> None:
        """Makes the array, of `shape`, with the initializer, on the device to which the parameter was moved."""
        device = self._device
        grad = None
        data = initializers.generate_array(self.initializer, shape, device.xp, device=device)
        if self._grad_initializer is not None:
            grad = initializers.generate_array(self._grad_initializer, shape, device.xp, device=device)
        self.array = data
        self.grad = grad

    def update(self) -> None:
        """Applies the update rule, if there is one."""
        if self.update_rule is not None:
            self.update_rule.update(self)

    def _to_device(self, device):
        if self.device != device:
            self._leave_sharing()
        super()._to_device(device)

    def __copy__(self):
        return self._copy_to(Parameter())

    def _copy_to(self, target):
        if self._sharing is None:
            self._sharing = [weakref.ref(self)]
        super()._copy_to(target)
        self._sharing.append(weakref.ref(target))
        return target

    def __reduce__(self):
        args = (self.array, self.name, self._grad_array, self._grad_valid)
        return _recover_parameter, (*args, self.initializer, self.update_rule, self.device)


def as_variable(obj: Any) -> Variable:
    """`obj` itself where it is a Variable, else a Variable of the array, which needs no gradient.

    Args:
        obj: Variable or array. A Variable of another framework stays connected with its graph.

    Returns:
        Variable.

    Raises:
        TypeError: `obj` is neither.

    Example:
        >>> x = chainer.Variable(np.zeros(2))
        >>> chainer.as_variable(x) is x, chainer.as_variable(np.zeros(2)).requires_grad
        (True, False)

    Source: `chainer.as_variable` of Chainer 7.8.1.
    """
    if isinstance(obj, Variable):
        return obj
    if isinstance(obj, _C.Variable):
        return _identity(obj)  # another framework's Variable, which stays connected with its graph
    return Variable(obj, requires_grad=False)


def as_array(obj: Any) -> Any:
    """The array of a Variable; any other object is returned unchanged.

    Args:
        obj: Variable, or anything.

    Returns:
        The array, None if the Variable has no array; or `obj`.

    Raises:
        Nothing.

    Example:
        >>> chainer.as_array(chainer.Variable(np.array([1.0]))), chainer.as_array(2)
        (array([1.]), 2)

    Source: `chainer.as_array` of Chainer 7.8.1.
    """
    return obj.array if isinstance(obj, _C.Variable) else obj


frontend.variable_class = Variable
_refuse_dlpack(Variable, "x.array")
_identity = frontend.bind("identity", None, "any", "identity")
