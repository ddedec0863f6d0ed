#!/usr/bin/env python3
"""Compares both libraries and both headers of build/install with those of the mpich wheel: values, layouts, prototypes, names.

Also: each MPI_ name has the address of its PMPI_ twin, a preloaded tool sees the calls, the further names of the libraries serve, and
the compiler scripts answer the questions of build systems. Ends with "N passed, N failed".
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import environments  # noqa: E402

ROOT = environments.ROOT
HANDLES = ["Comm", "Group", "Datatype", "File", "Errhandler", "Op", "Info", "Win", "Request", "Message", "Session"]
# What MPICH's own Fortran library takes from libmpi.so.12.
FORTRAN = {
    *(f"MPII_{kind}_{verb}_attr" for kind in ("Comm", "Type", "Win") for verb in ("get", "set")),
    *("MPII_Grequest_set_lang_f77", "MPII_Keyval_set_proxy"),
}
# Names of the wheel's libraries that Towpath leaves out; docs/binaries.md says why, family by family.
LEFT_OUT = {
    *(f"MPIR_Err_return_{what}" for what in ("comm", "comm_create_from_group", "group", "session", "session_init", "win")),
    *("MPIR_Err_create_code", "MPIR_F08_MPI_STATUSES_IGNORE_OBJ", "MPIR_F08_MPI_STATUS_IGNORE_OBJ", "MPIR_fortran_false", "MPIR_fortran_true"),
    *("QMPI_Get_calling_address", "QMPI_Get_function", "QMPI_Get_tool_storage", "QMPI_Register_function", "QMPI_Register_tool_name"),
    "QMPI_Register_tool_storage",
}
# The standard's correction of these two (int, and a large form) is younger than the wheel.
CORRECTED = {"MPI_Psend_init", "MPI_Precv_init"}
LAYOUT = r"""
#define SHOW(what) printf(#what " %lld\n", (long long)(what));
SHOW(sizeof(MPI_Status)) SHOW(offsetof(MPI_Status, MPI_SOURCE)) SHOW(offsetof(MPI_Status, MPI_TAG))
SHOW(offsetof(MPI_Status, MPI_ERROR)) SHOW(sizeof(MPI_Aint)) SHOW(sizeof(MPI_Count)) SHOW(sizeof(MPI_Offset))
SHOW((MPI_Aint)-1 < 0) SHOW(sizeof(MPI_T_cb_safety)) SHOW(sizeof(MPI_T_source_order))
"""


class Abi:
    """One interface: how its header is reached in both installations, and the name of its library."""

    def __init__(self, name, ours, theirs, directory):
        self.name, self.directory = name, directory
        standard = name == "standard"
        self.library = "libmpi_abi.so.1" if standard else "libmpi.so.12"
        self.ours, self.theirs = ours, theirs
        self.our_flags = [f"-I{ours}/include" + ("/standard" if standard else "")]
        self.their_flags = [f"-I{theirs}/include"] + (["-DMPI_ABI"] if standard else [])

    def compile(self, text, flags, name, link=None, compiler="cc"):
        source = self.directory / f"{name}{'.cc' if compiler == 'c++' else '.c'}"
        source.write_text(text)
        program = self.directory / name
        linking = [f"-L{link}/lib", f"-Wl,-rpath,{link}/lib", f"-l:{self.library}", "-o", program] if link else ["-c", "-o", f"{program}.o"]
        done = subprocess.run([compiler, *flags, source, *linking], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr[:3000])
        return program

    def ask(self, lines, flags, prefix, name):
        """What a program that was compiled with these flags prints, as {word: value}."""
        text = "#include <stddef.h>\n#include <stdio.h>\n#include <mpi.h>\nint main(void) {\n" + lines + "\nreturn 0; }\n"
        program = self.compile(text, ["-w", *flags], name, link=prefix)
        output = subprocess.run([program], capture_output=True, text=True, check=True, env=environments.clean_environment()).stdout
        return dict(line.rsplit(" ", 1) for line in output.splitlines())

    def symbols(self, prefix):
        output = subprocess.run(["nm", "-D", "--defined-only", f"{prefix}/lib/{self.library}"], capture_output=True, text=True, check=True)
        rows = [line.split() for line in output.stdout.splitlines()]
        return {row[2]: int(row[0], 16) for row in rows}


def constants(abi):
    """Every constant has the value that the wheel's header gives it."""
    table = tomllib.loads((ROOT / "api/constants.toml").read_text())["constant"]
    names = [row["name"] for row in table if isinstance(row.get(abi.name), int)]
    lines = "".join(f'printf("{name} %lld\\n", (long long)({name}));\n' for name in names)
    theirs = abi.ask(lines, abi.their_flags, abi.theirs, f"{abi.name}-their-constants")
    ours = abi.ask(lines, abi.our_flags, abi.ours, f"{abi.name}-our-constants")
    wrong = {name: (ours[name], theirs[name]) for name in names if ours[name] != theirs[name]}
    assert not wrong, f"(ours, the wheel's): {wrong}"
    stored = {row["name"]: row[abi.name] for row in table if isinstance(row.get(abi.name), int)}
    # Handles are 32 bits wide in the table, and pointers may be negative ints.
    wrong = {name: stored[name] for name in names if (int(theirs[name]) - stored[name]) % 2**32}
    assert not wrong, f"api/constants.toml: {wrong}"
    assert len(names) > 340, f"only {len(names)} constants"


def constants_are_complete(abi):
    """No constant of the wheel's header is missing in ours."""
    header = (abi.theirs / "include" / ("mpi_abi.h" if abi.name == "standard" else "mpi.h")).read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(MPI_[A-Z0-9_]+)[ \t]+\S", header, re.M))
    names |= set(re.findall(r"\b(MPI_[A-Z0-9_]+)\s*=", header))
    names -= {"MPI_INCLUDED", "MPI_FILE_DEFINED"}
    names = {name for name in names if not name.endswith("_INVALID") or name == "MPI_KEYVAL_INVALID" or name == "MPI_T_ERR_INVALID"}
    ours = (abi.ours / "include" / ("standard" if abi.name == "standard" else "") / "mpi.h").read_text()
    missing = [name for name in sorted(names) if not re.search(rf"\b{name}\b", ours)]
    assert not missing, missing


def layouts(abi):
    """Types have the wheel's sizes and offsets."""
    lines = LAYOUT + "".join(f"SHOW(sizeof(MPI_{name}))\n" for name in HANDLES)
    theirs = abi.ask(lines, abi.their_flags, abi.theirs, f"{abi.name}-their-layout")
    ours = abi.ask(lines, abi.our_flags, abi.ours, f"{abi.name}-our-layout")
    assert ours == theirs, {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}


def prototypes(abi):
    """The wheel's prototypes may be repeated after our header: C refuses two types of one name."""
    header = (abi.theirs / "include" / ("mpi_abi.h" if abi.name == "standard" else "mpi_proto.h")).read_text()
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    header = re.sub(r"^[ \t]*#.*$", "", header, flags=re.M)
    header = re.sub(r"MPICH_ATTR_POINTER_WITH_TYPE_TAG\([^)]*\)|MPICH_API_PUBLIC", "", header)
    found = re.findall(r"(?:^|[;{}\n])\s*([A-Za-z_]+[\s*]+)(P?MPI_\w+)\s*\(([^;{}()]*)\)\s*;", header, flags=re.S)
    text = "#include <mpi.h>\n"
    names = set()
    for result, name, parameters in found:
        bare = name.removeprefix("P")
        if bare not in CORRECTED and bare != "MPI_DUP_FN":
            text += f"#undef {name}\n{result} {name}({' '.join(parameters.split())});\n"
            names.add(bare)
    assert len(names) > 650, f"only {len(names)} prototypes found"
    abi.compile(text, abi.our_flags, f"{abi.name}-prototypes")


def headers(abi):
    """The headers are clean C99 and C++."""
    text = "#include <mpi.h>\nMPI_Comm *where(MPI_Comm *comm) { MPI_Comm_rank(*comm, (int *)0); return comm; }\n"
    abi.compile(text, ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", *abi.our_flags], f"{abi.name}-c99")
    abi.compile(text, ["-std=c++17", "-Wall", "-Wextra", "-Werror", *abi.our_flags], f"{abi.name}-cplusplus", compiler="c++")


def names(abi):
    """The library exports what the wheel's does, but for what is left out with a reason."""
    ours, theirs = abi.symbols(abi.ours), abi.symbols(abi.theirs)
    for_fortran = FORTRAN if abi.name == "mpich" else set()
    missing = sorted(set(theirs) - set(ours) - LEFT_OUT - (FORTRAN - for_fortran))
    assert not missing, f"missing: {missing}"
    # `towpath info` opens the library and asks for the ways to other hosts.
    known = r"P?MPIX?_|MPIR_Dup_fn$|towpath_(networks|devices)$"
    foreign = sorted(name for name in set(ours) - for_fortran if not re.match(known, name))
    assert not foreign, f"exported though no program should see them: {foreign}"


def twins(abi):
    """Every MPI_ function has a PMPI_ twin at the same address."""
    ours = abi.symbols(abi.ours)
    functions = [name for name in ours if name.startswith("PMPI")]
    assert len(functions) > 660, f"only {len(functions)} functions"
    apart = [name for name in functions if ours.get(name[1:]) != ours[name]]
    assert not apart, f"{len(apart)} of {len(functions)} pairs have two addresses, as {apart[:5]} (a release build merges them)"


def version(abi):
    """MPI_Abi_get_version tells the interfaces apart, before MPI_Init."""
    lines = 'int major = 7, minor = 7; MPI_Abi_get_version(&major, &minor); printf("major %d\\nminor %d\\n", major, minor);'
    found = abi.ask(lines, abi.our_flags, abi.ours, f"{abi.name}-version")
    assert found == ({"major": "1", "minor": "0"} if abi.name == "standard" else {"major": "-1", "minor": "-1"}), found


def tool(abi):
    """A preloaded library that defines an MPI_ name sees the call and reaches the library by the PMPI_ name."""
    text = (
        "#include <mpi.h>\n#include <stdio.h>\n"
        'int MPI_Abi_get_version(int *major, int *minor) { puts("seen 1"); return PMPI_Abi_get_version(major, minor); }\n'
    )
    library = abi.directory / f"{abi.name}-tool.so"
    abi.compile(text, ["-shared", "-fPIC", *abi.our_flags], f"{abi.name}-tool.so", link=abi.ours)
    lines = 'int major, minor; MPI_Abi_get_version(&major, &minor); printf("major %d\\n", major);'
    abi.ask(lines, abi.our_flags, abi.ours, f"{abi.name}-called")
    environment = environments.clean_environment(LD_PRELOAD=library)
    output = subprocess.run([abi.directory / f"{abi.name}-called"], capture_output=True, text=True,
                            check=True, env=environment).stdout
    assert "seen 1" in output and "major" in output, output


def further_names(abi):
    """Programs that were linked with another name of the library start."""
    others = {"standard": ["libmpi_abi.so.0"], "mpich": ["libmpich.so.12", "libmpicxx.so.12", "libmpichcxx.so.12"]}[abi.name]
    for other in others:
        # A stand-in for the foreign library of that name, only to link with; at run time ours is found.
        directory = abi.directory / f"stand-in-{other}"
        directory.mkdir()
        source = directory / "library.c"
        source.write_text("int MPI_Abi_get_version(int *major, int *minor) { return *major = *minor = 99; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", source, f"-Wl,-soname,{other}",
                        "-o", directory / other], check=True)
        text = "#include <mpi.h>\nint main(void) { int a = 9, b = 9; MPI_Abi_get_version(&a, &b); return a > 1; }\n"
        (directory / "program.c").write_text(text)
        program = directory / "program"
        subprocess.run(["cc", *abi.our_flags, directory / "program.c", "-o", program,
                        f"-L{directory}", f"-l:{other}", f"-Wl,-rpath,{abi.ours}/lib"], check=True)
        subprocess.run([program], check=True, env=environments.clean_environment())


def plus(abi):
    """A C++ program that the wheel's own mpicxx compiled and linked needs nothing but the library of this interface, and runs."""
    if abi.name == "standard":
        return  # the wheel's mpicxx makes programs of the MPICH interface
    text = (
        "#include <mpi.h>\n#include <complex>\n#include <cstdio>\n#include <fstream>\n#include <string>\n#include <vector>\n"
        "int main(int argc, char **argv) {\n    MPI_Init(&argc, &argv);\n    try {\n"
        "        std::vector<std::complex<double>> values(3, {1.0, -2.0}), sums(3);\n"
        "        MPI_Allreduce(values.data(), sums.data(), 3, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);\n"
        "        if (sums != values) throw std::string(\"a wrong sum\");\n"
        "    } catch (const std::string &text) {\n        std::puts(text.c_str());\n        MPI_Abort(MPI_COMM_WORLD, 1);\n    }\n"
        "    MPI_Finalize();\n"
        '    std::string line;\n    for (std::ifstream maps("/proc/self/maps"); std::getline(maps, line);)\n'
        '        if (line.find("libmpi") != std::string::npos) std::puts(line.c_str());\n}\n'
    )
    source, program = abi.directory / "plus.cc", abi.directory / "plus"
    source.write_text(text)
    clean = environments.clean_environment()
    subprocess.run([abi.theirs / "bin" / "mpicxx", source, "-o", program], check=True, env=clean)
    output = subprocess.run([program], capture_output=True, text=True, check=True,
                            env={**clean, "LD_LIBRARY_PATH": f"{abi.ours}/lib"}).stdout
    assert f"{abi.ours}/lib/libmpi.so.12" in output and str(abi.theirs) not in output, output


def scripts(abi):
    """The compiler scripts: what build systems ask, names with spaces, a moved tree."""
    bin = abi.ours / "bin"
    suffix = "" if abi.name == "mpich" else "_abi"
    library = "-lmpi" if abi.name == "mpich" else "-lmpi_abi"

    def says(*words):
        return subprocess.run([bin / words[0], *words[1:]], capture_output=True, text=True, check=True).stdout

    for script in (f"mpicc{suffix}", f"mpicxx{suffix}", f"mpic++{suffix}"):
        assert library in says(script, "-show").split(), script
        assert library not in says(script, "-compile_info").split(), script
        assert "-I" in says(script, "-showme:compile"), script
        assert library in says(script, "-link_info").split(), script
        assert f"-l{says(script, '-showme:libs').strip()}" == library, script
        assert Path(says(script, "-showme:incdirs").strip(), "mpi.h").exists() and says(script, "-showme:libdirs").strip() == str(bin.parent / "lib")
        assert re.fullmatch(rf"{re.escape(script)}: Towpath \d+\.\d+\.\d+\n", says(script, "-showme:version")), script
        assert library not in says(script, "-show", "-c", "x.c").split(), script
    assert "-lmpi_abi" in says("mpicc", "--abi", "standard", "-show").split()
    refused = subprocess.run([bin / "mpicc", "--abi", "other"], capture_output=True, text=True)
    assert refused.returncode and "other" in refused.stderr
    source = abi.directory / f"with space {abi.name}.c"
    source.write_text('#include <mpi.h>\n#include <stdio.h>\nint main(void) { puts(TEXT); return MPI_VERSION != 5; }\n')
    program = abi.directory / f"with space {abi.name}"
    subprocess.run([bin / f"mpicc{suffix}", '-DTEXT="a  b"', source, "-o", program], check=True)
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "a  b\n"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "towpath" if abi.name == "mpich" else "towpath-standard"],
                           capture_output=True, text=True, env={**os.environ, "PKG_CONFIG_PATH": f"{abi.ours}/lib/pkgconfig"}) \
        if any(Path(p, "pkg-config").exists() for p in os.environ["PATH"].split(":")) else None
    assert flags is None or library in flags.stdout.split(), flags


CMAKE = """cmake_minimum_required(VERSION 3.13)
project(check C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
add_executable(c_program program.c)
target_link_libraries(c_program MPI::MPI_C)
add_executable(cxx_program program.cc)
target_link_libraries(cxx_program MPI::MPI_CXX)
"""


def build_systems(abi):
    """CMake's FindMPI finds the library and programs built with it start; a configure script's CC=mpicc is what `scripts` tests."""
    if not shutil.which("cmake"):
        print("     cmake is not here: FindMPI is not tested", flush=True)
        return
    directory = abi.directory / f"cmake-{abi.name}"
    directory.mkdir()
    (directory / "CMakeLists.txt").write_text(CMAKE)
    text = ("#include <mpi.h>\n"
            "int main(void) { int a, b; MPI_Get_version(&a, &b); return a != 5; }\n")
    for source in ("program.c", "program.cc"):
        (directory / source).write_text(text)
    bin, suffix = abi.ours / "bin", "" if abi.name == "mpich" else "_abi"
    environment = environments.clean_environment()
    options = [f"-DMPI_C_COMPILER={bin}/mpicc{suffix}", f"-DMPI_CXX_COMPILER={bin}/mpicxx{suffix}"]
    for words in (["cmake", "-S", directory, "-B", directory / "build", *options],
                  ["cmake", "--build", directory / "build"]):
        done = subprocess.run(words, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:]
    for program in ("c_program", "cxx_program"):
        subprocess.run([directory / "build" / program], check=True, env=environment)
        linked = subprocess.run(["ldd", directory / "build" / program], capture_output=True,
                                text=True, env=environment).stdout
        assert f"{abi.ours}/lib/{abi.library}" in linked, linked


CHECKS = [constants, constants_are_complete, layouts, prototypes, headers, names, twins, version, tool, further_names, plus, scripts,
          build_systems]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install", help="where Towpath is installed")
    parser.add_argument("--peer", type=Path, help="an environment that holds the mpich wheel (default: made below build/)")
    parser.add_argument("--filter", default="", help="a regular expression for the names of the checks")
    options = parser.parse_args()
    peer = options.peer or environments.venv("mpich")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="towpath-abi-") as directory:
        for name in ("mpich", "standard"):
            abi = Abi(name, options.prefix.resolve(), peer, Path(directory))
            for check in CHECKS:
                label = f"{check.__name__} {name}"
                if not re.search(options.filter, label):
                    continue
                try:
                    check(abi)
                    passed += 1
                    print(f"ok   {label}", flush=True)
                except (AssertionError, subprocess.CalledProcessError) as error:
                    failed += 1
                    print(f"FAIL {label}: {error or traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
