"""What names that Python's standard library removed did."""

from __future__ import annotations

import configparser
import html
import inspect
import locale
import os
import platform
import time
import unittest
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


def clock() -> float:
    """Seconds that this process has computed; on Windows, seconds since the first call."""
    if os.name == "nt":
        return time.perf_counter() - _FIRST
    return time.process_time()


_FIRST = time.perf_counter()


def linux_distribution(*_: Any, **__: Any) -> tuple[str, str, str]:
    """Name, version and code name of the distribution; empty words, if they are unknown."""
    try:
        facts = platform.freedesktop_os_release()
    except OSError:
        return "", "", ""
    return facts.get("NAME", ""), facts.get("VERSION_ID", ""), facts.get("VERSION_CODENAME", "")


def dist(*_: Any, **__: Any) -> tuple[str, str, str]:
    try:
        identity = platform.freedesktop_os_release().get("ID", "")
    except OSError:
        identity = ""
    return (identity, *linux_distribution()[1:])


def cgi_escape(s: str, quote: bool = False) -> str:
    text = s.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quote else text


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor of two numbers, with the sign of `b`."""
    while b:
        a, b = b, a % b
    return a


def unescape(self: Any, s: str) -> str:
    return html.unescape(s)


class ArgSpec(NamedTuple):
    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    found = inspect.getfullargspec(func)
    if found.kwonlyargs or found.annotations:
        raise ValueError(
            "Function has keyword-only parameters or annotations, use inspect.signature() API which can support them"
        )
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def formatargspec(
    args: Iterable[Any],
    varargs: str | None = None,
    varkw: str | None = None,
    defaults: tuple[Any, ...] | None = None,
    kwonlyargs: Iterable[str] = (),
    kwonlydefaults: dict[str, Any] | None = None,
    annotations: dict[str, Any] | None = None,
    formatarg: Callable[[str], str] = str,
    formatvarargs: Callable[[str], str] = lambda name: "*" + name,
    formatvarkw: Callable[[str], str] = lambda name: "**" + name,
    formatvalue: Callable[[Any], str] = lambda value: "=" + repr(value),
    formatreturns: Callable[[str], str] = lambda text: " -> " + text,
    formatannotation: Callable[[Any], str] = inspect.formatannotation,
) -> str:
    """The arguments that `getfullargspec` returns as they are written in a definition."""
    notes, values = annotations or {}, kwonlydefaults or {}

    def noted(name: str) -> str:
        text = formatarg(name)
        return f"{text}: {formatannotation(notes[name])}" if name in notes else text

    names = list(args)
    first_default = len(names) - len(defaults or ())
    parts = [
        noted(name) + (formatvalue((defaults or ())[at - first_default]) if at >= first_default else "")
        for at, name in enumerate(names)
    ]
    only = list(kwonlyargs)
    if varargs is not None:
        parts.append(formatvarargs(noted(varargs)))
    elif only:
        parts.append("*")
    parts += [noted(name) + (formatvalue(values[name]) if name in values else "") for name in only]
    if varkw is not None:
        parts.append(formatvarkw(noted(varkw)))
    returns = formatreturns(formatannotation(notes["return"])) if "return" in notes else ""
    return f"({', '.join(parts)}){returns}"


def readfp(self: configparser.RawConfigParser, fp: Iterable[str], filename: str | None = None) -> None:
    self.read_file(fp, source=filename)


def locale_format(percent: str, value: Any, grouping: bool = False, monetary: bool = False, *additional: Any) -> str:
    return locale.format_string(percent, (value, *additional) if additional else value, grouping, monetary)


def make_suite(
    testCaseClass: type[unittest.TestCase],
    prefix: str = "test",
    sortUsing: Callable[[str, str], int] | None = None,
    suiteClass: Callable[..., unittest.TestSuite] = unittest.TestSuite,
) -> unittest.TestSuite:
    loader = unittest.TestLoader()
    loader.testMethodPrefix, loader.suiteClass = prefix, suiteClass
    if sortUsing:
        loader.sortTestMethodsUsing = sortUsing
    return loader.loadTestsFromTestCase(testCaseClass)
