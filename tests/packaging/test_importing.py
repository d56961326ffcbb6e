"""The garbage collector waits while a frontend is imported."""

import gc
import subprocess
import sys
import types

import pytest

from compatgrad._importing import CollectorPause

COUNT = """
import gc, torch
seen = []
gc.callbacks.append(lambda phase, info: phase == "start" and seen.append(info["generation"]))
import compatgrad.{frontend}
print(2 in seen, len(seen) < 5, gc.isenabled())
"""


@pytest.mark.parametrize("frontend", ["chainer", "nnabla", "mxnet"])
def test_importing_a_frontend_visits_no_objects_of_torch(frontend):
    code = COUNT.format(frontend=frontend)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.stdout == "False True True\n", done.stderr


def test_the_collector_runs_again_after_an_import_that_failed():
    module = types.ModuleType("failing")
    with pytest.raises(ZeroDivisionError) as info:
        exec("pause = kind()\n1 / 0", module.__dict__ | {"kind": CollectorPause})
    assert not gc.isenabled()  # the traceback has the names
    del info
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        pause = CollectorPause()
        del pause
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("frontend, part", [("chainer", "link"), ("nnabla", "function_bases"), ("mxnet", "gluon")])
def test_the_collector_works_after_an_import_that_failed(frontend, part):
    """The error is kept, as an interactive session keeps the last one."""
    program = f"""
import gc, sys
sys.modules["compatgrad.{frontend}.{part}"] = None
try:
    import compatgrad.{frontend}
except ImportError as error:
    kept = error
print(type(kept).__name__, gc.isenabled())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["ModuleNotFoundError", "True"], done.stderr


IN_A_SUB_INTERPRETER = """
import sys
{first}
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters
interpreters.run_string(interpreters.create(), '''
try:
    import compatgrad._C
except ImportError as error:
    print(error, flush=True)
''')
"""


@pytest.mark.parametrize("first", ["", "import compatgrad._C"])
def test_a_sub_interpreter_is_refused(first):
    """torch's import would wait there forever, or fail with a SystemError, if the main interpreter has torch."""
    command = [sys.executable, "-c", IN_A_SUB_INTERPRETER.format(first=first)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "this is a sub-interpreter" in done.stdout, done.stdout + done.stderr
