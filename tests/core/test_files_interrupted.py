"""If a save is killed or the disk is full, the old file or the whole new one remains."""

import os
import resource
import signal
import subprocess
import sys
import threading

import pytest

import compatgrad.mxnet as mx
from compatgrad.core import files
from tests.core.savers import SAVERS, kill


@pytest.mark.parametrize("name", SAVERS)
def test_a_full_disk_leaves_the_old_file(tmp_path, name):
    file, save, read = SAVERS[name]
    path = str(tmp_path / file)
    save(path, 0)
    before = open(path, "rb").read()
    assert len(before) > 8192
    old_limit, old_handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, old_limit[1]))
        with pytest.raises((OSError, mx.MXNetError), match=f"{file}.*File too large|File too large.*{file}"):
            save(path, 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert open(path, "rb").read() == before and os.listdir(tmp_path) == [file]
    save(path, 1)
    read(path)
    assert open(path, "rb").read() != before


@pytest.mark.parametrize("name", ["save_npz", "save_hdf5", "snapshot", "save_parameters h5", "nd.save"])
def test_kills_leave_a_whole_file(tmp_path, name):
    assert all(kill(str(tmp_path), name, seconds) for seconds in (0.003, 0.02, 0.05, 0.08))
    SAVERS["LogReport"][1](str(tmp_path / "log"), 0)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


@pytest.mark.skipif(not hasattr(__import__("fcntl"), "F_OFD_SETLK"), reason="needs locks of open files")
@pytest.mark.parametrize("how", ["replacing", "in_folder_beside"])
def test_only_leftovers_of_dead_processes_are_removed(tmp_path, how):
    script = (
        "import runpy, sys, time; from types import SimpleNamespace\n"
        f"files = SimpleNamespace(**runpy.run_path({files.__file__!r}))\n"  # importing the package would take seconds
        f"with files.{how}(sys.argv[1]) as f:\n"
        "    f.write(b'x') if hasattr(f, 'write') else open(f, 'wb').close()\n"
        "    print('ready', flush=True); time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        (tmp_path / ".compatgrad-mine").write_text("not a leftover")
        (begun,) = [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
        with files.replacing(tmp_path / "b") as file:
            file.write(b"y")
        assert begun in os.listdir(tmp_path)  # the other process still writes it
        other.kill()
        other.wait()
    with files.replacing(tmp_path / "b") as file:
        file.write(b"y")
    assert sorted(os.listdir(tmp_path)) == [".compatgrad-mine", "b"]


def test_threads_that_write_to_one_folder_do_not_remove_each_others_files(tmp_path):
    failed = []

    def write(k):
        try:
            for i in range(60):
                with files.replacing(tmp_path / f"{k}") as file:
                    file.write(bytes([i]) * 1000)
                with files.in_folder_beside(tmp_path / f"{k}") as name, open(name, "wb") as file:
                    file.write(bytes([i]) * 1000)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and sorted(os.listdir(tmp_path)) == ["0", "1", "2", "3"]
