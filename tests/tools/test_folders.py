"""Temporary folders of commands."""

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from compatgrad.tools._folders import temporary

PROGRAM = """
import sys, time
from compatgrad.tools._folders import temporary

with temporary("compatgrad-test-") as folder:
    (folder / "file").write_text("")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def started():
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_removes_the_folder(place, number):
    process, folder = started()
    assert os.path.exists(f"{folder}/file")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode != 0 and not list(place.iterdir())


def test_the_folder_of_a_killed_process_is_removed_by_the_next(place):
    process, folder = started()
    other, used = started()
    process.kill()
    process.wait()
    (place / "compatgrad-test-without-lock").mkdir()
    (place / "compatgrad-test-link").symlink_to(place)
    assert os.path.exists(f"{folder}/file")
    with temporary("compatgrad-test-"):
        assert not os.path.exists(folder)
        assert os.path.exists(f"{used}/file")
    assert {p.name for p in place.iterdir()} == {
        "compatgrad-test-without-lock",
        "compatgrad-test-link",
        os.path.basename(used),
    }
    other.terminate()
    other.communicate(timeout=60)


def test_what_remove_leaves_stays(place):
    with pytest.raises(KeyError), temporary("compatgrad-test-", lambda folder: (folder / "a").unlink()) as folder:
        (folder / "a").write_text("")
        (folder / "b").write_text("")
        raise KeyError
    assert [p.name for p in folder.iterdir()] == ["b"]
    with temporary("compatgrad-test-"):
        assert folder.exists()  # it has no lock
    handler = signal.getsignal(signal.SIGTERM)
    assert handler is signal.SIG_DFL
