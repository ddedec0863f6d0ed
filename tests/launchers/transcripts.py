#!/usr/bin/env python3
"""The transcripts of docs/hosts.md: each is run as it stands there, and must print what stands there.

    transcripts.py --prefix DIRECTORY  with an installed Towpath (bin, lib)
    transcripts.py --filter REGEX      only some of them

Above each transcript stands in bold who starts the program. A launcher that is not installed is left out with a sentence. Ranks
print in any order; so lines are compared sorted.
"""

import argparse
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "hosts")]
import environments  # noqa: E402
import hosts  # noqa: E402
import slurm  # noqa: E402

DOCUMENT = environments.ROOT / "docs/hosts.md"
TRANSCRIPT = re.compile(r"^\*\*(?P<name>[^*\n]+)\*\*\n\n```\n\$ (?P<command>.+)\n(?P<output>(?:.+\n)+)```$", re.MULTILINE)
# Whose launcher stands first in PATH.
MAKERS = {"MPICH": "mpich", "Intel MPI": "intel", "Open MPI": "openmpi"}
SETTINGS = {"I_MPI_FABRICS": "shm", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def compile_ring(prefix):
    """The directory with the program of all transcripts."""
    directory = environments.BUILD / "tests/transcripts"
    directory.mkdir(parents=True, exist_ok=True)
    words = [prefix / "bin/mpicc", "-O1", "-o", directory / "ring",
             environments.ROOT / "examples/ring.c"]
    environments.command(words, "transcripts-ring.log", env=environments.clean_environment())
    return directory


class Places:
    """Where transcripts run: what stands before the command, and which variables."""

    def __init__(self, prefix, stack):
        self.prefix, self.stack, self.of_slurm = prefix, stack, None

    def of(self, name):
        """Words and variables for a launcher, or the reason why it is not here."""
        bin_directory, variables, before = self.prefix / "bin", {}, []
        if name.startswith("Slurm"):
            if self.of_slurm is None:
                self.of_slurm = slurm.provide() or self.stack.enter_context(slurm.cluster(2, 4))
            if isinstance(self.of_slurm, str):
                return None, self.of_slurm
            if "PMIx" in name and not slurm.pmix_works():
                return None, "Slurm's plugin finds no PMIx library (on Debian: apt-get install libpmix-dev)."
            variables = self.of_slurm
        elif name.startswith("Towpath"):
            if reason := hosts.forbidden():
                return None, reason
            before = [sys.executable, HERE.parent / "hosts/hosts.py", "--hosts", "2", "--"]
        else:
            maker = next((maker for start, maker in MAKERS.items() if name.startswith(start)), None)
            if maker is None:
                raise SystemExit(f"{DOCUMENT.name}: nobody knows how to run the transcript '{name}'")
            bin_directory = environments.venv(maker) / "bin"
        path = f"{bin_directory}:{os.environ['PATH']}"
        return before, environments.clean_environment(PATH=path, LD_LIBRARY_PATH=self.prefix / "lib", **SETTINGS, **variables)


def run(name, command, output, place, directory):
    """Whether a transcript is still true; None: not tested here."""
    before, variables = place
    if before is None:
        print(f"skipped: {name}: {variables}")
        return None
    words = [str(word) for word in (*before, "sh", "-c", command)]
    done = subprocess.run(words, env=variables, cwd=directory, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)
    is_true = done.returncode == 0 and sorted(done.stdout.splitlines()) == sorted(output.splitlines())
    print(f"{'ok  ' if is_true else 'FAIL'} transcript: {name}", flush=True)
    if not is_true:
        print(f"     ended with {done.returncode} and printed\n{done.stdout}{done.stderr}     where the document has\n{output}")
    return is_true


def test(prefix, pattern=""):
    """Runs the transcripts; gives how many are true and how many are not."""
    wanted = [match for match in TRANSCRIPT.finditer(DOCUMENT.read_text()) if re.search(pattern, match["name"])]
    if not pattern and len(wanted) != DOCUMENT.read_text().count("\n$ "):
        raise SystemExit(f"{DOCUMENT.name} has transcripts that are not written as the others are")
    directory = compile_ring(prefix)
    with ExitStack() as stack:
        places = Places(prefix, stack)
        results = [run(match["name"], match["command"], match["output"],
                       places.of(match["name"]), directory) for match in wanted]
    return results.count(True), results.count(False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    passed, failed = test((options.prefix or environments.towpath_venv()).resolve(), options.filter)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
