#!/usr/bin/env python3
"""`towpath tune` on several hosts: what it measures, and that later jobs use it.

    tune.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    tune.py --filter REGEX        only some of the rows

Each row makes four hosts, measures them, and then runs tests/hosts/ways.c on three of them, where
the first rank of each asks `towpath info --topology` about itself.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import ways  # noqa: E402

SLOW = "host2"
# Bits per second of the slow host, and how far off the measurement may be.
RATE = 200e6
NEAR = 0.25
NETWORK = f"--hosts 4 --slow {SLOW}={RATE / 1e6:.0f}mbit"
UNITS = {"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
ROWS = {
    "a slow host is found, and later jobs know": [],
    "--topology none": ["--topology", "none"],
}


def ran(options):
    """On the first host: measures, runs a job, and prints what became of them as JSON."""
    launcher = ["--launcher", f"{os.environ['HOSTS_RUN']} {{host}}"]
    prefix, limits = options.prefix, {"timeout": ways.LIMIT, "stdin": subprocess.DEVNULL}
    hosts = os.environ["HOSTS_NAMES"]
    tune = [prefix / "bin/towpath", "tune", "--hosts", hosts, *launcher]
    tuned = subprocess.run([str(word) for word in tune], text=True, capture_output=True, **limits)
    stored = Path(os.environ["XDG_CONFIG_HOME"]) / "towpath/topology.toml"
    where = ["--hosts", "host0:1,host2:1,host3:1", *launcher, "-n", 3, "-v", "-l"]
    program = [options.binary, prefix / "bin/towpath", "--topology"]
    command = [prefix / "bin/mpiexec", *ROWS[options.row], *where, *program]
    job = subprocess.run([str(word) for word in command], text=True, capture_output=True, **limits)
    outcome = {
        "tune": [tuned.returncode, tuned.stdout, tuned.stderr],
        "file": stored.read_text() if stored.exists() else "",
        "job": [job.returncode, job.stdout, job.stderr],
    }
    print(json.dumps(outcome))


def bits(rate):
    """A rate of a topology file in bits per second."""
    number, unit = rate.split()[:2]
    return float(number) * UNITS[unit]


def judge_file(text):
    """What is wrong in the file."""
    links = tomllib.loads(text)["link"]
    slow = [link for link in links if link["hosts"] == SLOW]
    if len(slow) != 1 or not text.startswith("# Measured by towpath tune --hosts host0,host1,"):
        return ["the file does not have the slow host alone"]
    problems = []
    if abs(bits(slow[0]["rate"]) - RATE) > NEAR * RATE:
        problems.append(f"the slow host has the rate {slow[0]['rate']}")
    others = [link for link in links if link["hosts"] != SLOW]
    problems += [f"{link} is slow" for link in others if bits(link["rate"]) < 2 * RATE]
    return problems


def judge(row, outcome):
    """What is wrong."""
    (status, said, errors), (ended, output, notes) = outcome["tune"], outcome["job"]
    if status or errors or "4 hosts, 6 pairs, stored in" not in said:
        return [f"towpath tune ended with {status}: {said}{errors}"]
    problems = judge_file(outcome["file"])
    if ended or output.split().count("ok") != 3:
        return [*problems, f"the job ended with {ended}: {notes}"]
    in_use = "in use as the topology file, as measured by towpath tune" in notes
    if in_use == bool(ROWS[row]):
        problems.append(f"mpiexec -v says: {notes}")
    for host, report in enumerate(ways.reports(output)):
        rates = [line["rate"] for line in report["hosts"].values()]
        if ROWS[row]:
            expected = not any("measured" in rate for rate in rates)
        else:
            expected = all(rate.endswith(" (measured)") for rate in rates)
            expected = expected and abs(bits(rates[1]) - RATE) <= NEAR * RATE
        if len(rates) != 3 or not expected:
            problems.append(f"host {host} says of the hosts: {rates}")
    return problems


def run_row(prefix, binary, row):
    """Problems (None: not tested here), what was measured, and the output of all commands."""
    with tempfile.TemporaryDirectory() as directory:
        words = [__file__, "--prefix", prefix, "--row", row, "--binary", binary]
        outcome, instead = ways.on_hosts(NETWORK, words, {"XDG_CONFIG_HOME": directory})
    if instead:
        return instead
    output = "\n".join(str(part) for part in (*outcome["tune"], *outcome["job"]))
    return judge(row, outcome), "", output


if __name__ == "__main__":
    sys.exit(ways.main(__doc__, ROWS, (), ran, run_row))
