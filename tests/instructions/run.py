#!/usr/bin/env python3
"""Counts the instructions of hot calls under valgrind and compares them with a table: quiet on any machine, unlike a clock.

The bars are about a tenth above what the release build of build/install needs. A call that passes its bar got slower: make it
shorter again, or raise the bar with a reason in the commit. Where valgrind is missing nothing is counted, and a sentence says so.
Ends with "N passed, N failed".
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

ROUNDS = 32
# Most instructions of one round, by function of hot_calls.c (without its `count_`).
BARS = {
    "send": 275,
    "recv": 515,
    "isend_wait": 655,
    "irecv_wait": 1235,
    "iprobe": 355,
    "comm_rank": 57,
    "barrier_self": 172,
    "allreduce_self": 915,
    "ibcast_root": 1640,
    "ibcast_leaf": 1640,
    "scatterv_root": 2325,
    "scatterv_leaf": 1090,
    "gatherv_leaf": 1075,
    "gatherv_root": 2250,
    "start_send_wait": 560,
    "start_recv_wait": 1175,
    "neighbor_alltoall_2_sends": 1190,
    "neighbor_alltoall_2_recvs": 1265,
    "neighbor_alltoallv_2_sends": 2125,
    "neighbor_alltoallv_2_recvs": 2200,
    "ineighbor_alltoall_2_sends": 1440,
    "ineighbor_alltoall_2_recvs": 1510,
    "start_neighbors_2_sends": 1530,
    "start_neighbors_2_recvs": 2745,
}


def inclusive(path):
    """Instructions of each `count_` function with everything that it calls, from one file of callgrind."""
    names, own, below, current, calling = {}, {}, {}, None, False
    for line in path.read_text().splitlines():
        found = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line)
        if found:
            called, number, name = found.groups()
            if name:
                names[number] = re.sub(r"'\d+$", "", name)
            if not called:
                current = names[number]
        elif line.startswith("calls="):
            calling = True
        elif current and re.match(r"[+*\d-]", line):
            cost = int(line.split()[-1])
            place = below if calling else own
            place[current] = place.get(current, 0) + cost
            calling = False
    return {name[6:]: own[name] + below.get(name, 0) for name in own if name.startswith("count_")}


def count(prefix, directory):
    """Instructions of one round of each function."""
    program, flags = directory / "hot_calls", directory / "flags"
    flags.write_bytes(bytes(4096))
    subprocess.run([prefix / "bin" / "mpicc", "-O2", "-g", HERE / "hot_calls.c", "-o", program], check=True)
    tool = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=count_*",
            f"--callgrind-out-file={directory}/out.%p"]
    done = subprocess.run([prefix / "bin" / "mpiexec", "-n", "2", *tool, program, flags], env=environments.clean_environment(),
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if done.returncode or done.stdout.strip() != "ok":
        raise SystemExit(f"the program ended with {done.returncode}: {done.stdout}{done.stderr[-2000:]}\n0 passed, 1 failed")
    counts = {}
    for path in directory.glob("out.*"):
        counts.update(inclusive(path))
    return {name: total / ROUNDS for name, total in counts.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path, default=environments.BUILD / "install")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("valgrind is not installed: the instructions of hot calls are not counted")
        print("1 passed, 0 failed")
        return 0
    with tempfile.TemporaryDirectory() as directory:
        counts = count(options.prefix, Path(directory))
    failed = 0
    for name, bar in BARS.items():
        counted = counts.get(name)
        good = counted is not None and counted <= bar
        failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}: {'not counted' if counted is None else f'{counted:.0f}'} instructions, at most {bar}")
    print(f"{len(BARS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
