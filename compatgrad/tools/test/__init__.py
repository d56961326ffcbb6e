"""`python -m compatgrad test`: checks that this installation computes what it should."""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import compatgrad
from compatgrad.tools._parser import parser_of
from compatgrad.tools._words import count

SCHEMA = 1
_DESCRIPTION = """\
Checks this installation in less than half a minute, without a network and without files other than the package's own:

  import           the compiled module and the three frontends
  trains           each frontend trains a small network, and its loss is the one that the original reaches
  differentiates   derivatives of first and second order
  files            parameters that are saved and loaded
  kernels          every kernel computes what torch's operations give in float64
  run              a program under `python -m compatgrad run` gets compatgrad's chainer, nnabla and mxnet
  GPU              kernels and training on the first GPU, if torch finds one; if not, the report says so. Where there is
                   nvcc and no compiled kernels, the first run compiles them, which takes minutes
  speed            time of an operation on ten numbers, compared with torch's; no time counts as a failure

The checks run in a process of their own, so that a crash is reported as the failure of the check that crashed.
"""
_EPILOG = """\
The exit status is 0 if nothing failed, 1 if a check failed, and 2 if the command line is wrong.

examples:
  python -m compatgrad test
  python -m compatgrad test --format json > report.json      what a bug report needs
"""
_MARKS = {"ok": "ok", "failed": "FAILED", "absent": "absent"}


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("test", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=600.0,
        help="how long the checks may take; a check that still runs then has failed (600)",
    )
    return parser


def own_python(module: str, call: str = "main()") -> list[str]:
    """The command that calls a module's `main` with this very compatgrad, wherever the working folder is."""
    parent = os.path.dirname(os.path.dirname(os.path.abspath(compatgrad.__file__)))
    code = f"import sys; sys.path[0] = {parent!r}; from {module} import main; sys.exit({call})"
    return [sys.executable, "-X", "faulthandler", "-c", code]


def _facts() -> dict[str, str]:
    """What `python -m compatgrad info` prints, from another process: importing torch may crash."""
    command = own_python("compatgrad.tools.info", "main(['--json'])")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    try:
        facts: dict[str, str] = json.loads(done.stdout)["facts"]
        return facts
    except ValueError:
        return {"compatgrad": compatgrad.__version__, "Python": sys.version, "error": done.stderr.strip()[-2000:]}


def run_checks(show: Callable[[dict[str, Any]], None], timeout: float) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Runs the checks in another process and calls `show` with each result. Returns the results, and facts about the
    installation."""
    results: list[dict[str, Any]] = []
    facts: dict[str, str] = {}
    with tempfile.TemporaryFile("w+") as errors:
        worker = subprocess.Popen(
            own_python("compatgrad.tools.test.worker"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        running = "import torch"
        try:
            for line in _lines(worker, timeout):
                if "begin" in line:
                    running = line["begin"]
                elif "facts" in line:
                    facts = line["facts"]
                else:
                    results.append(line)
                    running = ""
                    show(line)
            ended = _ending(worker.wait())
        except TimeoutError:
            ended = f"was not finished after {timeout:g} s"
        finally:
            worker.kill()
            worker.wait()
        if ended or running:
            errors.seek(0)
            text = errors.read().strip()
            detail = ended or "the process ended early"
            results.append(
                {"name": running or "end", "status": "failed", "seconds": 0.0, "detail": detail, "traceback": text}
            )
            show(results[-1])
    return results, facts or _facts()


def _lines(worker: subprocess.Popen[str], timeout: float) -> Any:
    """The worker's lines as they come. Raises TimeoutError when the time is over."""
    assert worker.stdout is not None
    end = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        # the lines are read from the descriptor, because a buffered reader may hold lines that `select` does not see
        rest = b""
        while True:
            if not selector.select(max(end - time.monotonic(), 0)):
                raise TimeoutError
            got = os.read(worker.stdout.fileno(), 65536)
            if not got:
                return
            *complete, rest = (rest + got).split(b"\n")
            for text in complete:
                yield json.loads(text)


def _ending(code: int) -> str:
    if code >= 0:
        return "" if code == 0 else f"the process ended with the exit status {code}"
    try:
        return f"the process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was ended by signal {-code}"


def _text(result: dict[str, Any]) -> str:
    detail = result["detail"]
    if isinstance(detail, dict):
        return _speed(detail)
    head, *more = [line for line in str(detail).splitlines() if line.strip()] or [""]
    seconds = f"{result['seconds']:7.2f} s"
    lines = [f"{_MARKS[result['status']]:7}{result['name']:26}{seconds}  {head}"]
    if result["status"] == "failed":
        shown = result.get("traceback") or "\n".join(more)
        lines += [f"       | {line}" for line in shown.splitlines()[-40:]]
    return "\n".join(lines)


def _speed(times: dict[str, float]) -> str:
    beside = [f"{name} {us:.1f} ({us / times['torch']:.2f} of torch)" for name, us in times.items() if name != "torch"]
    return f"\nOne small operation, forward and backward, in µs: torch {times['torch']:.1f}, {', '.join(beside)}"


def _summary(results: list[dict[str, Any]], seconds: float) -> str:
    checks = [r for r in results if r["name"] != "speed" or r["status"] != "ok"]
    failed = [r["name"] for r in checks if r["status"] == "failed"]
    passed = sum(r["status"] == "ok" for r in checks)
    absent = len(checks) - passed - len(failed)
    missing = f"; {absent} could not be tried here" if absent else ""
    if not failed:
        return f"Everything works: {count(passed, 'check')} passed in {seconds:.1f} s{missing}."
    return (
        f"{len(failed)} of {count(len(checks), 'check')} failed: {', '.join(failed)}.\n"
        "A bug report needs the output of `python -m compatgrad test --format json`, and how compatgrad was installed."
    )


def main(arguments: Sequence[str]) -> int:
    """Runs the command; returns the exit status."""
    options = _parser().parse_args(arguments)
    as_json = options.format == "json"
    if not as_json:
        print(f"compatgrad {compatgrad.__version__}, Python {sys.version.split()[0]}, {sys.platform}\n", flush=True)
    start = time.perf_counter()
    results, facts = run_checks(lambda result: None if as_json else print(_text(result), flush=True), options.timeout)
    seconds = time.perf_counter() - start
    failed = any(r["status"] == "failed" for r in results)
    if as_json:
        whole = {"schema": SCHEMA, "tool": "compatgrad test", "failed": failed, "seconds": round(seconds, 2)}
        print(json.dumps({**whole, "checks": results, "facts": facts}, indent=1, sort_keys=True))
    else:
        print(f"\n{_summary(results, seconds)}")
        if failed:
            print("\n" + "\n".join(f"{name + ':':14}{value}" for name, value in facts.items()))
    return int(failed)
