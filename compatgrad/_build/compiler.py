"""Compiles and links a target; only changed files are compiled again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from compatgrad._build.target import BuildError, Stamp
from compatgrad._build.units import Unit

STAMP_SUFFIX = ".json"
_MAX_ERROR_LINES = 60

Report = Callable[[str], None]
S = TypeVar("S")
_OBJECTS = "objects-"
_NEW = ".new"


class Buildable(Protocol):
    """What is compiled and linked into one file: `Target`, the extension, or the library of CUDA kernels."""

    @property
    def root(self) -> Path: ...
    @property
    def prefix(self) -> str | None: ...
    def units(self) -> list[Unit]: ...
    def compile_command(self) -> list[str]: ...
    def link_command(self, objects: list[Path], out: Path) -> list[str]: ...
    def file_name(self) -> str: ...
    def stamp(self) -> Any: ...


def print_line(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def private_folder(folder: Path) -> None:
    """Makes a folder, and missing folders above it, with access for the owner only."""
    if not folder.is_dir():
        private_folder(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)


def expect_own(path: Path) -> None:
    """Raises BuildError if another user may have made, or can change, the file to be loaded from `path`."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise BuildError(
            f"{path} belongs to user {found.st_uid}, not to user {os.geteuid()}: modules there are not loaded; "
            "name a folder of your own in COMPATGRAD_CACHE"
        )
    if found.st_mode & 0o022:
        raise BuildError(
            f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):o}): modules there are not "
            f"loaded; run `chmod go-w {shlex.quote(str(path))}` if nobody changed it, or name another folder in "
            "COMPATGRAD_CACHE"
        )


def file_hash(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def read_cached(module: Path, read: Callable[[Path], S | None], cache: Path) -> S | None:
    """The stamp of a file in the cache; None if there is none, or if the stamp was made for another file.

    Raises BuildError if another user may have made, or can change, the file or a folder up to the cache.
    """
    if not module.exists():
        return None
    for path in (cache, module.parent, module, stamp_path(module)):
        expect_own(path)
    found: Any = read(module)
    return found if found is not None and file_hash(module) == found.module else None


@contextmanager
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Holds an exclusive lock on `path`, so that two processes never build the same thing at once."""
    private_folder(path.parent)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _dependencies(depfile: Path) -> list[str]:
    text = depfile.read_text().replace("\\\n", " ").partition(": ")[2]
    return [name.replace("\0", " ") for name in text.replace("\\ ", "\0").split()]


def _is_current(target: Buildable, unit: Unit, folder: Path) -> bool:
    obj = folder / unit.object_name()
    try:
        unit.source(folder)  # newer than the object if the unit has other files now
        made = obj.stat().st_mtime_ns
        dependencies = _dependencies(obj.with_suffix(".d"))
        if target.prefix and (target.root / target.prefix).exists():  # depfiles do not list the precompiled header
            dependencies.append(target.prefix)
        return all((target.root / name).stat().st_mtime_ns < made for name in dependencies)
    except OSError:  # the object, its depfile or a header listed in it is missing
        return False


def _precompile(target: Buildable, folder: Path, report: Report) -> list[str]:
    """Precompiles the prefix header, and returns the flags that include it in each file.

    Without precompilation a file takes twice as long. A compiler that cannot use the result reads the header instead.
    """
    source = target.root / (target.prefix or "")
    if not source.is_file():
        return []
    header = folder / source.name
    made = header.with_name(f"{header.name}.gch")
    text = source.read_text()
    if not header.exists() or header.read_text() != text or not made.exists():
        header.write_text(text)
        made.unlink(missing_ok=True)
        new = made.with_name(f"{made.name}.new")
        command = [*target.compile_command(), "-x", "c++-header", str(header), "-o", str(new)]
        if subprocess.run(command, cwd=target.root, capture_output=True).returncode:
            report("the prefix header cannot be precompiled")
        else:
            os.replace(new, made)
    return ["-include", str(header)]


def _compile(target: Buildable, unit: Unit, folder: Path, prefix: list[str], report: Report) -> float:
    obj = folder / unit.object_name()
    obj.parent.mkdir(parents=True, exist_ok=True)
    depfile = obj.with_suffix(".d")
    source = str(unit.source(folder))
    command = [*target.compile_command(), "-MMD", "-MF", str(depfile), *prefix, "-c", source, "-o", str(obj)]
    begun = time.time_ns()
    done = subprocess.run(command, cwd=target.root, capture_output=True, text=True)
    if done.returncode:
        obj.unlink(missing_ok=True)
        lines = done.stderr.splitlines()
        first = next((i for i, line in enumerate(lines) if "error:" in line), 0)
        # starts at the "In file included from" lines before the first error
        while first and not lines[first - 1].startswith((" ", "\t")) and "warning:" not in lines[first - 1]:
            first -= 1
        text = "\n".join(lines[first : first + _MAX_ERROR_LINES])
        raise BuildError(f"{command[0]} (exit code {done.returncode}) on {unit}:\n{text}")
    if done.stderr:
        report(done.stderr.rstrip())
    # The object gets the time at which its sources were read, so that a file edited meanwhile is compiled again.
    os.utime(obj, ns=(begun, begun))
    return (time.time_ns() - begun) / 1e9


def _compile_all(
    target: Buildable, work: list[Unit], folder: Path, prefix: list[str], jobs: int, report: Report
) -> None:
    failure: BuildError | None = None

    def compile_unless_failed(unit: Unit) -> float | None:
        return None if failure else _compile(target, unit, folder, prefix, report)

    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(compile_unless_failed, unit): unit for unit in work}
        for count, future in enumerate(as_completed(running), 1):
            try:
                if (seconds := future.result()) is not None:
                    report(f"[{count:2}/{len(work)}] {running[future]}  {seconds:.1f} s")
            except BuildError as error:
                failure = failure or error
    if failure:
        raise failure


def _link(target: Buildable, objects: list[Path], out: Path) -> None:
    command = target.link_command(objects, out)
    record = out.with_suffix(".link")
    text = "\n".join(command)
    if (
        out.exists()
        and record.exists()
        and record.read_text() == text
        and all(obj.stat().st_mtime_ns < out.stat().st_mtime_ns for obj in objects)
    ):
        return
    done = subprocess.run(command, cwd=target.root, capture_output=True, text=True)
    if done.returncode:
        out.unlink(missing_ok=True)
        tail = "\n".join(done.stderr.splitlines()[:_MAX_ERROR_LINES])
        raise BuildError(f"linking {out.name} failed (exit code {done.returncode}):\n{tail}")
    record.write_text(text)


def build(target: Buildable, folder: Path, report: Report = print_line, jobs: int | None = None) -> Path:
    """Brings the object files in `folder` and the linked file up to date; returns the path of the linked file."""
    units = target.units()
    if not units:
        raise BuildError(f"no sources below {target.root / 'csrc'}")
    with locked(folder / "lock", lambda: report("waiting for another build of the same target")):
        work = [unit for unit in units if not _is_current(target, unit, folder)]
        if work:
            files = [sum(len(unit.files) for unit in some) for some in (work, units)]
            report(f"compiling {files[0]} of {files[1]} files for {target}")
        prefix = _precompile(target, folder, report) if work else []
        _compile_all(target, work, folder, prefix, jobs or os.cpu_count() or 1, report)
        out = folder / target.file_name()
        _link(target, [folder / unit.object_name() for unit in units], out)
    return out


def publish(target: Buildable, module: Path, folder: Path) -> Path:
    """Puts a built file and its stamp into `folder`; a process that has loaded the old file keeps it.

    Both are first written under temporary names, so that a full disk leaves the old file with its stamp. Between the
    two renames there is no stamp, so a process that is killed there leaves a file without a stamp, never one with a
    wrong stamp.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _remove_unpublished(folder)
    final = folder / target.file_name()
    new, new_stamp = (p.with_name(f"{p.name}.{os.getpid()}{_NEW}") for p in (final, stamp_path(final)))
    try:
        shutil.copy2(module, new)
        new.chmod(new.stat().st_mode & ~0o022)
        stamp = replace(target.stamp(), module=file_hash(new), size=new.stat().st_size)
        new_stamp.write_text(json.dumps(asdict(stamp), indent=1) + "\n")
        new_stamp.chmod(new_stamp.stat().st_mode & ~0o022)
        stamp_path(final).unlink(missing_ok=True)
        os.replace(new, final)
        os.replace(new_stamp, stamp_path(final))
    finally:
        for left in (new, new_stamp):
            left.unlink(missing_ok=True)
    return final


def _is_running(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (OSError, ValueError):
        pass
    return True


def remove_leftovers(cache: Path) -> None:
    """Removes files that killed builds have left in a cache, except in folders in which a build is running."""
    for folder in cache.glob("*/"):
        lock = folder / "lock"
        try:
            expect_own(folder)
            with open(lock, "r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_leftovers_of(folder)
        except (OSError, BuildError):  # locked, without a lock file, or owned by another user
            continue


def _remove_leftovers_of(folder: Path) -> None:
    for objects in folder.glob(f"{_OBJECTS}*"):
        shutil.rmtree(objects, ignore_errors=True)
    _remove_unpublished(folder)


def _remove_unpublished(folder: Path) -> None:
    for new in folder.glob(f"*{_NEW}"):
        if not _is_running(new.name.removesuffix(_NEW).rpartition(".")[2]):
            new.unlink(missing_ok=True)


def compile_into(target: Buildable, folder: Path, announced: str) -> Path:
    """Builds a target into `folder` in the cache, without keeping object files; prints `announced`, and how long it
    took."""
    print_line(f"compatgrad: {announced}; kept in {folder}")
    remove_leftovers(folder.parent)
    _remove_leftovers_of(folder)
    begun = time.monotonic()
    objects = Path(tempfile.mkdtemp(prefix=_OBJECTS, dir=folder))
    try:
        final = publish(target, build(target, objects, report=lambda line: None), folder)
    finally:
        shutil.rmtree(objects, ignore_errors=True)
    print_line(f"compatgrad: compiled in {time.monotonic() - begun:.0f} s")
    return final


@contextmanager
def locked_cache(folder: Path) -> Iterator[None]:
    """Holds the lock of a folder of the cache, so that two processes never compile into it at once.

    Raises BuildError if another user can write there.
    """
    private_folder(folder)
    for path in (folder.parent, folder):
        expect_own(path)
    waiting = "compatgrad: waiting for another process that compiles"
    with locked(folder / "lock", lambda: print_line(waiting)):
        yield


def stamp_path(module: Path) -> Path:
    return module.with_name(module.name + STAMP_SUFFIX)


def read_json(module: Path, kind: Callable[..., S]) -> S | None:
    """The stamp of `module`, as a `kind`; None if the module or its stamp does not exist."""
    try:
        return kind(**json.loads(stamp_path(module).read_text())) if module.exists() else None
    except (OSError, ValueError, TypeError):
        return None


def read_stamp(module: Path) -> Stamp | None:
    """The stamp that says what `module` was built for; None if the module or its stamp does not exist."""
    return read_json(module, Stamp)
