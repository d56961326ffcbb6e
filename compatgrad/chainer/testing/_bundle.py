"""Class decorators that turn one test class into several and can be stacked."""

import inspect
import sys
from typing import NamedTuple


class _TestCaseTuple(NamedTuple):
    """A test class; the two names are None for a class that no decorator generated."""

    klass: type
    module_name: str | None
    class_name: str | None


class _ParameterizedTestCaseBundle:
    """The result of a decorator, which replaces the decorated class: the generated classes, for the next decorator."""

    def __init__(self, cases):
        self.cases = cases


def as_bundle(obj):
    """Return `obj`, a bundle or a plain test class, as a bundle."""
    if isinstance(obj, _ParameterizedTestCaseBundle):
        return obj
    return _ParameterizedTestCaseBundle([_TestCaseTuple(obj, None, None)])


def make_decorator(test_case_generator):
    """Make a class decorator.

    `test_case_generator(base)` yields ``(class name, members, wrap)``; ``wrap(method)`` returns the test
    method of the generated class, or None to drop it. The classes go into the module of the decorated one.
    """

    def decorator(cases):
        generated = []
        for klass, module_name, class_name in as_bundle(cases).cases:
            if module_name is None:
                module_name = klass.__module__
            else:
                # An inner decorator has generated this class; the classes made from it replace it.
                delattr(sys.modules[module_name], class_name)
            for name, members, wrap in test_case_generator(klass):
                generated.append(_generate_case(klass, module_name, name, members, wrap))
        return _ParameterizedTestCaseBundle(generated)

    return decorator


def _generate_case(base, module_name, class_name, members, wrap):
    members = {"__module__": module_name, **members}
    for name, method in inspect.getmembers(base, inspect.isfunction):
        if name.startswith("test_"):
            members[name] = wrap(method)
    cls = type(class_name, (base,), members)
    setattr(sys.modules[module_name], class_name, cls)
    return _TestCaseTuple(cls, module_name, class_name)
