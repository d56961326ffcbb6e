"""Python 3.13 removes the indentation of docstrings when it compiles them. `compatgrad.mxnet` could not be imported
there, because a decorator looked for indented sections."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def docstrings(*arguments):
    command = [sys.executable, "-W", "ignore", "-m", "tests.packaging.dedented", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_composed_docstrings_do_not_depend_on_indentation():
    usual, dedented = docstrings(), docstrings("dedent")
    assert len(usual) > 2000 and usual.keys() == dedented.keys()
    assert [name for name in usual if usual[name] != dedented[name]] == []
