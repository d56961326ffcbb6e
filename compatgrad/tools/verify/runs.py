"""Runs the program under the recorder, on the original and here."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from compatgrad.tools import compatgrad_recorder

_MAIN = "from compatgrad_recorder.{} import main\n\nmain()\n"


def write_recorder(path: Path, module: str = "__main__") -> None:
    """Writes the recorder as one file, which Python 3.6 and later run: one of its modules that has a `main`."""
    folder = Path(compatgrad_recorder.__file__).parent
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.glob("*.py")):
            archive.writestr(f"compatgrad_recorder/{file.name}", file.read_text())
        archive.writestr("__main__.py", _MAIN.format(module))


def command_of(text: str) -> list[str]:
    """A Python, or a command that runs Python programs."""
    if Path(text).exists():
        return [text]
    parts = shlex.split(text)
    if not parts or shutil.which(parts[0]) is None:
        raise ValueError(f"--original: {text!r} is neither a Python interpreter nor a command")
    return parts


HERE = [sys.executable, "-m", "compatgrad", "record"]  # the recorder is a part of compatgrad


@dataclass
class Run:
    """One run: its folder, exit status and seconds."""

    folder: Path
    status: int
    seconds: float

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"

    def tail(self, lines: int = 12) -> str:
        text = self.output.read_text(errors="replace").rstrip().splitlines()
        return "\n".join(f"  | {line}" for line in text[-lines:])


def run(who: str, command: list[str], recorder: Path, folder: Path, options: list[str], program: list[str]) -> Run:
    """Runs the program and waits for it; what it prints goes to `output.txt` in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Sets have the same order on both sides, and MXNet runs its operators one by one, not as parts of fused graphs.
    settings = {"PYTHONHASHSEED": "0", "MXNET_SUBGRAPH_BACKEND": "NONE"}
    environment = {**settings, **os.environ}
    root = str(Path(compatgrad_recorder.__file__).parents[3])
    if command is HERE:  # a checkout that is not installed is found by its folder
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (environment.get("PYTHONPATH"), root)))
    arguments = [*command, *([] if command is HERE else [str(recorder)]), "-o", str(folder), *options, "--", *program]
    begin = time.monotonic()
    with open(folder / "output.txt", "wb") as output:
        process = subprocess.Popen(arguments, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            _wait(process, who, begin)
        except BaseException:
            process.terminate()
            try:
                process.wait(10)
            except BaseException:  # it ignores the signal
                process.kill()
                process.wait()
            raise
    return Run(folder, process.returncode, time.monotonic() - begin)


def _wait(process: subprocess.Popen[bytes], who: str, begin: float) -> None:
    if not sys.stderr.isatty():
        process.wait()
        return
    while True:
        try:
            process.wait(0.5)
            break
        except subprocess.TimeoutExpired:
            print(f"\r{who}: {time.monotonic() - begin:.0f} s ", end="", file=sys.stderr, flush=True)
    print("\r\033[K", end="", file=sys.stderr, flush=True)
