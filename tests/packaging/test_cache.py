"""The cache of modules that are compiled at first import: whose it is, whether it is whole, what killed builds leave.

Somebody who can write there could put a module of their own in the place of ours.
"""

import fcntl
import json
import os
import signal
import stat
import subprocess
import time

import pytest

from tests.packaging.test_build import ANSWER, error_of


@pytest.fixture
def cached(checkout):
    """A checkout whose module is in the cache; the module's path."""
    path = checkout.output(ANSWER).split()[-1]
    return checkout, type(checkout.root)(path)


def test_folders_are_the_users_alone_and_the_stamp_knows_the_module(cached):
    checkout, module = cached
    cache = checkout.folder / ".cache"
    for folder in (cache, cache / "compatgrad", module.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(path.stat().st_mode & 0o022 for path in module.parent.iterdir())
    stamp = json.loads((module.parent / f"{module.name}.json").read_text())
    assert len(stamp["module"]) == 64


def test_what_others_can_write_or_own_is_not_loaded(cached):
    checkout, module = cached
    for path in (module.parent.parent, module.parent, module, module.parent / f"{module.name}.json"):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        text = error_of(checkout)
        assert "can be written by others" in text and "chmod go-w" in text
        path.chmod(mode)
        if os.geteuid() == 0:  # nobody else can give a file away
            os.chown(path, 12345, -1)
            assert "belongs to user 12345, not to user 0" in error_of(checkout)
            os.chown(path, 0, -1)
    module.chmod(0o666)
    assert "can be written by others" in checkout.python("-m", "compatgrad", "info").stdout
    module.chmod(0o600)
    assert checkout.output(ANSWER).startswith("42 ")


@pytest.mark.parametrize("change", [lambda data: data[: len(data) // 2], lambda data: data[:-1] + b"?"])
def test_a_module_that_is_cut_off_or_changed_is_compiled_anew(cached, change):
    checkout, module = cached
    whole = module.read_bytes()
    module.write_bytes(change(whole))
    done = checkout.python("-c", ANSWER)
    assert done.stdout.startswith("42 ") and "compiling it for" in done.stderr
    assert checkout.python("-c", ANSWER).stderr == ""


def test_leftovers_of_killed_builds_go(cached):
    checkout, module = cached
    other, busy = (module.parent.parent / name for name in ("other", "busy"))
    dead = subprocess.Popen(["true"])
    dead.wait()
    for folder in (module.parent, other, busy):
        (folder / "objects-left" / "csrc").mkdir(parents=True)
        (folder / f"{module.name}.{dead.pid}.new").write_text("half")
        (folder / f"{module.name}.{os.getpid()}.new").write_text("somebody is writing")
        (folder / "lock").touch()
    module.unlink()
    with open(busy / "lock") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert checkout.output(ANSWER).startswith("42 ")
    for folder in (module.parent, other, busy):
        kept = folder is busy
        assert (folder / "objects-left").exists() == kept
        assert (folder / f"{module.name}.{dead.pid}.new").exists() == kept
        assert (folder / f"{module.name}.{os.getpid()}.new").exists()


def test_a_build_that_is_killed_leaves_nothing_that_harms(checkout):
    slow = checkout.write("slow", '#!/bin/sh\ncase "$*" in *-c*) sleep 20;; esac\nexec c++ "$@"\n')
    slow.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(checkout.root), "HOME": str(checkout.folder)}
    first = subprocess.Popen(
        [str(checkout.executable), "-c", ANSWER],
        env=environment | {"CXX": str(slow)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    cache = checkout.folder / ".cache/compatgrad"
    ends = time.monotonic() + 30
    while not list(cache.glob("*/objects-*/csrc")) and time.monotonic() < ends:
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert list(cache.glob("*/objects-*"))
    assert checkout.output(ANSWER).startswith("42 ")
    assert not list(cache.glob("*/objects-*")) and not list(cache.glob("*/*.new"))


FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES, BYTES))
import compatgrad._C
"""


@pytest.mark.parametrize("limit", [0, 5000])  # where the first file, and where an object file ends
def test_a_full_disk_is_told_and_leaves_nothing(checkout, limit):
    done = checkout.python("-c", FULL.replace("BYTES", str(limit)), flags=["-B"])  # Python would cut its .pyc files off
    assert done.returncode == 1 and "\nImportError: " in done.stderr, done.stderr
    assert "too large" in done.stderr or "limit exceeded" in done.stderr, done.stderr
    assert not [p for p in (checkout.folder / ".cache").rglob("*") if p.name != "lock" and p.is_file()]
    assert checkout.output(ANSWER).startswith("42 ")


def test_a_home_that_cannot_be_written_is_told(checkout):
    text = error_of(checkout, env={"HOME": "/proc"})
    assert "the cache cannot be written" in text and "COMPATGRAD_CACHE" in text
    cache = str(checkout.folder / "elsewhere")
    assert checkout.output(ANSWER, env={"HOME": "/proc", "COMPATGRAD_CACHE": cache}).startswith("42 ")
