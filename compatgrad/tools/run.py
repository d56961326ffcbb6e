"""`python -m compatgrad run`: runs a program with compatgrad's frontends in place of the originals."""

from __future__ import annotations

import os
import sys

from compatgrad import surroundings
from compatgrad.tools.program import UsageError, run

HELP = """\
usage: python -m compatgrad run SCRIPT [ARGUMENT ...]      a script
       python -m compatgrad run -m MODULE [ARGUMENT ...]   a module, as in `python -m`
       python -m compatgrad run -c CODE [ARGUMENT ...]     a piece of code, as in `python -c`
       python -m compatgrad run - [ARGUMENT ...]           a program on standard input

Runs the program with compatgrad's chainer, nnabla and mxnet in place of the originals.

Everything after SCRIPT, MODULE or CODE belongs to the program. Python's own options go before -m:
`python -u -X dev -m compatgrad run train.py --epoch 3`. Processes that the program starts by
multiprocessing get the same imports; processes started by another command need
`-m compatgrad run` in that command.

options, in front of SCRIPT, -m, -c or -:
  --as-of=YEAR        let the program find names that libraries had in that year and have removed
                      since (np.float, collections.Iterable, scipy.misc.imread, ...). With `auto`,
                      the default, it finds all of them for which it asks, with `off` none
  --allow-pickle      let the program's np.load unpickle without allow_pickle=True, as before NumPy
                      1.16.3. Only for files that you trust: a pickle can run any code
  --report[=FILE]     print at exit, on stderr, what ran where, which calls took a slow path and
                      why, and what differs from the original; or write this to FILE, whose name
                      ends in .json, .html or .txt and may contain {pid} and {rank}
  --strict=KINDS      raise an error at the first event of these kinds, separated by commas: slow,
                      transfer (between devices), deviation (docs/deviations.md)

environment:
  COMPATGRAD_REPORT   1 or FILE, as --report; also for the processes of a launcher
  COMPATGRAD_STRICT   as --strict
"""

# option -> whether its value is required ("--name=VALUE" or "--name VALUE") or may be left out ("--name[=VALUE]")
_OPTIONS = {"--allow-pickle": False, "--as-of": True, "--report": False, "--strict": True}


def main(arguments: list[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(HELP, end="")
        return 0
    try:
        given, program = _split(arguments)
        as_of = _year(given.get("--as-of", "auto"))
        if given.get("--allow-pickle"):
            raise UsageError(f"--allow-pickle takes no value, got {given['--allow-pickle']!r}")
        _report(given)
        run(program, as_of, "--allow-pickle" in given)
    except UsageError as error:
        print(f"compatgrad run: {error}; see `python -m compatgrad run --help`", file=sys.stderr)
        return 2
    return 0


def _split(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options before the program, and the program with its arguments."""
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest[0].partition("=")
        if name not in _OPTIONS:
            break
        del rest[0]
        if _OPTIONS[name] and not equals:
            if not rest:
                raise UsageError(f"{name} needs a value")
            value = rest.pop(0)
        given[name] = value
        if name == "--report" and not equals and rest and rest[0].endswith((".json", ".html", ".txt")):
            raise UsageError(f"a file of a report follows an equals sign: --report={rest[0]}")
    return given, rest


def _year(text: str) -> int | str:
    try:
        return surroundings.parse(text)
    except ValueError as error:
        raise UsageError(str(error).replace("as_of", "--as-of", 1)) from None


def _report(given: dict[str, str]) -> None:
    """Starts the report that options, or else the environment, ask for."""
    named = {"--report": "COMPATGRAD_REPORT", "--strict": "COMPATGRAD_STRICT"}
    if not any(option in given or os.environ.get(name) for option, name in named.items()):
        return
    from compatgrad.tools.report import control

    try:
        target, strict = control.from_environment()
        if "--report" in given:
            target = control.parse_target(given["--report"])
        if "--strict" in given:
            strict = control.parse_strict(given["--strict"])
    except ValueError as error:
        raise UsageError(str(error)) from None
    control.start(target, strict)
