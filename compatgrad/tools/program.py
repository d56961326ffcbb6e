"""`python -m compatgrad run`: runs a program as plain `python` would, with compatgrad's frontends in place of the
originals."""

from __future__ import annotations

import builtins
import io
import os
import pkgutil
import runpy
import sys
import zipfile
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from compatgrad import surroundings
from compatgrad._install import install_with
from compatgrad.names import absent

_run_module_as_main = runpy._run_module_as_main  # type: ignore[attr-defined]  # `python -m` itself calls this


class UsageError(Exception):
    """The command line does not say what to run, or is wrong."""


def run(arguments: list[str], as_of: int | str = "auto", allow_pickle: bool = False) -> None:
    """Runs the program that `arguments` name, as `python` would with the same arguments. The program's exceptions are
    passed on. `as_of`: as for `compatgrad.install`; `allow_pickle`: as for `compatgrad.surroundings.activate`."""
    if not arguments:
        raise UsageError("name a script, -m MODULE or -c CODE")
    what, rest = arguments[0], arguments[1:]
    option = what[:2] if what[:2] in ("-m", "-c") else None
    if option and what != option:  # -mMODULE
        what, rest = option, [what[2:], *rest]
    if option and not rest:
        raise UsageError(f"{option} needs an argument")
    if option is None and what.startswith("-") and what != "-":
        raise UsageError(f"unknown option {what}; options of Python itself go before `-m compatgrad`")
    install_with((), as_of, "--as-of off", allow_pickle=allow_pickle)
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    if "__annotations__" in vars(sys.modules["__main__"]):  # Python before 3.14
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    if option == "-m":
        _run_module(rest[0], rest[1:])
    elif option == "-c":
        _run_code(rest[0], rest[1:], main)
    elif what == "-":
        main.__dict__["__file__"] = "<stdin>"
        source = sys.stdin.buffer.read()
        surroundings.remember("<stdin>", source)
        _run_code(source, rest, main, "<stdin>")
    else:
        _run_script(what, rest, main)


def _sets_path() -> bool:
    """Whether Python puts a script's folder first on the path, and so has put compatgrad's there."""
    return not getattr(sys.flags, "safe_path", sys.flags.isolated)


def _set_path(folder: str) -> None:
    if _sets_path():
        sys.path[0] = folder


def _run_script(script: str, arguments: list[str], main: ModuleType) -> None:
    sys.argv[:] = [script, *arguments]
    if os.path.isdir(script) or zipfile.is_zipfile(script):
        if _sets_path():
            del sys.path[0]
        sys.path.insert(0, os.path.join(os.getcwd(), script))
        _without_own_frames(lambda: _run_module_as_main("__main__", alter_argv=False))
        return
    path = os.path.join(os.getcwd(), script)
    try:
        with io.open_code(path) as file:
            code: CodeType | None = pkgutil.read_code(file)
            source = b"" if code or file.seek(0) else file.read()
    except OSError as error:
        text = f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}"
        print(text, file=sys.stderr)
        raise SystemExit(2) from None
    year = surroundings.active()
    before_39 = isinstance(year, int) and year <= 2020  # Python's __file__ was what the command line said
    main.__dict__.update(
        __file__=script if before_39 else path, __cached__=None, __loader__=SourceFileLoader("__main__", path)
    )
    _set_path(os.path.dirname(os.path.realpath(script)))
    _execute(code or source, path, main)


def _run_code(code: str | bytes, arguments: list[str], main: ModuleType, name: str = "<string>") -> None:
    sys.argv[:] = ["-c" if name == "<string>" else "-", *arguments]
    _set_path("")
    _execute(code, name, main)


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv[:] = ["-m", *arguments]
    _set_path(os.getcwd())
    _without_own_frames(lambda: _run_module_as_main(name))


def _execute(code: CodeType | str | bytes, name: str, main: ModuleType) -> None:
    def body() -> None:
        compiled = code if isinstance(code, CodeType) else compile(code, name, "exec", dont_inherit=True)
        exec(compiled, main.__dict__)

    _without_own_frames(body)


def _without_own_frames(body: Callable[[], None]) -> None:
    """Calls `body`. Python itself reports its exceptions, but without the frames of compatgrad above `body`.

    The traceback is cut when it is reported and not here, because raising again would add these frames again.
    """
    try:
        body()
    except SystemExit:
        raise
    except BaseException as error:
        raised, traceback = error, error.__traceback__
        own = (sys._getframe().f_code, body.__code__)
        while traceback and traceback.tb_frame.f_code in own:
            traceback = traceback.tb_next
        hook = sys.excepthook

        def report(kind: type[BaseException], value: BaseException, _: TracebackType | None) -> None:
            if value is raised:
                value.__traceback__ = sys.last_traceback = surroundings.without_own_frames(traceback)
            hook(kind, value, value.__traceback__)
            old = isinstance(value, Exception) and surroundings.active() != "off"
            advice = (surroundings.advice(value) if old else None) or absent.advice(value)
            if advice and sys.stderr is not None:
                print(f"compatgrad: {advice}", file=sys.stderr)

        sys.excepthook = report
        raise
