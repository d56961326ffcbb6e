"""Imports of programs that are written in Python 2, translated by the standard library's `lib2to3`."""

import importlib.machinery
import sys
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from lib2to3 import pgen2, refactor

FIXERS = ("print", "xrange", "dict", "except", "has_key", "raise", "raw_input", "unicode", "basestring", "reduce")


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, **options):
        tool = refactor.RefactoringTool([f"lib2to3.fixes.fix_{name}" for name in FIXERS])
        try:
            data = str(tool.refactor_string(importlib.util.decode_source(data) + "\n", path))
        except pgen2.parse.ParseError:
            pass  # it is Python 3 already
        return super().source_to_code(data, path, **options)


def translate(run):
    """Translate the modules in the program's folders as they are imported."""
    finder = importlib.machinery.FileFinder.path_hook((_Loader, [".py"]))

    def hook(path):
        if not path.startswith(str(run.repo)):
            raise ImportError(path)
        return finder(path)

    sys.path_hooks.insert(0, hook)
    sys.path_importer_cache.clear()
