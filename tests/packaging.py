#!/usr/bin/env python3
"""Checks what is installed: the wheel holds everything under honest tags, and what it installs works and says so.

    packaging.py               build/install and the wheel in build/dist (after `make build`)
    packaging.py --manylinux   build/install-manylinux and the wheel in build/manylinux (after `make wheel-manylinux`); also the
                               checks of tests/abi on what that wheel installs

Ends with "N passed, N failed".
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environments  # noqa: E402

ROOT = environments.ROOT
MANYLINUX = (2, 28)
# What a wheel may need of the system (PEP 600 allows more).
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
                    "ld-linux-aarch64.so.1"}
# Two libraries, each twice (lib/strict), and mpiexec read topology files; the libraries also have
# the code and the kernels for GPUs, with their ways between processes, and plans that stream
# through the levels of a machine. Two more libraries, a Python module and a translator are for
# chares, with the headers of Charm++.
LARGEST_WHEEL = 10_300_000
# Never unloaded: threads and handlers may point into them.
KEPT = {"libmpi.so.12", "libmpi_abi.so.1"}


class Subject:
    """A layout, the wheel made from it, and an environment into which that was installed."""

    def __init__(self, prefix, wheels, venv):
        self.prefix = environments.BUILD / prefix
        self.wheel = environments.newest_wheel(wheels)
        self.venv = environments.towpath_venv(venv, wheels)
        self.tag = self.wheel.stem.rsplit("-", 1)[1]
        self.files = {path.relative_to(self.prefix).as_posix(): path for path in self.prefix.rglob("*")
                      if path.is_file() and path.parent.name != ".debug"}
        self.binaries = {name: path for name, path in self.files.items() if path.read_bytes()[:4] == b"\x7fELF"}

    def libraries(self, directory="lib"):
        return {path.name: path for name, path in self.binaries.items()
                if name == f"{directory}/{path.name}"}

    def both(self):
        """Each library that holds code: without the strict channel, and with it."""
        return [(path, self.libraries("lib/strict")[name]) for name, path in self.libraries().items() if name in KEPT]

    def run(self, *words, **more):
        """What a command prints that must succeed in the environment, with nothing of Rust in reach."""
        path = f"{self.venv}/bin:/usr/bin:/bin"
        environment = environments.clean_environment(PATH=path, **more)
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        return done.stdout


def dynamic(path):
    """The dynamic section as {tag: [values]}."""
    found = {}
    output = subprocess.run(["readelf", "-W", "-d", path], capture_output=True, text=True, check=True).stdout
    for tag, value in re.findall(r"\((\w+)\)\s+(.*)", output):
        found.setdefault(tag, []).append(re.sub(r".*\[(.*)\]", r"\1", value))
    return found


def glibc_versions(path):
    """The versions of glibc's symbols that a file needs, as texts: "2.28", "PRIVATE", "ABI_DT_RELR"."""
    output = subprocess.run(["readelf", "-W", "-V", path], capture_output=True, text=True, check=True).stdout
    needs = output.partition("Version needs section")[2]
    return set(re.findall(r"Name: GLIBC_(\S+)", needs))


def tag_says_which_glibc(subject):
    """The platform tag promises what the files keep: manylinux_2_28 when no symbol is younger, else this machine only."""
    assert subject.binaries, f"no program and no library in {subject.prefix}"
    promised = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", subject.tag)
    newest, odd = (0, 0), []
    for name, path in subject.binaries.items():
        versions = glibc_versions(path)
        assert versions or name in {f"lib/{shim}" for shim in subject.libraries().keys() - KEPT}, f"{name} names no version of glibc"
        numbers = {tuple(map(int, version.split("."))) for version in versions if re.fullmatch(r"[\d.]+", version)}
        newest = max([newest, *(number[:2] for number in numbers)])
        odd += [f"{name}: GLIBC_{version}" for version in versions if not re.fullmatch(r"[\d.]+", version)]
    print(f"     {subject.tag}: the newest symbol is of glibc {newest[0]}.{newest[1]}", flush=True)
    if promised:
        limit = tuple(map(int, promised.groups()))
        assert newest <= limit and not odd, f"{subject.tag}, but symbols of glibc {newest} {odd} are needed"
    else:
        assert subject.tag.startswith("linux_"), subject.tag
        assert newest > MANYLINUX or odd, f"{subject.tag}, though the files would run with glibc {newest}"


def needed_libraries(subject):
    """Files need the system's C library and each other, and look for the latter beside themselves only."""
    allowed = SYSTEM_LIBRARIES | set(subject.libraries())
    for name, path in subject.binaries.items():
        entries = dynamic(path)
        foreign = set(entries.get("NEEDED", [])) - allowed
        assert not foreign, f"{name} needs {foreign}"
        paths = {*entries.get("RUNPATH", []), *entries.get("RPATH", [])}
        assert paths <= {"$ORIGIN"}, f"{name} looks for libraries in {paths}"


def names_of_libraries(subject):
    """Each library has its file's name for the loader; those that hold code stay mapped."""
    libraries, strict = subject.libraries(), subject.libraries("lib/strict")
    assert KEPT <= set(libraries) and KEPT == set(strict), (sorted(libraries), sorted(strict))
    for name, path in [*libraries.items(), *strict.items()]:
        entries = dynamic(path)
        assert entries["SONAME"] == [name], (name, entries["SONAME"])
        if name in KEPT:
            assert "NODELETE" in " ".join(entries.get("FLAGS_1", [])), f"{name} may be unloaded: {entries.get('FLAGS_1')}"


def unwinder(subject):
    """The libraries use the unwinder that a C++ program has: with one of their own, an exception in a callback would crash."""
    for pair in subject.both():
        for path in pair:
            assert "libgcc_s.so.1" in dynamic(path)["NEEDED"], path


def symbols(path, *options):
    """The names that nm lists, with their versions."""
    output = subprocess.run(["nm", *options, path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1] for line in output.splitlines() if line.strip()}


def strict_libraries(subject):
    """The libraries in lib/strict export what the others do, and alone contain the strict channel."""
    sentence = b"is not a valid line length; use 32 or 64"
    for pair in subject.both():
        exported = [symbols(path, "-D", "--defined-only") for path in pair]
        assert exported[0] == exported[1], f"{pair[0].name}: not in both: {sorted(exported[0] ^ exported[1])[:20]}"
        debug = [symbols(path.parent / ".debug" / f"{path.name}.debug") for path in pair]
        contained = [any("towpath_strict" in name for name in names) for names in debug]
        assert contained == [False, True], f"{pair[0].name} contains the strict channel: {contained[0]}, that of lib/strict: {contained[1]}"
        assert [sentence in path.read_bytes() for path in pair] == [False, True], pair[0].name


def strict_channel(subject):
    """Without mpiexec a program finds the library without the strict channel, which says where the other one is."""
    program = environments.compiled_test(subject.prefix, "topologies/layout")

    def run(**more):
        environment = environments.clean_environment(TOWPATH_CHANNEL="strict", **more)
        done = subprocess.run([program, "ring"], capture_output=True, text=True, env=environment, timeout=120)
        return done.returncode, done.stdout + done.stderr

    code, said = run()
    assert code != 0 and "this library is built without it; start the program with Towpath's mpiexec, or put" in said, (code, said)
    code, said = run(LD_LIBRARY_PATH=subject.prefix / "lib" / "strict", TOWPATH_STRICT_LINE_BYTES=48)
    complaint = "TOWPATH_STRICT_LINE_BYTES=48 is not a valid line length"
    assert code != 0 and complaint in said, (code, said)


def wheel_is_complete(subject):
    """The wheel holds every file of the layout, programs are executable, and the environment has got them."""
    with zipfile.ZipFile(subject.wheel) as archive:
        modes = {info.filename.partition(".data/")[2]: info.external_attr >> 16 for info in archive.infolist()}
        modules = {info.filename for info in archive.infolist()}
    for name, path in subject.files.items():
        if name.startswith("lib/python/"):
            assert name.removeprefix("lib/python/") in modules, f"{name} is not in {subject.wheel.name}"
            continue
        stored = name.replace("bin/", "scripts/", 1) if name.startswith("bin/") else f"data/{name}"
        assert stored in modes, f"{stored} is not in {subject.wheel.name}"
        assert not name.startswith("bin/") or modes[stored] & 0o111, f"{name} is not executable in the wheel"
        installed = subject.venv / name
        assert installed.exists(), f"{installed} was not installed"
        # pip may rewrite a script's first line; a library must come through as it was.
        assert not name.startswith("lib/") or installed.read_bytes() == path.read_bytes(), f"{installed} has changed"


def debugging_apart(subject):
    """Files are stripped; symbols and line tables lie beside them, where debuggers look; the wheel is small without them."""
    for name, path in subject.binaries.items():
        if name.startswith("lib/") and path.name not in KEPT | {"libtowpath-malloc.so"}:
            continue  # It holds nothing, and leads to another library.
        sections = subprocess.run(["readelf", "-W", "-S", path], capture_output=True, text=True, check=True).stdout
        # `.debug_gdb_scripts` stays: a loaded section, which names Rust's printers for debuggers.
        left = [section for section in (".symtab", ".debug_info", ".debug_line") if section in sections]
        assert not left, f"{name} is not stripped: it has {' and '.join(left)}"
        debug = path.parent / ".debug" / f"{path.name}.debug"
        assert ".gnu_debuglink" in sections and debug.exists(), f"{name} leads to no {debug}"
        kept = subprocess.run(["readelf", "-W", "-S", debug], capture_output=True, text=True, check=True).stdout
        assert ".symtab" in kept and ".debug_line" in kept, f"{debug} has no line tables"
    size = subject.wheel.stat().st_size
    assert size <= LARGEST_WHEEL, f"{subject.wheel.name} has {size} bytes"


def info(subject):
    """`towpath info --json` of the wheel is JSON, finds every MPI library that is installed, and all are of its own version."""
    said = json.loads(subject.run(subject.venv / "bin" / "towpath", "info", "--json", "--ranks", "2"))
    assert {"installed", "machine", "choices", "networks", "settings"} <= set(said), sorted(said)
    networks = said["networks"]
    assert networks["choice"]["value"] and {"fabric_devices", "libfabric", "super_frames"} <= set(networks), networks
    installed = said["installed"]
    own = installed["towpath"]["value"]
    shared = {name for name in subject.libraries() if re.search(r"^libmpi.*\.so\.\d+$", name)}
    assert shared and shared <= set(installed), f"not mentioned: {shared - set(installed)}"
    for name in [name for name in installed if name.startswith("lib")]:
        row = installed[name]
        assert f"{row['value']} ".startswith(f"{own} "), f"{name}: {row}, but this is {own}"
        assert Path(row["path"]) == subject.venv.resolve() / "lib" / name or Path(row["path"]) == subject.venv / "lib" / name, row
    assert installed["mpiexec"]["value"] == "this one", installed["mpiexec"]
    text = subject.run(subject.venv / "bin" / "towpath", "info")
    assert all(setting in text for setting in said["settings"]), text


def ring(subject):
    """mpi4py's wheel finds the library by itself and runs on 4 ranks."""
    output = subject.run("mpiexec", "-n", 4, "python", ROOT / "examples" / "ring.py")
    loaded = subject.run("python", "-c", "from mpi4py import MPI; print(MPI.Get_library_version(), open('/proc/self/maps').read())")
    assert output.strip() and loaded.startswith("Towpath"), loaded[:200]
    assert f"{subject.venv.resolve()}/lib/libmpi.so.12" in loaded, loaded[:200]


def charm_links(subject):
    """By the links that `towpath link-charm` makes, a program of Charm++ is translated, compiled and run."""
    with tempfile.TemporaryDirectory() as directory:
        links = Path(directory, "links")
        subject.run(subject.venv / "bin" / "towpath", "link-charm", links)
        for name in ("hello.ci", "hello.C"):
            shutil.copy(ROOT / "examples/charm" / name, directory)
        script = "charmc hello.ci && charmc -o hello hello.C && charmrun +p2 ./hello ++local"
        done = subject.run("sh", "-ec", f'cd "$1"; PATH="$1/links:$PATH"; {script}', "sh", directory)
        assert re.search(r"\bright$", done, re.M), done


def mpirun(subject):
    """`mpirun` is `mpiexec`, by whatever link it is reached, with its arguments as they are."""
    link = environments.BUILD / "linked-mpirun"
    link.unlink(missing_ok=True)
    link.symlink_to(subject.venv / "bin" / "mpirun")
    for command in ("mpirun", link):
        output = subject.run(command, "-n", 2, "sh", "-c", 'echo "$1"', "sh", "two  words *")
        assert output.splitlines() == ["two  words *"] * 2, output


def shared_malloc(subject):
    """With TOWPATH_MALLOC=1 the arrays of NumPy lie in shared memory."""
    output = subject.run("mpiexec", "-n", 2, "python", ROOT / "tests" / "external" / "numpy_malloc.py", TOWPATH_MALLOC=1)
    assert output.split() == ["ok", "ok"], output


def auditor(subject):
    """The Python packagers' own tool agrees with the tag."""
    tools = environments.venv("zig") / "bin"
    environment = environments.clean_environment(PATH=f"{tools}:/usr/bin:/bin")
    done = subprocess.run([tools / "auditwheel", "show", subject.wheel], capture_output=True, text=True, env=environment)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'consistent with the following platform tag: "{subject.tag}"' in said, said


def oldest_compiler(subject):
    """Towpath compiles with the oldest Rust that Cargo.toml promises, where rustup can get that."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    rustup = shutil.which("rustup")
    install = [rustup, "toolchain", "install", version, "--profile", "minimal", "--no-self-update"]
    if not rustup or subprocess.run(install, capture_output=True).returncode:
        print(f"     Rust {version} cannot be had here: nothing is compiled with it", flush=True)
        return
    packages = [word for name in ("abi-mpich", "abi-standard", "malloc", "launch") for word in ("-p", f"towpath-{name}")]
    command = ["cargo", f"+{version}", "check", "-q", *packages, "-p", "xtask", "--features", "strict"]
    command += ["--target-dir", ROOT / "target" / "oldest"]
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


CHECKS = [tag_says_which_glibc, needed_libraries, names_of_libraries, unwinder, strict_libraries, strict_channel, wheel_is_complete,
          debugging_apart, info, ring, charm_links, mpirun, shared_malloc]


def interfaces(subject):
    """The checks of tests/abi on what the wheel installed: names, twins, versions, scripts, CMake; their count."""
    done = subprocess.run([sys.executable, ROOT / "tests/abi/run.py", "--prefix", subject.venv], capture_output=True, text=True)
    sys.stdout.write(done.stdout + done.stderr)
    counts = re.findall(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
    return (int(counts[-1][0]), int(counts[-1][1])) if counts else (0, 1)


def check(function, subject):
    try:
        function(subject)
    except (AssertionError, KeyError, ValueError, subprocess.SubprocessError) as error:
        print(f"FAIL {function.__name__}: {error or traceback.format_exc()}", flush=True)
        return False
    print(f"ok   {function.__name__}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manylinux", action="store_true")
    if parser.parse_args().manylinux:
        subject, checks = Subject("install-manylinux", "manylinux", "towpath-manylinux"), [*CHECKS, auditor]
        assert subject.tag.startswith("manylinux_{}_{}_".format(*MANYLINUX)), f"{subject.wheel.name} is for other systems"
        passed, failed = interfaces(subject)
    else:
        subject, checks, passed, failed = Subject("install", "dist", "towpath"), [*CHECKS, oldest_compiler], 0, 0
    results = [check(function, subject) for function in checks]
    passed, failed = passed + sum(results), failed + len(results) - sum(results)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
