"""Building in place and at first import, against a torch of a few bytes."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from expecttest import assert_expected_inline

ANSWER = "import compatgrad._C as c; print(c.answer, c.__name__, c.__file__)"


def words(checkout, text: str) -> str:
    """`text` without what differs between machines."""
    for old, new in (
        (str(checkout.folder), "DIR"),
        (str(checkout.executable), "PYTHON"),
        (sysconfig.get_config_var("SOABI"), "ABI"),
    ):
        text = text.replace(old, new)
    return re.sub(r"torch(\d\S*)-\w{10}", r"torch\1-KEY", text)


def error_of(checkout, **options) -> str:
    """The message with which the import of the compiled module fails."""
    done = checkout.python("-c", ANSWER, **options)
    assert done.returncode == 1 and "\nImportError: " in done.stderr, done.stderr
    return words(checkout, done.stderr.rpartition("\nImportError: ")[2])


def compiled(done) -> list[str]:
    """The files, or units of several files, that a build says it compiled."""
    return sorted(re.findall(r"^\[ *\d+/\d+\] (\S+?)(?: \(\d+ files\))?  ", done.stderr, re.M))


ALL = ["csrc/core/answer.cpp", "csrc/ops/other.cpp", "csrc/python/module.cpp"]


def test_inplace_build_is_incremental(checkout):
    first = checkout.build()
    assert (first.returncode, first.stdout) == (0, "") and compiled(first) == ALL, first.stderr
    assert "-Wunused-variable" in first.stderr
    assert checkout.output(ANSWER).startswith(f"42 compatgrad._C {checkout.package}/_lib/_C.")
    assert compiled(checkout.build()) == []
    checkout.write("site/csrc/core/answer.h", "int answer();  // edited\n")
    assert compiled(checkout.build()) == ["csrc/core/answer.cpp", "csrc/python/module.cpp"]
    checkout.write("site/csrc/core/answer.cpp", '#include "core/answer.h"\nint answer() { return 43; }\n')
    assert compiled(checkout.build()) == ["csrc/core/answer.cpp"]
    assert checkout.output(ANSWER).startswith("43 ")
    assert compiled(checkout.build(env={"CXXFLAGS": "-DFURTHER"})) == ALL
    (checkout.root / "csrc/ops/other.cpp").rename(checkout.root / "csrc/ops/renamed.cpp")
    assert compiled(checkout.build()) == ["csrc/ops/renamed.cpp"]
    checkout.install_torch(git="b" * 40)
    assert compiled(checkout.build()) == [*ALL[:1], "csrc/ops/renamed.cpp", *ALL[2:]]


def test_the_prefix_header_is_compiled_ahead(checkout):
    checkout.write("site/csrc/prefix.h", "#include <string>\n#define ANSWERS 42\n")
    checkout.write("site/csrc/core/answer.cpp", '#include "core/answer.h"\nint answer() { return ANSWERS; }\n')
    assert compiled(checkout.build()) == ALL
    assert len(list(checkout.root.rglob("prefix.h.gch"))) == 1
    assert compiled(checkout.build()) == []
    checkout.write("site/csrc/prefix.h", "#include <string>\n#define ANSWERS 43\n")
    assert compiled(checkout.build()) == ALL
    assert checkout.output(ANSWER).startswith("43 ")
    checkout.write("site/csrc/prefix.h", "#include <nowhere>\n")
    done = checkout.build()
    assert done.returncode == 1 and "cannot be precompiled" in done.stderr and "nowhere" in done.stderr


def test_a_compile_error_is_shown_and_leaves_the_module(checkout):
    checkout.build()
    checkout.write("site/csrc/core/answer.cpp", '#include "core/answer.h"\nint answer() { return wrong; }\n')
    for number in range(8):  # more than are compiled at a time: those that wait are given up
        checkout.write(f"site/csrc/ops/later{number}.cpp", f"int later{number}() {{ return 1; }}\n")
    done = checkout.build()
    assert done.returncode == 1
    assert "on csrc/core/answer.cpp:\n" in done.stderr and "wrong" in done.stderr
    assert "Traceback" not in done.stderr
    assert checkout.output(ANSWER).startswith("42 ")


def test_a_link_error_is_shown(checkout):
    (checkout.root / "torch/lib/libc10.so").write_bytes(b"no library")
    done = checkout.build()
    assert done.returncode == 1 and re.search(r"build failed: linking _C\..* failed", done.stderr)


def test_cuda_kernels_are_built_where_torch_has_cuda(checkout):
    nvcc = checkout.write(
        "nvcc",
        f"""\
        #!{sys.executable}
        import sys
        arguments = sys.argv[1:]
        if arguments == ["--version"]:
            print("Cuda compilation tools, release 13.0, V13.0.88")
        else:
            open(arguments[arguments.index("-o") + 1], "w").write("made of " + arguments[arguments.index("-o") - 1])
            if "-MF" in arguments:
                open(arguments[arguments.index("-MF") + 1], "w").write("kernel.o: csrc/kernels/kernel.cu")
        """,
    )
    nvcc.chmod(0o755)
    env = {"CUDACXX": str(nvcc)}
    checkout.write("site/csrc/kernels/kernel.cu", "no CUDA\n")
    library = checkout.package / "_lib/libcompatgrad_cuda.so"
    assert compiled(checkout.build(env=env)) == ALL and not library.exists()
    done = checkout.python("-m", "compatgrad._build", "--kernels", env=env, cwd=checkout.root)
    assert compiled(done) == ["csrc/kernels/kernel.cu"], done.stderr
    assert library.read_text().startswith("made of ") and library.read_text().endswith("kernel.o")
    assert json.loads(library.with_name(library.name + ".json").read_text())["nvcc"] == "13.0.88"
    library.unlink()
    checkout.install_torch(cuda="13.0")
    assert compiled(checkout.build(env=env)) == [] and library.exists()
    info = checkout.python("-m", "compatgrad", "info", env=env)
    assert re.search(r"^CUDA kernels: .*/_lib/libcompatgrad_cuda.so, by nvcc 13.0.88$", info.stdout, re.M), info
    assert f"nvcc:         {nvcc}: 13.0.88" in info.stdout
    assert "CUDACXX=absent is not a program" in checkout.build(env={"CUDACXX": "absent"}).stderr


def test_stamp(checkout):
    checkout.build(env={"CXXFLAGS": "-DFURTHER"})
    (path,) = checkout.package.glob("_lib/*.json")
    stamp = json.loads(path.read_text())
    assert (stamp["torch"], stamp["torch_git"], stamp["cuda"]) == ("2.13.0+cpu", "a" * 40, None)
    assert stamp["python"] == sysconfig.get_config_var("SOABI")
    assert "-std=c++20" in stamp["flags"] and "-DFURTHER" in stamp["flags"]
    assert len(stamp["sources"]) == 64 and stamp["compiler"]


@pytest.mark.parametrize(
    "change",
    [dict(version="2.14.0+cpu"), dict(git="b" * 40)],
    ids=["version", "git"],
)
def test_a_build_for_another_torch_is_not_loaded_but_made_anew_once(checkout, change):
    checkout.build()
    checkout.install_torch(**change)
    assert "switched off" in error_of(checkout, env={"COMPATGRAD_NO_COMPILE": "1"})
    first = checkout.python("-c", ANSWER)
    assert first.stdout.startswith(f"42 compatgrad._C {checkout.folder}/.cache/compatgrad/"), first.stderr
    assert len(first.stderr.splitlines()) == 2  # whatever the compiler warns of
    again = checkout.python("-c", ANSWER)
    assert (again.stdout, again.stderr) == (first.stdout, "")
    checkout.install_torch()
    assert "_lib" in checkout.output(ANSWER)


def test_a_build_serves_the_same_torch_with_and_without_cuda(checkout):
    checkout.build()
    checkout.install_torch(version="2.13.0+cu130", cuda="13.0")
    assert "_lib" in checkout.output(ANSWER, env={"COMPATGRAD_NO_COMPILE": "1"})


def test_first_import_compiles_into_the_cache(checkout):
    cache = str(checkout.folder / "my cache")
    first = checkout.python("-c", ANSWER, env={"COMPATGRAD_CACHE": cache})
    assert first.stdout.startswith(f"42 compatgrad._C {cache}/"), first.stderr
    lines = words(checkout, first.stderr).splitlines()
    assert_expected_inline(
        lines[0],
        """\
compatgrad: the compiled module was not built by the installation; compiling it for torch 2.13.0+cpu (git aaaaaaaa, CUDA none). This takes some minutes, once; kept in DIR/my cache/ABI-torch2.13.0+cpu-KEY""",  # noqa: E501
    )
    assert re.fullmatch(r"compatgrad: compiled in \d+ s", lines[1])
    assert not [path for path in (checkout.folder / "my cache").rglob("*") if path.suffix == ".o"]
    # a cached module needs no compiler any more
    assert checkout.output(ANSWER, env={"COMPATGRAD_CACHE": cache, "CXX": "absent"}) == first.stdout
    # edited sources, other flags: other modules
    checkout.write("site/csrc/core/answer.cpp", '#include "core/answer.h"\nint answer() { return 43; }\n')
    assert checkout.output(ANSWER, env={"COMPATGRAD_CACHE": cache}).startswith("43 ")
    flagged = checkout.python("-c", ANSWER, env={"COMPATGRAD_CACHE": cache, "CXXFLAGS": "-DFURTHER"})
    assert "compiling" in flagged.stderr
    assert len(list((checkout.folder / "my cache").iterdir())) == 3


def test_processes_that_import_at_once_compile_once(checkout):
    code = f"""
import subprocess, sys
processes = [subprocess.Popen([sys.executable, '-c', {ANSWER!r}]) for _ in range(4)]
sys.exit(sum(process.wait() for process in processes))
"""
    done = checkout.python("-c", code)
    assert done.returncode == 0 and done.stdout.count("42 ") == 4, done.stderr
    assert done.stderr.count("compiling it for") == done.stderr.count("compiled in") == 1


def test_a_failed_first_import_can_be_repeated(checkout):
    checkout.write("site/csrc/core/answer.cpp", "int answer() { return wrong; }\n")
    assert "wrong" in error_of(checkout)
    assert "wrong" in error_of(checkout)


def test_message_no_compiler(checkout):
    assert_expected_inline(
        error_of(checkout, env={"CXX": "absent-c++"}),
        """\
compatgrad's compiled module was not built by the installation; running is torch 2.13.0+cpu (git aaaaaaaa, CUDA none), ABI. It has to be compiled for that, which is not possible: no C++ compiler found (looked for CXX=absent-c++); install one that supports C++20, such as g++ 11 or clang 14 (Debian: `apt install g++`, conda: `conda install gxx`), or name it in CXX
To do: fix that and import again, or reinstall compatgrad with the running torch in place, by `pip install --force-reinstall --no-deps --no-cache-dir PATH`, PATH being a wheel or the sources
""",  # noqa: E501
    )
    assert "(looked for c++, g++ and clang++)" in error_of(checkout, env={"PATH": ""})
    assert not (checkout.folder / ".cache").exists()
    done = checkout.build(env={"CXX": "absent-c++"})
    assert done.returncode == 1 and done.stderr.startswith("build failed: no C++ compiler found")


def test_message_no_torch(checkout):
    checkout.build()
    checkout.hide_torch()
    assert_expected_inline(
        error_of(checkout),
        """\
compatgrad runs on torch, which is not installed. Its compiled module was built for torch 2.13.0+cpu (git aaaaaaaa, CUDA none), ABI. To do: install it: `PYTHON -m pip install torch`
""",  # noqa: E501
    )
    done = checkout.build()
    assert done.returncode == 1 and "no torch found for" in done.stderr


def test_message_broken_torch(checkout):
    checkout.write("site/torch/__init__.py", "raise ImportError('libcudart.so.13 is absent')\n")
    assert_expected_inline(
        error_of(checkout),
        """\
compatgrad runs on torch, which cannot be imported (libcudart.so.13 is absent). Its compiled module was not built by the installation. To do: repair or reinstall torch
""",  # noqa: E501
    )


def test_message_old_torch(checkout):
    checkout.install_torch("2.8.1")
    assert_expected_inline(
        error_of(checkout),
        """\
compatgrad's compiled module was not built by the installation; running is an older torch. It has to be compiled for that, which is not possible: compatgrad needs torch 2.9 or newer, found torch 2.8.1 (git aaaaaaaa, CUDA none) in DIR/site/torch
To do: fix that and import again, or reinstall compatgrad with the running torch in place, by `pip install --force-reinstall --no-deps --no-cache-dir PATH`, PATH being a wheel or the sources
""",  # noqa: E501
    )


def test_message_built_for_another_torch(checkout):
    checkout.build()
    checkout.install_torch("2.14.0", cuda="13.0")
    assert_expected_inline(
        error_of(checkout, env={"COMPATGRAD_NO_COMPILE": "1"}),
        """\
compatgrad's compiled module was built for torch 2.13.0+cpu (git aaaaaaaa, CUDA none), ABI; running is torch 2.14.0 (git aaaaaaaa, CUDA 13.0), ABI. It has to be compiled for that, which is not possible: compiling at import is switched off by COMPATGRAD_NO_COMPILE; unset it, to compile
To do: fix that and import again, or reinstall compatgrad with the running torch in place, by `pip install --force-reinstall --no-deps --no-cache-dir PATH`, PATH being a wheel or the sources
""",  # noqa: E501
    )


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_module_that_is_cut_off_is_told_and_not_loaded(checkout, size):
    checkout.build()
    (module,) = checkout.package.glob("_lib/*.so")
    whole = module.stat().st_size
    with open(module, "r+b") as file:
        file.truncate(size)
    text = error_of(checkout, env={"COMPATGRAD_NO_COMPILE": "1"})
    assert f"was damaged: DIR/site/compatgrad/_lib/_C.ABI.so has {size:,} bytes of {whole:,}; running is" in text
    assert "unset it, to compile" in text
    info = words(checkout, checkout.python("-m", "compatgrad", "info", env={"COMPATGRAD_NO_COMPILE": "1"}).stdout)
    assert f"{size:,} bytes of" in info and "COMPATGRAD_NO_COMPILE switches that off" in info
    done = checkout.python("-c", ANSWER)  # compiles it anew
    assert done.stdout.startswith(f"42 compatgrad._C {checkout.folder}/.cache/compatgrad/"), done.stderr
    assert "was damaged" in done.stderr


def test_message_no_stamp(checkout):
    checkout.build()
    (stamp,) = checkout.package.glob("_lib/*.json")
    stamp.unlink()
    text = error_of(checkout, env={"COMPATGRAD_NO_COMPILE": "1"})
    assert "unknown torch, because DIR/site/compatgrad/_lib/_C.ABI.so.json is missing or damaged" in text


def test_message_cache_not_writable(checkout):
    text = error_of(checkout, env={"COMPATGRAD_CACHE": "/dev/null/cache"})
    assert "the cache cannot be written" in text and "COMPATGRAD_CACHE" in text


def test_nothing_is_imported_before_it_is_used(checkout):
    code = """
        import sys, compatgrad, compatgrad._build.loader
        print({"torch", "numpy", "compatgrad._C", "compatgrad.core"} & set(sys.modules))
        try:
            compatgrad.absent
        except AttributeError as error:
            print(error)
        """
    assert checkout.output(code) == "set()\nmodule 'compatgrad' has no attribute 'absent'\n"


def test_torch_is_found_under_build_isolation(checkout):
    """pip takes the environment's site-packages off the path, and leaves the prefix."""
    checkout.hide_torch()
    venv = checkout.folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    checkout.executable = venv / "bin/python"
    purelib = Path(checkout.output("import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for where, version in ((purelib, "2.98.0"), (checkout.folder / "elsewhere", "2.99.0")):
        checkout.install_torch(version, where=where)
        code = """
            import sys
            sys.path[:] = [path for path in sys.path if "site-packages" not in path]
            from compatgrad._build.target import find_torch
            print(find_torch(), "torch" in sys.modules)
            """
        assert checkout.output(code) == f"torch {version} (git aaaaaaaa, CUDA none) False\n"
        shutil.rmtree(where / "torch")
        (purelib / "further.pth").write_text(str(checkout.folder / "elsewhere"))


def test_info(checkout):
    checkout.build()
    facts = words(checkout, checkout.python("-m", "compatgrad", "info").stdout)
    rows = dict(re.match(r"(.*?):\s*(.*)", line).groups() for line in facts.splitlines())
    assert rows["torch"] == "torch 2.13.0+cpu (git aaaaaaaa, CUDA none), in DIR/site/torch"
    assert rows["module"] == "DIR/site/compatgrad/_lib/_C.ABI.so"
    assert rows["  built for"] == "torch 2.13.0+cpu (git aaaaaaaa, CUDA none), ABI"
    assert rows["  sources"] == "unchanged since" and rows["frontends"] == "chainer"
    assert {"compatgrad", "Python", "platform", "numpy", "compiler", "nvcc", "cache", "extras"} <= set(rows)
    checkout.write("site/csrc/ops/other.cpp", "int other() { return 2; }\n")
    assert "sources:    changed since" in checkout.python("-m", "compatgrad", "info").stdout


def test_info_where_nothing_works(checkout):
    checkout.hide_torch()
    done = checkout.python("-m", "compatgrad", "info", env={"PATH": ""})
    assert done.returncode == 0, done.stderr
    assert re.search(r"^torch: +not installed$", done.stdout, re.M)
    assert re.search(r"^compiler: +no C\+\+ compiler found", done.stdout, re.M)
    assert "info: takes no arguments" in checkout.python("-m", "compatgrad", "info", "x").stderr
