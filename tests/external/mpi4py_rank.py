"""One rank of mpi4py's own test suite: runs its test/main.py and writes what happened to each test into a file of this rank.

    mpi4py_rank.py DIRECTORY LIBRARY_DIRECTORY test/main.py [arguments of main.py]

Every line of DIRECTORY/rank-N is "event<TAB>test<TAB>text"; the line "start" is written before a
test runs, so after a hang or a crash the last line names the test. The first line says which MPI
library was loaded; one outside LIBRARY_DIRECTORY ends the run.
"""

import os
import re
import runpy
import sys
import unittest
from pathlib import Path

directory, library_directory = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
sys.argv = sys.argv[3:]

from mpi4py import MPI  # noqa: E402

out = open(directory / f"rank-{MPI.COMM_WORLD.Get_rank()}", "w", buffering=1)


def note(event, test, text=""):
    out.write(f"{event}\t{test}\t{' '.join(str(text).split())}\n")


class Recording(unittest.TextTestResult):
    """Writes every result as it happens."""

    def startTest(self, test):
        note("start", test.id())
        super().startTest(test)

    def addSuccess(self, test):
        note("pass", test.id())
        super().addSuccess(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        note("fail", test.id(), self.failures[-1][1][-1500:])

    def addError(self, test, err):
        super().addError(test, err)
        note("fail", test.id(), self.errors[-1][1][-1500:])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            note("fail", test.id(), f"{subtest} {err[1]}")

    def addSkip(self, test, reason):
        note("skip", test.id(), reason)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        note("skip", test.id(), "expected failure")
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        note("pass", test.id())
        super().addUnexpectedSuccess(test)


loaded = sorted(set(re.findall(r"/\S*/libmpi(?:ch|_abi)?\.so\S*", Path("/proc/self/maps").read_text())))
note("library", MPI.Get_library_version().splitlines()[0], " ".join(loaded))
foreign = [path for path in loaded if library_directory not in Path(path).resolve().parents]
if foreign or not loaded:
    note("foreign", "library", " ".join(foreign) or "none was loaded")
    MPI.COMM_WORLD.Abort(3)


def without(real, name):
    """The class, but with a constructor that says what the suite expects of a library that lacks it."""

    def missing(*_arguments):
        raise NotImplementedError

    return type(real.__name__, (real,), {name: staticmethod(missing)})


def import_without_sessions_and_files():
    """Imports the two modules that try a session and a file while they are imported; their other classes then run."""
    session, file = MPI.Session, MPI.File
    MPI.Session, MPI.File = without(session, "Init"), without(file, "Open")
    try:
        __import__("test_exceptions")
        __import__("test_subclass")
    finally:
        MPI.Session, MPI.File = session, file


unittest.TextTestRunner.resultclass = Recording
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
sys.modules["cupy"] = sys.modules["numba"] = None
try:
    MPI.Session.Init().Finalize()
except MPI.Exception:
    import_without_sessions_and_files()
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    note("end", "suite")
    out.flush()
