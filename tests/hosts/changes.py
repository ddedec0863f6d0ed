#!/usr/bin/env python3
"""What becomes of jobs whose network has its faults, or changes while they run: they go on, or end
with a sentence in time.

    changes.py --prefix DIRECTORY      with an installed Towpath (bin, lib); all rows
    changes.py --filter REGEX          only some of the rows
    changes.py --seed N                leaders of hosts stop or die at other moments
    changes.py --long                  they stop for 10 s, not for 2 s

Most rows run tests/hosts/changes.c, which exchanges messages before and after something is done to
the network; the others members.c, of which a member goes, or leaders.c, which makes collectives
while leaders of hosts are stopped or killed, or a link is cut.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import hosts  # noqa: E402
import rows  # noqa: E402

# A job that takes longer hangs.
LIMIT = 60
EVERYWHERE = "for host in $(echo $HOSTS_NAMES | tr , ' '); do $HOSTS_RUN $host {} || exit 1; done"


def everywhere(command):
    """Shell that does this on all hosts."""
    return EVERYWHERE.format(command)


SHORTER = everywhere("ip link set eth0 mtu 1400")
# The switch believes that the second host is where the third one is, until it hears from the
# second.
POISON = """sleep 0.5
hardware=$(ip -n host1 -json link show eth0 2>/dev/null | sed 's/.*"address":"\\([^"]*\\)".*/\\1/')
nsenter --net=/proc/1/ns/net bridge fdb replace $hardware dev port0-2 master dynamic"""
OTHER_ADDRESS = """$HOSTS_RUN host1 sh -c '
    ip address add 10.77.0.77/24 dev eth0; ip address del 10.77.0.2/24 dev eth0'"""
OTHER_HARDWARE = "$HOSTS_RUN host1 ip link set eth0 address 02:00:00:00:00:77"
# The host that has changed says how; the other one may be the first to end the job.
UNREACHED = (
    r"(?:cannot be reached any more: {}|rank 1 has given up on this rank: its host cannot reach)"
)
MOVED = UNREACHED.format(
    r"eth0 had the address 10\.77\.0\.2 when the job started and no longer has it"
)
CHANGED = UNREACHED.format(
    r"the Ethernet address of eth0 was .* when the job started and is 02:00:00:00:00:77"
)
CUT = "nsenter --net=/proc/1/ns/net ip link set port0-1 nomaster"
BROKEN = r"the connection to rank \d is broken: Connection timed out"
BULK = {"TOWPATH_CLIC_BULK": "frames"}
SOON = {"TOWPATH_TCP_TIMEOUT_SECONDS": "3"}
UDP = {"TOWPATH_NETWORK": "udp"}
NETWORKS = [
    ("TCP", {"TOWPATH_NETWORK": "tcp"}),
    ("TCP beside frames", {}),
    ("large messages by frames", BULK),
]
# A shell above each rank outlives it: mpiexec does not hear at once of one that is killed, and
# would end the job.
OUTLIVED = ["sh", "-c", '"$0" "$@" || { sleep 3; exit 1; }']
# The ranks of three hosts, of which 0, 3 and 6 lead their hosts.
LEADERS = {"network": "--hosts 3", "ranks": 9}
COLLECTIVE_NETWORKS = [("TCP", {"TOWPATH_NETWORK": "tcp"}), ("CLIC", {"TOWPATH_NETWORK": "clic"})]
LOST = r"rank \d, MPI_\w+ fails: .*rank {}, which takes part in the collective, is lost: "
ABORTED = r"(.|\n)*".join(
    rf"the {which} receive: MPI_ERR_PROC_ABORTED: .*rank 1" for which in ("first", "second")
)


@dataclass
class Row:
    """A job, and how it ends."""

    name: str
    # Options of hosts.py, and settings.
    network: str = "--hosts 2"
    settings: dict = field(default_factory=dict)
    # Shell that is run before the job, and while it runs.
    before: str = ""
    trouble: str = "true"
    longest: int = 1 << 20
    seconds: float = 1
    ranks: int = 2
    # What is run: changes.c, or members.c with this word, or leaders.c with these.
    members: str = ""
    leaders: tuple = ()
    calls: str = "MPI_"
    # A regular expression of what the job says when it ends with an error, so many seconds after
    # the trouble at most; none: it goes on.
    sentence: str = ""
    within: float = 20


ROWS = [
    # Either host may be the first to find that.
    Row(
        "the other host has its loopback only",
        before="ip -n host1 address flush dev eth0",
        settings={"TOWPATH_NETWORK": "tcp"},
        sentence="rank [01] cannot be reached: "
        "its host has published no address that is reachable from this one",
    ),
    # Addresses are tentative for a while after an interface is up.
    Row(
        "link-local addresses only",
        before=everywhere(
            "sh -c 'ip -4 address flush dev eth0; "
            "while ip -6 address show dev eth0 2>/dev/null | grep -q tentative; do sleep 0.1; done'"
        ),
    ),
    Row("shorter packets", "--hosts 2 --mtu 9000", trouble=SHORTER, seconds=3),
    Row(
        "shorter packets, large messages by frames",
        "--hosts 2 --mtu 9000",
        BULK,
        trouble=SHORTER,
        seconds=3,
    ),
    Row("shorter packets by UDP", "--hosts 2 --mtu 9000", UDP, trouble=SHORTER, seconds=3),
    # A rule of the kernel for one of the others only.
    Row(
        "UDP to one host is forbidden",
        "--hosts 3",
        UDP,
        trouble="ip route add prohibit 10.77.0.2",
        ranks=3,
        sentence=r"rank 1 cannot be reached any more: eth0 accepts no frames \(Permission denied",
        within=8,
    ),
    # IPv6 sends frames of its own, from which the switch would learn.
    Row(
        "a switch that looks for a waiting host elsewhere",
        "--hosts 3 --kernels",
        BULK,
        trouble=POISON,
        ranks=3,
        before=everywhere("sysctl -qw net.ipv6.conf.all.disable_ipv6=1"),
    ),
    Row(
        "a link is cut, TCP",
        "--hosts 3",
        {"TOWPATH_NETWORK": "tcp", **SOON},
        trouble=CUT,
        ranks=3,
        sentence=BROKEN,
    ),
    Row(
        "a link is cut, TCP beside frames",
        "--hosts 3 --kernels",
        SOON,
        trouble=CUT,
        ranks=3,
        sentence=BROKEN,
    ),
    Row("another internet address", trouble=OTHER_ADDRESS, sentence=MOVED, within=6),
    Row(
        "another internet address, large messages by frames",
        settings=BULK,
        trouble=OTHER_ADDRESS,
        sentence=MOVED,
        within=6,
    ),
    Row(
        "another internet address, by UDP",
        settings=UDP,
        trouble=OTHER_ADDRESS,
        sentence=MOVED,
        within=6,
    ),
    Row("another Ethernet address", trouble=OTHER_HARDWARE, sentence=CHANGED, within=6),
    Row(
        "another Ethernet address, large messages by frames",
        settings=BULK,
        trouble=OTHER_HARDWARE,
        sentence=CHANGED,
        within=6,
    ),
    # Without a connection nobody but mpiexec notices that.
    *[
        Row(f"a member is killed, {name}", settings=settings, members="killed", sentence=ABORTED)
        for name, settings in NETWORKS[:2]
    ],
    *[
        Row(
            f"a member leaves in order, {name}",
            "--hosts 3 --kernels",
            settings,
            members="left",
            ranks=3,
        )
        for name, settings in NETWORKS
    ],
    *[
        Row(
            f"leaders are stopped, {name}",
            settings=settings,
            leaders=("stopped", "0,3,6"),
            **LEADERS,
        )
        for name, settings in COLLECTIVE_NETWORKS
    ],
    # Who waits for another rank than the dead one learns of it from mpiexec only.
    *[
        Row(
            f"a leader is killed, {name}",
            settings=settings,
            leaders=("killed", 3),
            sentence=rf"{LOST.format(3)}|mpiexec: rank 3 \(.*the job is ended",
            **LEADERS,
        )
        for name, settings in COLLECTIVE_NETWORKS
    ],
    *[
        Row(
            f"a leader is killed in MPI_Allreduce, {name}",
            settings=settings,
            leaders=("killed", 3),
            calls="MPI_Allreduce",
            sentence=LOST.format(3),
            **LEADERS,
        )
        for name, settings in COLLECTIVE_NETWORKS
    ],
    *[
        Row(
            f"the link of a leader is cut, {name}",
            settings={**settings, **SOON},
            leaders=("done", CUT),
            sentence=LOST.format(r"\d"),
            **LEADERS,
        )
        for name, settings in COLLECTIVE_NETWORKS
    ],
]


def program(row, options):
    directory = environments.BUILD / "tests/hosts"
    if row.members:
        return [*OUTLIVED, directory / "members", row.members]
    if row.leaders:
        how_often = (3, 10) if options.long else (1, 2)
        words = (*row.leaders, *(how_often if row.leaders[0] == "stopped" else ()), options.seed)
        return [*OUTLIVED, directory / "leaders", row.calls, *words]
    return [directory / "changes", row.longest, row.seconds, row.trouble]


def inside(options):
    """On the first host: runs the job."""
    row = next(row for row in ROWS if row.name == options.row)
    if row.before:
        subprocess.run(["sh", "-c", row.before], check=True)
    names = os.environ["HOSTS_NAMES"].split(",")
    command = [
        options.prefix / "bin/mpiexec",
        "--hosts",
        ",".join(names),
        "-ppn",
        row.ranks // len(names),
        "--launcher",
        f"{os.environ['HOSTS_RUN']} {{host}}",
        "-n",
        row.ranks,
        *program(row, options),
    ]
    os.execv(command[0], [str(word) for word in command])


class Output:
    """What a job says, line by line, and when it said that the trouble was done."""

    def __init__(self, job):
        self.lines, self.done = [], time.monotonic()
        self.reader = threading.Thread(target=self.read, args=[job])
        self.reader.start()

    def read(self, job):
        for line in job.stdout:
            self.lines.append(line)
            if line == "done\n":
                self.done = time.monotonic()

    def text(self):
        self.reader.join()
        return "".join(self.lines)


def judge(row, status, text, seconds):
    """What is wrong with a job that has ended so many seconds after the trouble."""
    if not row.sentence:
        ok = text.split().count("ok")
        return (
            []
            if status == 0 and ok == row.ranks
            else [f"ended with {status}, {ok} of {row.ranks} ranks said ok"]
        )
    problems = [] if status else ["ended without an error"]
    if not re.search(row.sentence, text):
        problems.append(f"does not say: {row.sentence}")
    return problems + (
        [f"ended {seconds:.1f} s after the trouble only"] if seconds > row.within else []
    )


def run_row(prefix, inner, row):
    """Problems of a row (None: not tested here), a few words, and the job's output."""
    command = [
        sys.executable,
        HERE / "hosts.py",
        *row.network.split(),
        "--",
        sys.executable,
        __file__,
        "--prefix",
        prefix,
        "--row",
        row.name,
        *inner,
    ]
    with subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environments.clean_environment(**row.settings),
    ) as job:
        output = Output(job)
        try:
            status = job.wait(LIMIT)
        except subprocess.TimeoutExpired:
            # It takes all of its processes with it.
            job.terminate()
            return [f"still ran after {LIMIT} s"], "", output.text()
        seconds = time.monotonic() - output.done
    if status == hosts.SKIPPED:
        return None, output.text().strip(), ""
    return (
        judge(row, status, output.text(), seconds),
        f"{seconds:.1f} s after the trouble",
        output.text(),
    )


def compile_programs(prefix):
    """Builds the programs of all rows for the Towpath that is installed there."""
    directory = environments.BUILD / "tests/hosts"
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("changes", "members", "leaders"):
        source, binary = HERE / f"{name}.c", directory / name
        command = [prefix / "bin/mpicc", "-std=gnu11", "-O1", "-Wall", source, "-o", binary]
        subprocess.run(
            [str(word) for word in command], env=environments.clean_environment(), check=True
        )


def main():
    parser = rows.parser(__doc__)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--long", action="store_true")
    options = parser.parse_args()
    if options.row:
        return inside(options)
    named = [(row.name, row) for row in ROWS]
    inner = ["--seed", options.seed, *(["--long"] if options.long else [])]

    def prepare(prefix):
        compile_programs(prefix)
        return inner

    return rows.run_all(options, prepare, named, run_row)


if __name__ == "__main__":
    sys.exit(main())
