"""Which lines of a program expect that a name is absent.

A program that was written for both the old and the new library contains a question:
`try: from scipy.misc import imread; except ImportError: ...`, `hasattr(np, "float")`. Today's library answers it.
"""

from __future__ import annotations

import ast
import linecache
from types import FrameType
from typing import Any

_IMPORT, _ATTRIBUTE = "import", "attribute"
_ERRORS = {"ImportError": _IMPORT, "ModuleNotFoundError": _IMPORT, "AttributeError": _ATTRIBUTE}
_ANY = {"Exception", "BaseException"}


class _Questions(ast.NodeVisitor):
    """Collects the lines of a file at which an absent name is expected."""

    def __init__(self) -> None:
        self.guarded: dict[int, set[str]] = {}  # line -> what may be absent in it
        self.asked: dict[int, set[str]] = {}  # line -> names

    def visit_Try(self, node: ast.Try) -> None:
        expected: set[str] = set()
        for handler in node.handlers:
            expected |= _answers(handler, node.body)
        if expected:
            for statement in node.body:
                self._guard(statement, expected)
        self.generic_visit(node)

    def _guard(self, node: ast.AST, expected: set[str]) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return  # it runs at another time
        if isinstance(node, (ast.stmt, ast.expr)):
            last = node.lineno if isinstance(getattr(node, "body", None), list) else node.end_lineno or node.lineno
            imports = isinstance(node, (ast.Import, ast.ImportFrom))
            for line in range(node.lineno, last + 1):
                # an attribute that is imported is missed by an ImportError
                self.guarded.setdefault(line, set()).update({_IMPORT, _ATTRIBUTE} & expected)
                if imports and _IMPORT in expected:
                    self.guarded[line].add(_ATTRIBUTE)
        for child in ast.iter_child_nodes(node):
            self._guard(child, expected)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if (function == "hasattr" and len(node.args) == 2) or (function == "getattr" and len(node.args) == 3):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.asked.setdefault(line, set()).add(name.value)
        self.generic_visit(node)


def _answers(handler: ast.ExceptHandler, body: list[ast.stmt]) -> set[str]:
    """What the handler goes on without, if it is absent. One that ends the program does not go on."""
    if any(isinstance(statement, ast.Raise) or _ends(statement) for statement in handler.body):
        return set()
    if handler.type is None:
        names = {"BaseException"}
    else:
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {ast.unparse(one).rpartition(".")[2] for one in types}
    expected = {_ERRORS[name] for name in names if name in _ERRORS}
    # `except Exception` around more than the question is for other errors
    simple = (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass)
    if names & _ANY and all(isinstance(statement, simple) for statement in body):
        expected |= {_IMPORT, _ATTRIBUTE}
    return expected


def _ends(statement: ast.stmt) -> bool:
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    return ast.unparse(statement.value.func).rpartition(".")[2] in ("exit", "_exit", "quit")


_questions: dict[str, _Questions] = {}
sources: dict[str, str | bytes] = {}  # of programs that are in no file


def _read(file: str, module: dict[str, Any]) -> _Questions:
    questions = _Questions()
    try:
        questions.visit(ast.parse(sources.get(file) or "".join(linecache.getlines(file, module))))
    except (SyntaxError, ValueError, RecursionError):  # a notebook's cell with magics, source that is not there
        pass
    return questions


def expects_absence(frame: FrameType, name: str, is_module: bool) -> bool:
    """Whether the line that asks has an answer to the absence of the name."""
    file = frame.f_code.co_filename
    if file not in _questions:
        _questions[file] = _read(file, frame.f_globals)
    questions, line = _questions[file], frame.f_lineno
    guarded = questions.guarded.get(line, ())
    return (_IMPORT if is_module else _ATTRIBUTE) in guarded or name in questions.asked.get(line, ())
