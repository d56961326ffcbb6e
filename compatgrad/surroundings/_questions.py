"""Which lines of a program expect that a name is absent.

A program that was written for both the old and the new library contains a question:
`try: from scipy.misc import imread; except ImportError: ...`, `hasattr(np, "float")`. Today's library answers it.
"""

from __future__ import annotations

import ast
import linecache
from types import FrameType
from typing import Any

_MISSING = {"AttributeError", "ImportError", "ModuleNotFoundError"}
_ANY = {"Exception", "BaseException"}


class _Questions(ast.NodeVisitor):
    """Collects the lines of a file at which an absent name is expected."""

    def __init__(self) -> None:
        self.guarded: set[int] = set()
        self.asked: dict[int, set[str]] = {}

    def visit_Try(self, node: ast.Try) -> None:
        if any(_answers(handler, node.body) for handler in node.handlers):
            for statement in node.body:
                self._guard(statement)
        self.generic_visit(node)

    def _guard(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return  # it runs at another time
        if isinstance(node, (ast.stmt, ast.expr)):
            first = getattr(node, "lineno", 0)
            last = first if _has_body(node) else getattr(node, "end_lineno", None) or first
            self.guarded.update(range(first, last + 1))
        for child in ast.iter_child_nodes(node):
            self._guard(child)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        if (function == "hasattr" and len(node.args) == 2) or (function == "getattr" and len(node.args) == 3):
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    self.asked.setdefault(line, set()).add(name.value)
        self.generic_visit(node)


def _has_body(node: ast.AST) -> bool:
    return isinstance(getattr(node, "body", None), list)


def _answers(handler: ast.ExceptHandler, body: list[ast.stmt]) -> bool:
    """Whether the handler goes on without the name. One that ends the program does not."""
    if any(isinstance(statement, ast.Raise) or _ends(statement) for statement in handler.body):
        return False
    if handler.type is None:
        names = {"Exception"}
    else:
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names = {ast.unparse(one).rpartition(".")[2] for one in types}
    if names & _MISSING:
        return True
    # `except Exception` around more than the question is for other errors
    simple = (ast.Import, ast.ImportFrom, ast.Assign, ast.Pass)
    return bool(names & _ANY) and all(isinstance(statement, simple) for statement in body)


def _ends(statement: ast.stmt) -> bool:
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    return ast.unparse(statement.value.func).rpartition(".")[2] in ("exit", "_exit", "quit")


_questions: dict[str, _Questions] = {}


def _read(file: str, module: dict[str, Any]) -> _Questions:
    questions = _Questions()
    source = "".join(linecache.getlines(file, module))
    try:
        questions.visit(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):  # a notebook's cell with magics, source that is not there
        pass
    return questions


def expects_absence(frame: FrameType, name: str) -> bool:
    """Whether the line that asks has an answer to the name's absence."""
    file = frame.f_code.co_filename
    if file not in _questions:
        _questions[file] = _read(file, frame.f_globals)
    questions, line = _questions[file], frame.f_lineno
    return line in questions.guarded or name in questions.asked.get(line, ())
