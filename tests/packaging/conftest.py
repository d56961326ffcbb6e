"""Copies of the package with a frontend of a few lines, with C++ of a few lines, or beside such a torch."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_FRONTEND = {
    "chainer/__init__.py": """
        import compatgrad.chainer as itself
        from compatgrad.chainer import functions, links
        from compatgrad.chainer.links.connection.linear import Linear
        """,
    "chainer/functions/__init__.py": "from compatgrad.chainer.functions.activation.relu import relu\n",
    "chainer/functions/activation/__init__.py": "",
    "chainer/functions/activation/relu.py": "def relu(x):\n    return max(x, 0)\n",
    "chainer/links/__init__.py": "from .connection import linear\n",
    "chainer/links/connection/__init__.py": "",
    "chainer/links/connection/linear.py": """
        class Linear:
            class State:
                pass

            def later(self):
                from . import rarely
                return rarely.__name__
        """,
    "chainer/links/connection/rarely.py": "",
    "chainer/links/connection/broken.py": "1 / 0\n",
    "chainerx.py": "def is_available():\n    return False\n",
}


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory):
    """This Python, in an environment where nothing is installed."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    if sys.version_info < (3, 11):  # the backend's one requirement, which pip would install
        import tomli

        (site_packages,) = folder.glob("lib/python*/site-packages")
        (site_packages / "tomli").symlink_to(Path(tomli.__file__).parent)
    return folder / "bin/python"


class Tree:
    """A folder with a copy of the package, which imports without torch; `executable` finds no other."""

    def __init__(self, folder: Path, executable: Path) -> None:
        self.folder = folder
        self.executable = executable
        self.package = folder / "site" / "compatgrad"
        self.package.mkdir(parents=True)
        for path in (ROOT / "compatgrad").glob("*.py"):
            shutil.copy(path, self.package)
        for name in ("_build", "names", "surroundings", "tools"):
            shutil.copytree(ROOT / "compatgrad" / name, self.package / name, ignore=lambda *_: {"__pycache__"})
        for name, text in _FRONTEND.items():
            self.write(f"site/compatgrad/{name}", text)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
        return path

    def python(self, *arguments, env=None, flags=(), cwd=None, stdin=None):
        """Runs Python with `arguments`; `env` adds to a small environment, `stdin` is what it reads."""
        base = {
            k: v for k, v in os.environ.items() if not k.startswith(("COMPATGRAD_", "PYTHON", "CXX", "CUDA", "XDG_"))
        }
        base |= {"PYTHONPATH": str(self.package.parent), "HOME": str(self.folder), "NO_COLOR": "1"}
        command = [str(self.executable), *flags, *map(str, arguments)]
        return subprocess.run(
            command,
            capture_output=True,
            input=stdin,
            text=True,
            timeout=120,
            cwd=cwd or self.folder,
            env=base | (env or {}),
        )

    def run(self, *arguments, **options):
        """The same through `-m compatgrad run`."""
        return self.python("-m", "compatgrad", "run", *arguments, **options)

    def output(self, code: str, **options) -> str:
        """What a piece of code prints; its failure is the test's."""
        done = self.python("-c", textwrap.dedent(code), **options)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def tree(tmp_path, bare_python):
    return Tree(tmp_path, bare_python)


_SOURCES = {
    "csrc/core/answer.h": "int answer();\n",
    "csrc/core/answer.cpp": '#include "core/answer.h"\nint answer() { return 42; }\n',
    "csrc/python/module.cpp": """
        #include <Python.h>
        #include "core/answer.h"
        static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr};
        PyMODINIT_FUNC PyInit__C() {
          PyObject* module = PyModule_Create(&definition);
          PyModule_AddIntConstant(module, "answer", answer());
          return module;
        }
        """,
    "csrc/ops/other.cpp": "int other() { int unused; return 1; }\n",
}

_TORCH = """
    import ctypes, os
    from torch.version import __version__
    for name in {libraries}:
        ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", f"lib{{name}}.so"), ctypes.RTLD_GLOBAL)
    class cuda:
        device_count = staticmethod(lambda: 0)
    get_num_threads = lambda: 1
    """
_LIBRARIES = ("torch", "torch_cpu", "c10", "torch_python")


@pytest.fixture(scope="session")
def empty_libraries(tmp_path_factory):
    """Shared libraries with torch's names and nothing in them."""
    folder = tmp_path_factory.mktemp("lib")
    for name in _LIBRARIES:
        file = f"lib{name}.so"
        command = [
            "c++",
            "-shared",
            "-x",
            "c++",
            "/dev/null",
            f"-Wl,-soname,{file}",
            "-o",
            str(folder / file),
        ]
        subprocess.run(command, check=True)
    return folder


class Checkout(Tree):
    """A tree with C++ that compiles in a moment, beside a torch of any version."""

    def __init__(self, folder: Path, executable: Path, libraries: Path) -> None:
        super().__init__(folder, executable)
        self.libraries = libraries
        self.root = folder / "site"
        for name, text in _SOURCES.items():
            self.write(f"site/{name}", text)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, self.root)

    def install_torch(self, version="2.13.0+cpu", git="a" * 40, cuda=None, where="site") -> Path:
        self.write(f"{where}/torch/__init__.py", _TORCH.format(libraries=_LIBRARIES))
        text = f"__version__ = {version!r}\ngit_version = {git!r}\ncuda = {cuda!r}\n"
        shutil.rmtree(self.folder / where / "torch/__pycache__", ignore_errors=True)  # as old as the last one
        path = self.write(f"{where}/torch/version.py", text).parent
        shutil.copytree(self.libraries, path / "lib", dirs_exist_ok=True)
        return path

    def hide_torch(self) -> None:
        (self.root / "torch").rename(self.root / "hidden")

    def build(self, **options):
        return self.python("-m", "compatgrad._build", "--inplace", **options)


@pytest.fixture
def checkout(tmp_path, bare_python, empty_libraries):
    tree = Checkout(tmp_path, bare_python, empty_libraries)
    tree.install_torch()
    return tree
