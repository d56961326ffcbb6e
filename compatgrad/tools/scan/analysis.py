"""Finds the uses of the originals' names in a program's tree. Nothing of the program is executed."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable

from compatgrad.names import database, table
from compatgrad.tools.scan.findings import FileResult
from compatgrad.tools.scan.judge import Judge
from compatgrad.tools.scan.program import Program
from compatgrad.tools.scan.values import (
    VARIABLES,
    Instance,
    Named,
    Own,
    OwnModule,
    Scope,
    UserClass,
    Value,
    method_result,
    result,
    self_name,
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_GUARDS = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException", "NameError"}


class Analysis:
    """Walks the trees of one file, and tells a `Judge` about every use."""

    def __init__(self, found: FileResult, judge: Judge, program: Program | None = None) -> None:
        self.found, self.judge, self.program = found, judge, program
        self.module = Scope()
        self.scope = self.module
        self.conditional = 0  # in how many branches the statement is
        self.own: UserClass | None = None  # the class whose method is walked
        self.later: deque[Callable[[], None]] = deque()

    def run(self, trees: list[tuple[ast.Module, int | None]], lines: list[list[str]]) -> None:
        """Walks the trees in order: the cells of a notebook share their names."""
        for (tree, cell), own_lines in zip(trees, lines, strict=True):
            self.judge.start(own_lines, cell)
            self.body(tree.body)
            while self.later:
                self.later.popleft()()

    def top(self, trees: list[tuple[ast.Module, int | None]], lines: list[list[str]]) -> None:
        """Walks what is outside of functions: it says what the module's names mean."""
        for (tree, cell), own_lines in zip(trees, lines, strict=True):
            self.judge.start(own_lines, cell)
            self.body(tree.body)

    # -- statements

    def body(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            handler = _STATEMENTS.get(type(statement))
            if handler is not None:
                handler(self, statement)
            else:
                self.children(statement)

    def branch(self, statements: list[ast.stmt], guarded: bool = False) -> None:
        self.conditional += 1
        self.judge.guarded += guarded
        self.body(statements)
        self.judge.guarded -= guarded
        self.conditional -= 1

    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            own = self.program.module(bound) if self.program else None
            if own is None and self.program and "." in alias.name and self.program.lacks(alias.name):
                self.judge.own_module(alias.name, alias)
            elif own is None:
                self.judge.module(alias.name, alias)
            self.scope.set(alias.asname or bound, own or Named(bound), bool(self.conditional))

    def import_from(self, node: ast.ImportFrom) -> None:
        own = self.program.module(node.module or "", node.level) if self.program else None
        if own is None and node.module and self.program and (node.level or "." in node.module):
            if self.program.lacks(node.module, node.level):
                self.judge.own_module("." * node.level + node.module, node)
        if own is not None or node.level or node.module is None:
            self.import_own(node, own)
            return
        known = self.judge.module(node.module, node, bound=False)
        for alias in node.names:
            if alias.name == "*":
                for name, entry in database.names_in(node.module).items():
                    if not name.startswith("_") and entry[0] != "x":
                        self.scope.set(name, Named(f"{node.module}.{name}"), True)
                continue
            name = f"{node.module}.{alias.name}"
            if known:
                self.judge.name(name, alias)
            self.scope.set(alias.asname or alias.name, Named(name), bool(self.conditional))

    def import_own(self, node: ast.ImportFrom, module: OwnModule | None) -> None:
        """`from .common import *`: names of another module of the program mean what they mean there."""
        names = self.program.names(module) if self.program and module else {}
        for alias in node.names:
            if alias.name == "*":
                for name, value in names.items():
                    if not name.startswith("_"):
                        self.scope.set(name, value, True)
                continue
            value = names.get(alias.name)
            if value is None and self.program:  # a module of the package
                value = self.program.module(".".join(filter(None, (node.module, alias.name))), node.level)
            self.scope.set(alias.asname or alias.name, value, bool(self.conditional))

    def class_(self, node: ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            self.value(decorator)
        for keyword in node.keywords:
            self.value(keyword.value)
        info = UserClass(node.name)
        for base in node.bases:
            value = self.value(base)
            if isinstance(value, UserClass):
                info.parents.append(value)
            elif isinstance(value, Named) and database.is_class(value.name):
                info.bases.append(value.name)
            else:
                info.unknown_base = True
        info.methods = {
            n.name for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        }
        info.assigned = {
            t.id for n in node.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
        }
        if info.frontend_bases():
            stores = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
            info.assigned |= {n.attr for n in stores if isinstance(n.value, ast.Name)}
        self.scope.set(node.name, info, bool(self.conditional))
        outer, self.scope = self.scope, Scope(self.scope, is_class=True)
        outer_own, self.own = self.own, info
        self.body(sorted(node.body, key=lambda n: getattr(n, "name", "") != "__init__"))
        self.own, self.scope = outer_own, outer

    def function(self, node: _Function) -> None:
        for decorator in node.decorator_list:
            self.value(decorator)
        arguments = node.args
        for default in [*arguments.defaults, *arguments.kw_defaults]:
            if default is not None:
                self.value(default)
        method_of = self.own if self.scope.is_class else None
        if not self.scope.is_class:
            self.scope.set(node.name, None, bool(self.conditional))
        scope = Scope(self.scope)
        names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        scope.names = dict.fromkeys(a.arg for a in names if a is not None)
        if method_of is not None and (own := self_name(node)):
            scope.names[own] = Own(method_of)
            if node.name == "hybrid_forward" and len(arguments.args) > 1:
                scope.names[arguments.args[1].arg] = Named("mxnet.ndarray")
        guarded, own_class, cell = self.judge.guarded, method_of or self.own, self.judge.cell
        state = self.judge.state()

        def walk() -> None:
            self.scope, self.own, self.conditional = scope, own_class, 0
            self.judge.restore(state)
            self.judge.guarded = guarded
            self.body(node.body)

        assert cell == self.judge.cell
        self.later.append(walk)

    def assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value, node.value)

    def annotated(self, node: ast.AnnAssign) -> None:
        self.value(node.annotation)
        self.bind(node.target, self.value(node.value) if node.value else None)

    def augmented(self, node: ast.AugAssign) -> None:
        value = self.value(node.value)
        if isinstance(node.target, ast.Name):
            before = self.scope.get(node.target.id)
            value = value if isinstance(value, Instance) and value.cls in VARIABLES else before
            self.scope.set(node.target.id, value if isinstance(value, Instance) else None, bool(self.conditional))
        else:
            self.value(node.target)

    def bind(self, target: ast.expr, value: Value, source: ast.expr | None = None) -> None:
        if isinstance(target, ast.Name):
            self.scope.set(target.id, value, bool(self.conditional))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts)
            for i, element in enumerate(target.elts):
                part = source.elts[i] if pairs else None  # type: ignore[union-attr]
                self.bind(element, self.quietly(part) if part is not None else None, part)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None)
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if isinstance(owner, Own) and (value is not None or target.attr not in owner.cls.attributes):
                if value is not None:
                    owner.cls.attributes[target.attr] = value
            elif isinstance(owner, Instance):
                self.judge.member(owner, target.attr, target, store=True)
        else:
            self.value(target)

    def quietly(self, node: ast.expr) -> Value:
        """The value of an expression that was walked before."""
        self.judge.quiet += 1
        value = self.value(node)
        self.judge.quiet -= 1
        return value

    def if_(self, node: ast.If) -> None:
        self.value(node.test)
        self.branch(node.body, _asks(node.test))
        self.branch(node.orelse, _asks(node.test))

    def for_(self, node: ast.For | ast.AsyncFor) -> None:
        self.value(node.iter)
        self.bind(node.target, None)
        self.branch(node.body)
        self.branch(node.orelse)

    def while_(self, node: ast.While) -> None:
        self.value(node.test)
        self.branch(node.body)
        self.branch(node.orelse)

    def try_(self, node: ast.Try) -> None:
        guarded = any(_catches(handler) for handler in node.handlers)
        self.judge.guarded += guarded
        self.body(node.body)
        self.judge.guarded -= guarded
        for handler in node.handlers:
            if handler.name:
                self.scope.set(handler.name, None, True)
            self.branch(handler.body)
        self.branch(node.orelse)
        self.body(node.finalbody)

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value if isinstance(value, Instance) else None)
        self.body(node.body)

    # -- expressions

    def value(self, node: ast.expr) -> Value:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            return handler(self, node)
        self.children(node)
        return None

    def children(self, node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.stmt):
                self.body([child])
            else:
                self.children(child)

    def name(self, node: ast.Name) -> Value:
        value = self.scope.get(node.id)
        if type(value) is Named:
            return self.judge.chain(value, [], node)
        return value

    def attribute(self, node: ast.Attribute, call: ast.Call | None = None) -> Value:
        attributes = [node.attr]
        nodes = [node]
        root = node.value
        while type(root) is ast.Attribute:
            attributes.append(root.attr)
            nodes.append(root)
            root = root.value
        value = self.scope.get(root.id) if type(root) is ast.Name else self.value(root)
        while type(value) is OwnModule and attributes and self.program:
            value = self.program.attribute(value, attributes.pop())
            nodes.pop()
        if type(value) is Named:
            return self.judge.chain(value, attributes[::-1], node, call)
        if not nodes:
            return value
        for at in reversed(nodes):
            last = at is node
            value = self.member(value, at, call if last else None)
            if value is None and not last:
                break
        return value

    def member(self, value: Value, node: ast.Attribute, call: ast.Call | None) -> Value:
        if isinstance(value, Own):
            if value.cls.has(node.attr) and not value.up:
                return value.cls.value(node.attr)
            for base in value.cls.certain_bases() if value.up else value.cls.frontend_bases():
                if database.find(f"{base}.{node.attr}") or node.attr == "__init__":
                    self.judge.member(Instance(base), node.attr, node, call)
                    break
            return None
        if isinstance(value, Instance):
            self.judge.member(value, node.attr, node, call)
            return method_result(value.cls, node.attr) if call is not None else None
        if isinstance(value, UserClass):
            for base in value.frontend_bases() if not value.has(node.attr) else ():
                if database.find(f"{base}.{node.attr}"):
                    self.judge.member(Instance(base), node.attr, node)
                    break
            return None
        self.judge.unknown_receiver(node)
        return None

    def call(self, node: ast.Call) -> Value:
        function = node.func
        if type(function) is ast.Attribute:
            value = self.attribute(function, node)
            made = isinstance(value, Instance) and value.cls in VARIABLES and isinstance(function.value, ast.expr)
            if isinstance(value, Instance) and not made and isinstance(self.quietly(function.value), Own):
                self.judge.link(value, node)
        elif type(function) is ast.Name:
            value = self.scope.get(function.id)
            made = False
            if function.id == "getattr" and value is None:
                return self.getattr_(node)
            if function.id == "super" and value is None and self.own is not None:
                return Own(self.own, up=True)
            if type(value) is Named:
                value = self.judge.chain(value, [], function, node)
            elif type(value) is Instance:
                self.judge.link(value, node)
        else:
            value = self.value(function)
            made = False
        for argument in node.args:
            self.value(argument)
        builds = self.own if type(function) is ast.Attribute and function.attr == "__init__" else None
        for keyword in node.keywords:
            given = self.value(keyword.value)
            if builds is not None and keyword.arg and isinstance(given, Instance):  # Chain makes links of its keywords
                builds.attributes.setdefault(keyword.arg, given)
                builds.assigned.add(keyword.arg)
        if made:
            return value  # the value that the method gives
        return result(value)

    def getattr_(self, node: ast.Call) -> Value:
        """`getattr(F, "relu")` is `F.relu`; of other names nobody knows."""
        value = self.quietly(node.args[0]) if node.args else None
        name = node.args[1] if len(node.args) > 1 else None
        for argument in node.args[2:]:
            self.value(argument)
        if isinstance(value, Named) and _is_frontend(value.name):
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.judge.guarded += len(node.args) > 2
                found = self.judge.chain(value, [name.value], node)
                self.judge.guarded -= len(node.args) > 2
                return found
            self.judge.unresolved(value.name, node)
        for argument in node.args[:2]:
            self.value(argument)
        return None

    def operator(self, node: ast.BinOp) -> Value:
        for value in (self.value(node.left), self.value(node.right)):
            if isinstance(value, Instance) and value.cls in VARIABLES:
                return Instance(value.cls, True)
        return None

    def unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        return value if isinstance(value, Instance) and value.cls in VARIABLES else None

    def subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        self.value(node.slice)
        return Instance(value.cls, True) if isinstance(value, Instance) and value.cls in VARIABLES else None

    def conditional_expression(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        first, second = self.value(node.body), self.value(node.orelse)
        return first if first is not None else second

    def either(self, node: ast.BoolOp) -> Value:
        return next((v for v in [self.value(n) for n in node.values] if v is not None), None)

    def inner(self, node: ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> Value:
        outer, self.scope = self.scope, Scope(self.scope)
        if isinstance(node, ast.Lambda):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            self.scope.names = dict.fromkeys(a.arg for a in arguments)
            self.value(node.body)
        else:
            for generator in node.generators:
                self.value(generator.iter)
                self.bind(generator.target, None)
                for test in generator.ifs:
                    self.value(test)
            for part in (getattr(node, key, None) for key in ("elt", "key", "value")):
                if part is not None:
                    self.value(part)
        self.scope = outer
        return None

    def constant(self, node: ast.Constant) -> Value:
        return None


def _is_frontend(name: str) -> bool:
    return name.partition(".")[0] in table.FRONTENDS


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)}
    return bool(names & _GUARDS)


def _asks(test: ast.expr) -> bool:
    """Whether a condition asks if a name exists, or for a version."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name) and node.id in ("hasattr", "PY2", "PY3"):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("__version__", "version_info", "PY2", "PY3"):
            return True
    return False


_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Import: Analysis.import_,
    ast.ImportFrom: Analysis.import_from,
    ast.ClassDef: Analysis.class_,
    ast.FunctionDef: Analysis.function,
    ast.AsyncFunctionDef: Analysis.function,
    ast.Assign: Analysis.assign,
    ast.AnnAssign: Analysis.annotated,
    ast.AugAssign: Analysis.augmented,
    ast.If: Analysis.if_,
    ast.For: Analysis.for_,
    ast.AsyncFor: Analysis.for_,
    ast.While: Analysis.while_,
    ast.Try: Analysis.try_,
    ast.With: Analysis.with_,
    ast.AsyncWith: Analysis.with_,
}
_EXPRESSIONS: dict[type, Callable[..., Value]] = {
    ast.Name: Analysis.name,
    ast.Attribute: Analysis.attribute,
    ast.Call: Analysis.call,
    ast.BinOp: Analysis.operator,
    ast.UnaryOp: Analysis.unary,
    ast.Subscript: Analysis.subscript,
    ast.IfExp: Analysis.conditional_expression,
    ast.BoolOp: Analysis.either,
    ast.Constant: Analysis.constant,
    ast.Lambda: Analysis.inner,
    ast.ListComp: Analysis.inner,
    ast.SetComp: Analysis.inner,
    ast.DictComp: Analysis.inner,
    ast.GeneratorExp: Analysis.inner,
}
