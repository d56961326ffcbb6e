"""`%load_ext compatgrad`: the frontends in a notebook, and the tools as magics.

    %compatgrad_report                                   the report of what ran since the first %compatgrad_report
    %%compatgrad_report                                  the report of a cell
    %%compatgrad_profile --steps 5 --by layer            a cell's training steps
    %compatgrad_profile --stop -- train.py               a program's training steps, in a process of its own
    %compatgrad_verify --original PYTHON -- train.py     a program beside the original
    %%compatgrad_verify --original PYTHON                the same for a cell, as a program of its own

The tools are imported when a magic is used. IPython is not needed: any object with `register_magic_function`,
`user_ns` and, for cells, `transform_cell` serves as the shell.
"""

from __future__ import annotations

import importlib
import linecache
import os
import shlex
import subprocess
import sys
import tempfile
from html import escape
from typing import Any

from compatgrad._install import install, uninstall

_MAGICS = {"compatgrad_report": "report", "compatgrad_profile": "profile", "compatgrad_verify": "verify"}
_count = 0  # cells that were run by a magic


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext compatgrad`: installs the frontends, and registers the magics."""
    install()
    if ipython is not None:
        for name, method in _MAGICS.items():
            ipython.register_magic_function(getattr(_Magics(ipython), method), "line_cell", name)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext compatgrad`."""
    uninstall()
    manager = getattr(ipython, "magics_manager", None)
    if manager is not None:
        for name in _MAGICS:
            for kind in ("line", "cell"):
                manager.magics[kind].pop(name, None)


class Shown:
    """A result that a notebook shows as HTML, and a terminal as text."""

    def __init__(self, text: str, html: str) -> None:
        self.text, self.html = text, html

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def _framed(text: str, page: str) -> Shown:
    """A whole page, in a frame, because the page's style is not that of the notebook."""
    return Shown(text, f'<iframe srcdoc="{escape(page)}" style="width:100%;height:640px;border:0"></iframe>')


def _of(report: Any) -> Shown:
    """A report as it is now."""
    return Shown(str(report), report._repr_html_())


class _Magics:
    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def report(self, line: str, cell: str | None = None) -> Any:
        """%compatgrad_report: what ran where, and which calls were slow, since the first call; `stop` ends it.

        %%compatgrad_report does so for the cell."""
        control = importlib.import_module("compatgrad.tools.report.control")
        module = importlib.import_module("compatgrad.tools.report")
        if line.strip() not in ("", "stop") or (cell is not None and line.strip()):
            print(f"%compatgrad_report: expected nothing or stop, got {line.strip()!r}", file=sys.stderr)
            return None
        if cell is not None:
            with module.report() as report:
                self._run(cell)
            return _of(report)
        running = control.running()
        if line.strip() == "stop":
            if running is None:
                print("no report has begun")
                return None
            report = module.Report(running)
            report.stop()
            return _of(report)
        if running is None:
            module.report()
            print("The report begins here. %compatgrad_report shows what ran; %compatgrad_report stop ends it.")
            return None
        return _of(module.Report(running))

    def profile(self, line: str, cell: str | None = None) -> Any:
        """%%compatgrad_profile [--steps N] [--warmup N] [--by op|layer|line] ...: times the training steps of the cell.

        %compatgrad_profile [OPTION ...] -- train.py runs a program in a process of its own."""
        if cell is None:
            return self._command("profile", shlex.split(line))
        profile = importlib.import_module("compatgrad.tools.profile")
        try:
            return profile.profile_call(shlex.split(line), lambda: self._run(cell), _framed)
        except SystemExit as stopped:  # argparse has said what is wrong
            if stopped.code not in (0, 2):
                raise
            return None

    def verify(self, line: str, cell: str | None = None) -> Any:
        """%compatgrad_verify --original PYTHON -- train.py: says where the program differs from the original.

        %%compatgrad_verify --original PYTHON takes the cell for the program; it must not need other cells."""
        options = shlex.split(line)
        if cell is None:
            return self._command("verify", options)
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "cell.py")
            with open(script, "w", encoding="utf-8") as file:
                file.write(self._python(cell))
            return self._command("verify", [*options, "--", script])

    def _command(self, name: str, arguments: list[str]) -> None:
        """Runs a command in another process, and prints what it says as it says it."""
        command = [sys.executable, "-m", "compatgrad", name, *arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        try:
            for each in process.stdout:
                print(each, end="")
        finally:
            process.stdout.close()
            if sys.exc_info()[0] is not None:  # Ctrl-C in the notebook
                process.terminate()
            process.wait()

    def _python(self, cell: str) -> str:
        transform = getattr(self.shell, "transform_cell", None)
        return cell if transform is None else str(transform(cell))

    def _run(self, cell: str) -> None:
        """Runs a cell among the variables of the notebook."""
        global _count
        _count += 1
        code, name = self._python(cell), f"<cell {_count}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)  # for tracebacks and tables
        exec(compile(code, name, "exec"), self.shell.user_ns)
