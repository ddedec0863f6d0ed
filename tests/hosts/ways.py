"""Jobs of tests/hosts/ways.c on hosts that are network namespaces: how they are run, and what their
ranks say.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import environments
import hosts
import rows

HERE = Path(__file__).resolve().parent
# A job that takes longer hangs.
LIMIT = 60


def compiled(prefix, program="ways"):
    """A program, by its path from this directory, built for the Towpath that is installed there."""
    binary = environments.BUILD / "tests/hosts" / Path(program).name
    binary.parent.mkdir(parents=True, exist_ok=True)
    options = ["-std=gnu11", "-O1", f"-I{HERE.parent / 'mpi'}"]
    command = [prefix / "bin/mpicc", *options, HERE / f"{program}.c", "-o", binary]
    environment = environments.clean_environment()
    subprocess.run([str(word) for word in command], env=environment, check=True)
    return binary


def on_hosts(network, words, settings):
    """Runs a Python command of a test on the first host of a network. Gives the value of its last
    line, which is JSON, and None; or None, and the result of a row that has no such line.
    """
    command = [sys.executable, HERE / "hosts.py", *network.split(), "--", sys.executable, *words]
    command = [str(word) for word in command]
    environment = environments.clean_environment(**settings)
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=2 * LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return None, ([f"the row still ran after {2 * LIMIT} s"], "", "")
    if run.returncode == hosts.SKIPPED:
        return None, (None, run.stdout.strip(), "")
    if run.returncode:
        return None, ([f"ended with {run.returncode}"], "", run.stdout + run.stderr)
    return json.loads(run.stdout.splitlines()[-1]), None


def reports(output):
    """What the first rank of each host reports, in the order of the hosts."""
    of_rank = {}
    for line in output.splitlines():
        found = re.match(r"\[(\d+)\] (.*)", line)
        if found and found[2] != "ok":
            of_rank.setdefault(int(found[1]), []).append(found[2])
    return [json.loads("".join(lines)) for _, lines in sorted(of_rank.items())]


def main(description, names, inner, ran, run_row, program="ways"):
    """Runs the rows of a test, or, on the first host, `ran` with the options `inner`."""
    parser = rows.parser(description)
    for option in ("--row", "--binary", *inner):
        parser.add_argument(option, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        return ran(options)
    def prepare(prefix):
        return compiled(prefix, program)

    return rows.run_all(options, prepare, [(row, row) for row in names], run_row)
