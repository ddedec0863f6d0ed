#!/usr/bin/env python3
"""How well `towpath explain` predicts, and how well schedules are chosen: `towpath tune` measures
the links of a cluster, and each collective is measured there as Towpath chooses and with each
algorithm forced.

    predictions.py                         everything, five rounds
    predictions.py --rounds 1 --only 8x1   some clusters, quickly
    predictions.py --table                 the table and the verdicts again, from recorded figures

The hosts are network namespaces (tests/hosts). Each call follows a barrier. The bars: rows that a
link bounds are predicted within 10 %, of the others with a core for each rank nine in ten within a
factor 1.5, and what is chosen never takes more than 1.1 times as long as the fastest forced
algorithm.
"""

import argparse
import csv
import functools
import itertools
import os
import re
import statistics
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import hosts
import libraries
from libraries import environments

CSV = environments.BUILD / "bench" / "predictions.csv"
COLUMNS = ["date", "round", "cluster", "collective", "bytes", "algorithm", "microseconds"]
CHOSEN = "chosen"
# Names in benchmarks/collective.c where they differ from those of `towpath explain`.
PROGRAM_NAMES = {"reduce_scatter": "reduce-scatter"}
LINK_BOUND, FACTOR, SHARE, CHOICE = 0.10, 1.5, 0.9, 1.1
MICROSECONDS = {"us": 1, "ms": 1000, "s": 1_000_000}


@dataclass(eq=False)
class Cluster:
    """Hosts, and what is measured on them."""

    name: str
    options: str
    collectives: list
    sizes: list
    hosts: int
    ranks: int
    link_bound: bool
    pinned: bool = False


SLOW_LINK = "host0=200mbit"
ROOTED = ["bcast", "gather", "scatter", "reduce", "allreduce"]
CLUSTERS = [
    # The root behind a slow link, which bounds everything: so slow, because all hosts share the
    # cores of one machine, and eight ranks need as long as 1 Gbit/s to fold 1 MiB.
    Cluster("slow-8x1", f"--hosts 8 --slow {SLOW_LINK}", ROOTED,
            [65536, 262144, 1048576], 8, 1, True),
    Cluster("slow-8x8", f"--hosts 8 --slow {SLOW_LINK}", ROOTED, [65536], 8, 8, True),
    # A core for each rank.
    Cluster("pair", "--hosts 2",
            ["barrier", *ROOTED, "allgather", "alltoall", "reduce_scatter", "scan"],
            [8, 1024, 32768], 2, 1, False, pinned=True),
]


def arguments_of(cluster, collective, size):
    """Those of `towpath explain`."""
    topology = topology_of(cluster)
    # It takes the hosts in the order in which the file names their links; the root is on the first.
    links = tomllib.loads(topology.read_text())["link"]
    named = ",".join(re.search(r"\d[\d,-]*", link["hosts"])[0] for link in links).split(",")
    ranges = [tuple(map(int, part.split("-"))) for part in named]
    before = itertools.takewhile(lambda numbers: numbers[0] > 0, ranges)
    root = cluster.ranks * sum(numbers[-1] - numbers[0] + 1 for numbers in before)
    return [collective, "--hosts", f"{cluster.hosts}x{cluster.ranks}", "--bytes", str(size),
            "--root", str(root), "--topology", str(topology)]


def topology_of(cluster):
    return environments.BUILD / "bench" / f"predictions-{cluster.name}.toml"


def tune(prefix, cluster):
    """Measures the links in the namespaces."""
    launcher = hosts.OUT / "pinned-run" if cluster.pinned else os.environ["HOSTS_RUN"]
    command = [prefix / "bin" / "towpath", "tune", "--hosts", os.environ["HOSTS_NAMES"],
               "--launcher", f"{launcher} {{host}}", "--output", topology_of(cluster)]
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


def explained(prefix, *arguments):
    command = [prefix / "bin" / "towpath", "explain", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def algorithms(prefix, collective):
    """The names of the algorithms that can be forced, by the sentence about an unknown one."""
    said = explained(prefix, collective, "--hosts", "2x1", "--algorithms", f"{collective}:none")
    return re.search("known are (.*)", said.stderr)[1].split(", ")


def prediction(prefix, cluster, collective, size):
    """Microseconds."""
    result = explained(prefix, *arguments_of(cluster, collective, size))
    found = re.search(r"^Predicted: ([\d.]+) (us|ms|s)\.", result.stdout, re.MULTILINE)
    if not found:
        sys.exit(f"towpath explain {collective}: {result.stderr or result.stdout}")
    return float(found[1]) * MICROSECONDS[found[2]]


@functools.cache
def schedule(prefix, cluster, collective, size, algorithm):
    """The schedule with an algorithm forced, in words."""
    forced = [] if algorithm == CHOSEN else ["--algorithms", f"{collective}:{algorithm}"]
    return explained(prefix, *arguments_of(cluster, collective, size), *forced).stdout


def is_chosen(prefix, cluster, collective, size, algorithm):
    """Whether an algorithm is the chosen one, or cannot be forced in this case. Only known where
    ranks share no cores: `towpath explain` chooses as if each had one to itself."""
    schedules = {schedule(prefix, cluster, collective, size, name)
                 for name in (algorithm, CHOSEN) if cluster.pinned}
    return algorithm == CHOSEN or len(schedules) == 1


def measure(subject, cluster, collective, algorithm):
    """One run in the namespaces: rows of (bytes, microseconds)."""
    settings = {} if algorithm == CHOSEN else {"TOWPATH_COLLECTIVE": f"{collective}:{algorithm}"}
    settings["TOWPATH_TOPOLOGY"] = topology_of(cluster)
    sizes = [0] if collective == "barrier" else cluster.sizes
    name = PROGRAM_NAMES.get(collective, collective)
    figures = ["fixed-span", "0.1", name, *map(str, sizes), "until=2"]
    network = hosts.Network(cluster.name, "", figures, ranks=cluster.hosts * cluster.ranks,
                            hosts=cluster.hosts, pinned=cluster.pinned, collectives=True)
    one = hosts.Subject(subject.name, subject.library, settings)
    return [(size, value) for _, size, value in hosts.measure(one, network)]


def measure_inside(options, cluster, subject):
    tune(options.prefix, cluster)
    date = time.strftime("%Y-%m-%d %H:%M")
    with open(CSV, "a", newline="") as file:
        writer = csv.writer(file)
        for number in range(options.rounds):
            for collective in cluster.collectives:
                for algorithm in [CHOSEN, *algorithms(options.prefix, collective)]:
                    for size, value in measure(subject, cluster, collective, algorithm):
                        row = [date, number, cluster.name, collective, size, algorithm, value]
                        writer.writerow(row)
                file.flush()
            print(f"{cluster.name}: round {number + 1} of {options.rounds}", flush=True)


def medians(prefix, by_name):
    """{(cluster, collective, bytes): {algorithm: microseconds}}. What was measured of the chosen
    algorithm under its own name counts too."""
    figures = defaultdict(lambda: defaultdict(list))
    with open(CSV, newline="") as file:
        for row in csv.DictReader(file):
            key = row["cluster"], row["collective"], int(row["bytes"])
            cluster, algorithm = by_name[row["cluster"]], row["algorithm"]
            if is_chosen(prefix, cluster, row["collective"], int(row["bytes"]), algorithm):
                algorithm = CHOSEN
            figures[key][algorithm].append(float(row["microseconds"]))
    return {key: {name: statistics.median(values) for name, values in by_name.items()}
            for key, by_name in figures.items()}


def report(prefix):
    """The table, and what became of the bars."""
    by_name = {cluster.name: cluster for cluster in CLUSTERS}
    lines = ["| cluster | collective | bytes | predicted us | measured us | measured / predicted "
             "| fastest algorithm | chosen / fastest |", "|---" * 8 + "|"]
    bound, others, choices = [], [], []
    for (name, collective, size), by_algorithm in medians(prefix, by_name).items():
        if CHOSEN not in by_algorithm:
            continue
        cluster, measured = by_name[name], by_algorithm[CHOSEN]
        predicted = prediction(prefix, cluster, collective, size)
        fastest = min(by_algorithm, key=by_algorithm.get)
        ratio, choice = measured / predicted, measured / by_algorithm[fastest]
        (bound if cluster.link_bound else others).append(ratio)
        choices.append(choice)
        lines.append(f"| {name} | {collective} | {size} | {predicted:.0f} | {measured:.0f} "
                     f"| {ratio:.2f} | {fastest} | {choice:.2f} |")
    near = [abs(ratio - 1) <= LINK_BOUND for ratio in bound]
    within = [1 / FACTOR <= ratio <= FACTOR for ratio in others]
    good = [choice <= CHOICE for choice in choices]
    lines += ["", f"Bounded by a link: {sum(near)} of {len(near)} within {LINK_BOUND:.0%} "
              "(bar: all).",
              f"Others with a core for each rank: {sum(within)} of {len(within)} within a factor "
              f"{FACTOR} (bar: {SHARE:.0%}).",
              f"Chosen: {sum(good)} of {len(good)} within {CHOICE} of the fastest algorithm "
              "(bar: all)."]
    return "\n".join(lines)


@environments.segments_swept()
def measure_all(options, chosen):
    CSV.parent.mkdir(parents=True, exist_ok=True)
    CSV.write_text(",".join(COLUMNS) + "\n")
    for cluster in chosen:
        inner = [sys.executable, __file__, "--inside", cluster.name, "--rounds", options.rounds,
                 "--prefix", options.prefix]
        command = [sys.executable, hosts.TEST_HOSTS, *cluster.options.split(), "--", *inner]
        status = subprocess.run([str(word) for word in command]).returncode
        # The script of the hosts has said why it cannot make them.
        if status not in (0, hosts.SKIPPED):
            raise subprocess.CalledProcessError(status, command)


def main():
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--rounds", type=int, default=5)
    names = ", ".join(one.name for one in CLUSTERS)
    parser.add_argument("--only", default="", help=f"clusters that this pattern finds: {names}")
    parser.add_argument("--prefix", type=lambda text: Path(text).absolute(),
                        default=environments.BUILD / "install", help="where Towpath is installed")
    parser.add_argument("--table", action="store_true", help="only print what was recorded")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    own = libraries.Library("towpath", options.prefix, [options.prefix / "bin" / "mpicc"])
    subject = hosts.Subject("towpath", own)
    if options.inside:
        cluster = next(one for one in CLUSTERS if one.name == options.inside)
        return measure_inside(options, cluster, subject)
    if not options.table:
        with environments.lock():
            hosts.build([subject])
            measure_all(options, [one for one in CLUSTERS if re.search(options.only, one.name)])
    print(report(options.prefix))


if __name__ == "__main__":
    main()
