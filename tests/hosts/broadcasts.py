#!/usr/bin/env python3
"""Do broadcasts go to all hosts at once, where they should? tests/mpi/collectives/multicast counts what four hosts send meanwhile.

    broadcasts.py --prefix DIRECTORY   with an installed Towpath (bin, lib); all rows
    broadcasts.py --filter REGEX       only some of the rows

What goes to a group is sent about once, what goes by messages once for each of the other hosts.
"""

import argparse
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import rows  # noqa: E402

# Shell: no host believes where datagrams to groups come from; the bridge passes nothing on to more than one.
NO_UDP = """for host in $(echo $HOSTS_NAMES | tr , ' '); do
    $HOSTS_RUN $host sh -c 'sysctl -qw net.ipv4.conf.all.rp_filter=1; ip rule add from 239.255.0.0/16 to 10.77.0.0/24 blackhole' || exit 1
done"""
NOTHING = """for port in 0 1 2 3; do
    nsenter --net=/proc/1/ns/net bridge link set dev port0-$port mcast_flood off || exit 1
done"""
CLIC = {"TOWPATH_NETWORK": "clic"}
# Name, options of hosts.py, variables, ranks, what is done to the network (by the job, after the word "later"), and how often what is
# broadcast must be sent.
ROWS = [
    ("frames of 1500 bytes", "", CLIC, 4, None, "once"),
    ("frames of 9000 bytes", "--mtu 9000", CLIC, 4, None, "once"),
    ("two ranks on each host", "--mtu 9000", CLIC, 8, None, "once"),
    ("large messages by frames", "", {**CLIC, "TOWPATH_CLIC_BULK": "frames"}, 4, None, "once"),
    ("by UDP", "", {"TOWPATH_NETWORK": "udp"}, 4, None, "once"),
    ("by UDP, 9000 bytes", "--mtu 9000", {"TOWPATH_NETWORK": "udp"}, 4, None, "once"),
    # How much goes again depends on how busy the machine is.
    ("frames that get lost", "--loss 2 --seed 4", CLIC, 4, None, "any"),
    ("lost, doubled and late", "--mtu 9000 --loss 1 --duplicate 1 --reorder 1 --seed 5", CLIC, 4, None, "any"),
    ("UDP to groups gets nowhere", "", {**CLIC, "TOWPATH_CLIC_BULK": "frames"}, 4, NO_UDP, "once"),
    ("nothing to groups gets anywhere", "", CLIC, 4, NOTHING, "each"),
    ("nothing to groups gets anywhere any more", "", CLIC, 4, "later " + NOTHING, "any"),
    ("forbidden", "", {**CLIC, "TOWPATH_COLLECTIVE": "bcast:binomial"}, 4, None, "each"),
    ("TCP", "", {"TOWPATH_NETWORK": "tcp"}, 4, None, "each"),
]
LIMIT = 60


def inside(prefix, binary, ranks, trouble, how):
    """On the first host: sees to the network and becomes the job."""
    run, names = os.environ["HOSTS_RUN"], os.environ["HOSTS_NAMES"].split(",")
    later = trouble.startswith("later ")
    if trouble and not later:
        subprocess.run(["sh", "-c", trouble], check=True)
    command = [prefix / "bin/mpiexec", "--hosts", ",".join(names), "-ppn", ranks // len(names), "--launcher", f"{run} {{host}}", "-n", ranks, binary, how]
    words = [str(word) for word in command] + ([trouble.removeprefix("later ")] if later else [])
    os.execv(words[0], words)


def run_row(prefix, binary, row):
    """Problems of a row (None: not tested here), why it was not tested, and the job's output."""
    _, network, variables, ranks, trouble, how = row
    command = [sys.executable, HERE / "hosts.py", "--hosts", "4", *network.split(), "--", sys.executable, __file__, "--prefix", prefix, "--binary", binary,
               "--ranks", ranks, "--trouble", trouble or "", "--how", how]
    return rows.job(command, variables, ranks, LIMIT)


def main():
    parser = rows.parser(__doc__)
    for inner in ("--binary", "--trouble", "--how"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    parser.add_argument("--ranks", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.how:
        return inside(options.prefix, options.binary, options.ranks, options.trouble, options.how)
    compiled = partial(environments.compiled_test, program="collectives/multicast")
    return rows.run_all(options, compiled, [(row[0], row) for row in ROWS], run_row)


if __name__ == "__main__":
    sys.exit(main())
