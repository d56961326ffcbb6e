"""The build backend that pip calls (PEP 517 and PEP 660).

It compiles for the torch in the target environment and has no build requirement on torch, because with one pip would
download a second torch. If there is no torch, the wheel contains only the sources.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import sysconfig
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compatgrad
from compatgrad._build.compiler import build, print_line, publish, stamp_path
from compatgrad._build.cuda import CudaTarget, cuda_target
from compatgrad._build.target import PACKAGE, BuildError, Target, find_torch, target_for

ROOT = PACKAGE.parent
_NOT_SHIPPED = {"__pycache__", "_lib"}
_SDIST = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "Makefile", ".clang-format")
_SDIST_FOLDERS = ("compatgrad", "csrc", "tests", "examples", "docs")


def _load_toml(path: Path) -> dict[str, Any]:
    try:
        import tomllib as toml
    except ModuleNotFoundError:  # Python 3.10
        try:
            import tomli as toml
        except ModuleNotFoundError:
            from pip._vendor import tomli as toml
    read: dict[str, Any] = toml.loads(path.read_text(encoding="utf-8"))
    return read


def _project() -> dict[str, Any]:
    project: dict[str, Any] = _load_toml(ROOT / "pyproject.toml")["project"]
    return project


def _metadata(version: str = compatgrad.__version__) -> str:
    project = _project()
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", version),
        ("Summary", project["description"]),
        ("Keywords", ",".join(project["keywords"])),
        ("License-Expression", project["license"]),
        *(("License-File", name) for name in project["license-files"]),
        *(("Classifier", name) for name in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        *(("Requires-Dist", name) for name in project["dependencies"]),
    ]
    for extra, names in project["optional-dependencies"].items():
        fields.append(("Provides-Extra", extra))
        fields += [("Requires-Dist", f'{name}; extra == "{extra}"') for name in names]
    fields.append(("Description-Content-Type", "text/markdown"))
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return f"{head}\n{(ROOT / project['readme']).read_text(encoding='utf-8')}"


def _entry_points() -> str:
    scripts = _project()["scripts"]
    return "[console_scripts]\n" + "".join(f"{name} = {target}\n" for name, target in scripts.items())


def _tag(compiled: bool) -> str:
    if not compiled:
        return "py3-none-any"
    python = "cp" + str(sysconfig.get_config_var("py_version_nodot"))
    abi = python + str(sysconfig.get_config_var("abiflags") or "")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{abi}-{platform}"


def _dist_info_files(tag: str, pure: bool, version: str = compatgrad.__version__) -> Iterator[tuple[str, bytes]]:
    wheel = f"Wheel-Version: 1.0\nGenerator: compatgrad\nRoot-Is-Purelib: {str(pure).lower()}\nTag: {tag}\n"
    yield "METADATA", _metadata(version).encode()
    yield "WHEEL", wheel.encode()
    yield "entry_points.txt", _entry_points().encode()
    for name in _project()["license-files"]:
        yield f"licenses/{name}", (ROOT / name).read_bytes()


def _dist_info(version: str = compatgrad.__version__) -> str:
    return f"compatgrad-{version}.dist-info"


def _files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not _NOT_SHIPPED.intersection(path.relative_to(ROOT).parts) and path.suffix != ".pyc":
            yield path


def _write_wheel(
    folder: str, tag: str, contents: Iterator[tuple[str, bytes]], version: str = compatgrad.__version__
) -> str:
    """Writes the files and the record of their hashes; returns the wheel's file name.

    The module is compiled while this runs. The wheel gets its name at the end, so that a build that fails leaves no
    wheel with a part of the files.
    """
    name = f"compatgrad-{version}-{tag}.whl"
    record = []
    new = Path(folder) / f"{name}.new"
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:

            def add(path: str, data: bytes) -> None:
                info = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
                info.external_attr = 0o644 << 16
                archive.writestr(info, data, zipfile.ZIP_DEFLATED)

            for path, data in contents:
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append(f"{path},sha256={digest},{len(data)}\n")
                add(path, data)
            path = f"{_dist_info(version)}/RECORD"
            add(path, "".join([*record, f"{path},,\n"]).encode())
        os.replace(new, new.with_name(name))
    finally:
        new.unlink(missing_ok=True)
    return name


def _installed_target() -> Target | None:
    torch = find_torch()
    if torch is None:
        print_line("no torch found: the wheel contains the sources, which are compiled at first import")
        return None
    return target_for(torch)


def _installed_targets() -> list[Target | CudaTarget]:
    """The module and, for a torch with CUDA, the kernels; what is not compiled here is compiled at its first use."""
    target = _installed_target()
    if target is None:
        return []
    kernels = cuda_target() if target.torch.cuda else None
    return [target, kernels] if kernels else [target]


def _published(targets: list[Target | CudaTarget], folder: Path) -> list[Path]:
    made = []
    for target in targets:
        try:
            made.append(publish(target, build(target, _build_folder(target)), folder))
        except BuildError as error:
            if isinstance(target, Target):
                raise
            print_line(f"without CUDA kernels: {error}")
    return made


def _build_folder(target: Target | CudaTarget) -> Path:
    """The checkout's folder of object files, which makes later builds fast; another folder if it is read-only."""
    writable = os.access(ROOT, os.W_OK)
    return (ROOT / "build" if writable else Path(tempfile.mkdtemp())) / target.object_folder()


def _wheel_contents(
    tag: str, targets: list[Target | CudaTarget], version: str = compatgrad.__version__
) -> Iterator[tuple[str, bytes]]:
    for path in _files_below(PACKAGE):
        yield str(path.relative_to(ROOT)), path.read_bytes()
    # the folder in which the loader looks for sources at first import
    for path in _files_below(ROOT / "csrc"):
        yield f"compatgrad/{path.relative_to(ROOT)}", path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        for made in _published(targets, Path(folder)):
            for path in (made, stamp_path(made)):
                yield f"compatgrad/_lib/{path.name}", path.read_bytes()
    for name, data in _dist_info_files(tag, not targets, version):
        yield f"{_dist_info(version)}/{name}", data


def torch_wheel(folder: str) -> str:
    """Writes a wheel whose version names the torch that it is compiled for, as in 0.1.0+torch2.13.0.cpu, so that wheels
    for several versions of torch can lie side by side. Returns its file name."""
    targets = _installed_targets()
    if not targets:
        raise BuildError("no torch found: install the torch that the wheel is for")
    module = targets[0]
    assert isinstance(module, Target)
    built_for = re.sub(r"[^a-z0-9]+", ".", module.torch.version.lower())
    version = f"{compatgrad.__version__}+torch{built_for}"
    tag = _tag(compiled=True)
    Path(folder).mkdir(parents=True, exist_ok=True)
    return _write_wheel(folder, tag, _wheel_contents(tag, targets, version), version)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    targets = _installed_targets()
    tag = _tag(bool(targets))
    return _write_wheel(wheel_directory, tag, _wheel_contents(tag, targets))


def _editable_contents(tag: str) -> Iterator[tuple[str, bytes]]:
    yield "__editable__.compatgrad.pth", f"{ROOT}\n".encode()
    for name, data in _dist_info_files(tag, pure=True):
        yield f"{_dist_info()}/{name}", data


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    _published(_installed_targets(), PACKAGE / "_lib")
    tag = _tag(compiled=False)
    return _write_wheel(wheel_directory, tag, _editable_contents(tag))


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    """Makes the metadata without compiling; without this function pip would compile once for the metadata and again for
    the wheel."""
    folder = Path(metadata_directory) / _dist_info()
    for name, data in _dist_info_files(_tag(compiled=False), pure=True):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    stem = f"compatgrad-{compatgrad.__version__}"
    name = f"{stem}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for path in [ROOT / name for name in _SDIST] + [
            path for folder in _SDIST_FOLDERS for path in _files_below(ROOT / folder)
        ]:
            if path.exists():
                archive.add(path, f"{stem}/{path.relative_to(ROOT)}")
        info = tarfile.TarInfo(f"{stem}/PKG-INFO")
        data = _metadata().encode()
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return name
