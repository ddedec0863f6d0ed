#!/usr/bin/env python3
"""Debian's Fortran library of MPICH (libmpichfort.so.12) on top of Towpath's libmpi.so.12: messages, reductions, attributes with functions
of Fortran, generalized requests.

The packages with that library and the compiler are unpacked below build/, nothing is installed. Where there is no Debian, the test is
skipped. Ends with "N passed, N failed".
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

SKIPPED = 77
DIRECTORY = environments.BUILD / "debian-fortran"
# The first two are MPICH's; the library has no package of its own. The version of the compiler follows from what there is.
PACKAGES = ["libmpich12", "libmpich-dev"]


def compiler_packages():
    """The packages of the newest gfortran, by the version that "gfortran" depends on."""
    text = subprocess.run(["apt-cache", "depends", "gfortran"], capture_output=True, text=True).stdout
    versions = [line.split("-")[-1] for line in text.splitlines() if "Depends: gfortran-" in line]
    if not versions:
        return None
    return [f"gfortran-{versions[0]}", f"libgfortran-{versions[0]}-dev", "libgfortran5", "libquadmath0"]


def unpack():
    """The root of the unpacked packages, or None with the reason."""
    root = DIRECTORY / "root"
    if (DIRECTORY / "complete").exists():
        return root, ""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        return None, "this is no Debian"
    compiler = compiler_packages()
    if compiler is None:
        return None, "apt-cache knows no gfortran"
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    done = subprocess.run(["apt-get", "download", *PACKAGES, *compiler], cwd=DIRECTORY,
                          capture_output=True, text=True)
    if done.returncode:
        return None, f"apt-get download: {done.stderr.strip()[-300:]}"
    for package in DIRECTORY.glob("*.deb"):
        environments.command(["dpkg", "-x", package, root], "debian-fortran.log")
    (DIRECTORY / "complete").touch()
    return root, ""


def one(root, pattern):
    """The one file or directory of the packages with this pattern."""
    found = sorted(root.glob(pattern))
    if not found:
        raise SystemExit(f"the packages hold no {pattern}")
    return found[0]


def build(root, prefix):
    """Compiles the program by the unpacked compiler and links it with both libraries."""
    libraries = one(root, "usr/lib/*/libmpichfort.so.12").parent
    gcc = one(root, "usr/lib/gcc/*/*/f951").parent
    modules = one(root, "usr/lib/*/fortran/*/mpich/mpi.mod").parent
    program, thing = DIRECTORY / "bindings", DIRECTORY / "bindings.o"
    compiler = one(root, "usr/bin/gfortran-*")
    # Arguments of a function without an explicit interface are of several types here.
    options = ["-w", "-fallow-argument-mismatch", f"-B{gcc}/", f"-I{modules}", f"-J{DIRECTORY}"]
    source = HERE / "fortran" / "bindings.f90"
    environments.command([compiler, *options, "-c", source, "-o", thing], "debian-fortran.log")
    paths = [prefix / "lib", libraries]
    words = [word for path in paths for word in (f"-L{path}", f"-Wl,-rpath,{path}")]
    names = ["-l:libmpichfort.so.12", "-l:libgfortran.so.5", "-l:libmpi.so.12", "-lm"]
    link = ["cc", thing, "-o", program, *words, *names, "-Wl,--allow-shlib-undefined"]
    environments.command(link, "debian-fortran.log")
    return program, os.pathsep.join(map(str, paths))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    prefix = parser.parse_args().prefix.resolve()
    root, reason = unpack()
    if root is None:
        print(f"MPICH's Fortran library is not tested: {reason}.")
        return SKIPPED
    program, paths = build(root, prefix)
    passed = failed = 0
    for ranks in (1, 2, 4):
        command = [prefix / "bin" / "mpiexec", "-n", str(ranks), program]
        environment = environments.clean_environment(LD_LIBRARY_PATH=paths)
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, timeout=60)
        good = done.returncode == 0 and done.stdout.split() == ["ok"] * ranks
        passed, failed = (passed + 1, failed) if good else (passed, failed + 1)
        print(f"{'ok  ' if good else 'FAIL'} {ranks} ranks", flush=True)
        if not good:
            print(done.stdout[-1000:] + done.stderr[-1000:])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
