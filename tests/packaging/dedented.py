"""python -m tests.packaging.dedented [dedent]

Prints the docstrings of public names as JSON, name -> docstring without indentation. With `dedent`, the modules of
compatgrad are compiled as Python 3.13 compiles them: it removes the indentation of docstrings, which decorators that
complete docstrings must stand.
"""

import ast
import importlib
import importlib.machinery
import inspect
import json
import sys
import tempfile

MODULES = [
    "chainer.functions", "chainer.links", "chainer.optimizers", "chainer.training.extensions", "chainer.distributions",
    "mxnet.ndarray", "mxnet.ndarray.contrib", "mxnet.symbol", "mxnet.numpy", "mxnet.numpy_extension", "mxnet.metric",
    "mxnet.gluon.nn", "mxnet.gluon.rnn", "mxnet.gluon.loss", "mxnet.gluon.contrib.nn", "mxnet.gluon.data.vision",
    "mxnet.gluon.model_zoo.vision", "mxnet.optimizer", "mxnet.initializer", "mxnet.io",
    "nnabla.functions", "nnabla.parametric_functions", "nnabla.solvers", "nnabla.initializer", "nnabla.utils.qnn",
    "nnabla.models.imagenet", "nnabla.backward_functions", "ops", "interop",
]  # fmt: skip


def without_margin(text):
    first, *rest = text.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.lstrip(), *(line[margin:] if line.strip() else "" for line in rest)])


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module) and node.body:
            value = getattr(node.body[0], "value", None)
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value


def compile_dedented():
    loader = importlib.machinery.SourceFileLoader
    usual = loader.source_to_code

    def source_to_code(self, data, path, *, _optimize=-1):
        if not self.name.startswith("compatgrad"):
            return usual(self, data, path, _optimize=_optimize)
        tree = ast.parse(data, path)
        for value in docstrings(tree):
            value.value = without_margin(value.value)
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)

    loader.source_to_code = source_to_code


def described():
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"compatgrad.{name}")
        for key in dir(module):
            thing = getattr(module, key)
            if not key.startswith("_") and callable(thing) and isinstance(thing.__doc__, str):
                found[f"{name}.{key}"] = inspect.cleandoc(thing.__doc__).rstrip()
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.dont_write_bytecode, sys.pycache_prefix = True, folder  # compiled files of usual imports are not used
        if sys.argv[1:] == ["dedent"]:
            compile_dedented()
        print(json.dumps(described()))
