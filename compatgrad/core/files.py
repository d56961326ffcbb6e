"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import struct
from collections.abc import Iterator
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["beside", "in_folder_beside", "naming", "replacing"]

_PREFIX, _SUFFIX = ".compatgrad-", ".tmp"


def _lock(descriptor: int) -> bool | None:
    """Locks a file against `_remove_leftovers` until its descriptor is closed. Returns False if another process has
    locked it, None if files cannot be locked.

    The lock belongs to the open file, not to the process, so that other descriptors of the file may be closed
    meanwhile; and it does not conflict with HDF5, which locks its files by flock.
    """
    try:
        whole = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, whole)
    except (BlockingIOError, PermissionError):
        return False
    except (AttributeError, OSError):
        return None
    return True


def _lock_folder(descriptor: int) -> bool | None:
    """As `_lock`, for a folder, which only flock can lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (AttributeError, OSError):
        return None
    return True


def _remove_leftovers(folder: str) -> None:
    """Removes files that killed writers have left in a folder: those that no process has locked."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        names = [e.name for e in entries if e.name.startswith(_PREFIX) and e.name.endswith(_SUFFIX)]
        for name in names:
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError):
                is_folder = os.path.isdir(path)
                mode = os.O_RDONLY if is_folder else os.O_RDWR
                descriptor = os.open(path, mode | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if is_folder and _lock_folder(descriptor):
                        shutil.rmtree(path, ignore_errors=True)
                    elif not is_folder and _lock(descriptor):
                        os.unlink(path)
                finally:
                    os.close(descriptor)


def _new(folder: str) -> tuple[str, int]:
    """Makes a new, locked file in a folder; returns its name and the descriptor that holds the lock."""
    while True:
        name = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
        if _lock(descriptor) is not False and os.path.exists(name):
            return name, descriptor
        os.close(descriptor)  # before it was locked, another writer took it for a leftover and removed it


def _new_folder(folder: str) -> tuple[str, int]:
    """Makes a new, locked folder in a folder; returns its name and the descriptor that holds the lock, or -1."""
    while True:
        name = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}")
        os.mkdir(name)
        try:
            descriptor = os.open(name, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except PermissionError:  # folders cannot be opened on Windows
            return name, -1
        if _lock_folder(descriptor) is not False and os.path.exists(name):
            return name, descriptor
        os.close(descriptor)


def _sync(path: str) -> None:
    """Flushes the content of a file, or the entries of a folder, to disk; some systems cannot do the latter."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yields a temporary name to write a file under; the file replaces `path` if the block ends without an exception.
    Otherwise, also after Ctrl-C, `path` is not changed. If the process is killed or the machine stops, either the
    complete old file or the complete new one is there, because the new one is flushed to disk before it is renamed.
    Files that a killed process has left are removed when the next file is written to the folder. A symbolic link stays
    one, and a file keeps its permissions. Pipes and devices are written directly, and so is a file in a folder that is
    not writable.

    Args:
        path: path of the file.

    Yields:
        The name to write under.

    Raises:
        OSError: the file cannot be written; it is raised before the block and names `path`.

    Example:
        >>> import os, tempfile
        >>> from compatgrad.core.files import beside
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.txt")
        ...     with beside(path) as name, open(name, "w") as file:
        ...         count = file.write("x")
        ...     os.listdir(folder)
        ['x.txt']

    Source: `compatgrad/core/files.py`.
    """
    path = os.fspath(path)
    old = os.stat(path) if os.path.exists(path) else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        yield path
        return
    if old is not None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    _remove_leftovers(folder)
    try:
        temporary, descriptor = _new(folder)
    except OSError as error:
        if old is None or not isinstance(error, PermissionError):
            raise type(error)(error.errno, error.strerror, path) from None
        temporary = ""
    if not temporary:
        yield path
        return
    try:
        yield temporary
        os.fsync(descriptor)
        if old is not None:
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary):
            raise OSError(error.errno, error.strerror, path) from error
        raise
    finally:
        os.close(descriptor)
    _sync(folder)


@contextlib.contextmanager
def in_folder_beside(path: str | os.PathLike[str]) -> Iterator[str]:
    """`beside` for writers that depend on the name of a file: the yielded path differs from `path` only in the folder.
    Such writers may append an extension to the name; the resulting file keeps it.

    Args:
        path: path of the file.

    Yields:
        The name to write under.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> import os, tempfile
        >>> from compatgrad.core.files import in_folder_beside
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with in_folder_beside(os.path.join(folder, "x.txt")) as name, open(name, "w") as file:
        ...         count = file.write("x")
        ...     os.path.basename(name), os.listdir(folder)
        ('x.txt', ['x.txt'])

    Source: `compatgrad/core/files.py`.
    """
    path = os.fspath(path)
    parent, name = os.path.split(os.path.abspath(path))
    _remove_leftovers(parent)
    folder, descriptor = _new_folder(parent)
    try:
        yield os.path.join(folder, name)
        for made in os.listdir(folder) or [name]:
            _sync(os.path.join(folder, made))
            os.replace(os.path.join(folder, made), os.path.join(parent, made))
    except OSError as error:
        if error.errno and (error.filename is None or str(error.filename).startswith(folder)):
            raise OSError(error.errno, error.strerror, path) from error
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor >= 0:
            os.close(descriptor)
    _sync(parent)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], mode: str = "wb", **options: Any) -> Iterator[Any]:
    """Opens a new file for writing, which replaces `path` when the block ends without an exception; see `beside`.

    Args:
        path: path of the file.
        mode: mode, as for `open`.
        **options: other arguments of `open`, such as `encoding`.

    Yields:
        The open file.

    Raises:
        OSError: the file cannot be written; it is raised before the block and names `path`.

    Example:
        >>> import os, tempfile
        >>> from compatgrad.core.files import replacing
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with replacing(os.path.join(folder, "x.txt"), "w") as file:
        ...         count = file.write("x")
        ...     os.listdir(folder)
        ['x.txt']

    Source: `compatgrad/core/files.py`.
    """
    with beside(path) as name, open(name, mode, **options) as file:
        yield file


@contextlib.contextmanager
def naming(file: Any, *kinds: type[Exception], to: type[Exception] = ValueError) -> Iterator[None]:
    """Adds the name of the file to the errors of a reader.

    Args:
        file: path of the file, or the open file.
        *kinds: errors that become errors of the class `to`.
        to: class of the resulting errors; errors of this class and its subclasses keep their class.

    Yields:
        None.

    Raises:
        FileNotFoundError: as the reader raises it; PermissionError and IsADirectoryError too.
        Exception: the reader's errors of class `to` and those of `kinds`.

    Example:
        >>> from compatgrad.core.files import naming
        >>> try:
        ...     with naming("x.txt", ZeroDivisionError):
        ...         1 / 0
        ... except ValueError as error:
        ...     print(error)
        x.txt: division by zero

    Source: `compatgrad/core/files.py`.
    """
    named = isinstance(file, (str, bytes, os.PathLike))
    name = os.fsdecode(file) if named else str(getattr(file, "name", "the file given"))
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (to, *kinds) as error:
        words = str(error)
        if name in words and isinstance(error, to):
            raise
        kind = type(error) if isinstance(error, to) else to
        if isinstance(error, UnicodeDecodeError) and kind is UnicodeDecodeError:
            place = error.encoding, error.object, error.start, error.end
            raise UnicodeDecodeError(*place, f"{error.reason}, in {name}") from error
        try:
            told = kind(f"{name}: {words}")
        except TypeError:  # an error class whose constructor does not take a message
            told = to(f"{name}: {words}")
        raise told from error
