#!/usr/bin/env python3
"""The topology file of a job over several hosts: all ranks know what mpiexec has read.

    topology.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    topology.py --filter REGEX        only some of the rows

Each row runs tests/hosts/ways.c on three hosts, where the first rank of each asks `towpath info
--topology` about itself; the last two tests/hosts/leaf.c on four, and on two hosts
tests/mpi/topologies/reorder.c, whose ranks go to the described sockets in turn.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import rows  # noqa: E402
import ways  # noqa: E402

# Links that the network between the test's hosts does not have, and a host that is not in the job.
WRONG = """
[[link]]
hosts = "host[0-1]"
rate = "1kbit"
latency = "59s"
[[group]]
name = "rack"
hosts = "host[0-1],host9"
latency = "1ms"
[[host]]
hosts = "host[0-2]"
leads = false
processor = 0.001
"""
# What the kernel reports of the links of these hosts.
SYSTEM = "10 Gbit/s (system)"
# Shows a process the devices of its own host under /sys, where the kernel reports their rates.
OWN_SYSTEM = "'mount -t sysfs none /sys && exec \"$@\"' sh"
# What each host is to show: its row, and a cell of it.
FIGURES = {
    "group rack": ("latency", "1 ms (file)"),
    "host host0 to host1 (2 hosts)": ("rate", "1 kbit/s (file)"),
    "host host2": ("leads", "no (file)"),
    "host other hosts": ("rate", "10 Gbit/s (default)"),
}
MISTAKE = "a file with a mistake"
# Ranks go to the sockets in turn, two on each host: neighbours are far apart until they are
# reordered.
LEVELS = '[default]\nlevels = "package 2; core 4; ranks 0,4,1,5,2,6,3,7"\n'
SOCKETS = [0, 1] * 4 + [2, 3] * 4
REORDERED = "ranks are reordered by the levels of a file"
HINT = "the hint of a communicator makes a host a leaf"
ROWS = {
    "a file with wrong figures, by an option": WRONG,
    "a file with wrong figures, by the setting": WRONG,
    "no file": None,
    MISTAKE: WRONG.replace("1kbit", "1kbps"),
    HINT: None,
    REORDERED: LEVELS,
}


def ran(options):
    """On the first host: runs the job, and prints what became of it as JSON."""
    by_setting = options.file and "option" not in options.row
    setting = {"TOWPATH_TOPOLOGY": options.file} if by_setting else {}
    by_option = ["--topology", options.file] if options.file and not setting else []
    launcher = f"{os.environ['HOSTS_RUN']} {{host}} unshare --mount sh -c {OWN_SYSTEM}"
    where = ["--hosts", "host0:2,host1:1,host2:1", "--launcher", launcher, "-n", 4]
    program = [options.binary, options.prefix / "bin/towpath", "--topology"]
    command = [options.prefix / "bin/mpiexec", "-l", *by_option, *where, *program]
    with tempfile.TemporaryFile("w+") as output:
        job = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **setting},
        )
        launcher = watched(job, options.prefix)
        output.seek(0)
        outcome = {"status": job.returncode, "output": output.read(), "launcher": launcher}
    print(json.dumps(outcome))


def watched(job, prefix):
    """What `towpath info` says of the job's mpiexec, last before it ends."""
    ask = [prefix / "bin/towpath", "info", "--json", "--topology", str(job.pid)]
    said, begin = {}, time.monotonic()
    while job.poll() is None:
        if time.monotonic() - begin > ways.LIMIT:
            job.kill()
        answer = subprocess.run(ask, capture_output=True, text=True)
        said = json.loads(answer.stdout).get("hosts", said) if answer.returncode == 0 else said
        time.sleep(0.05)
    return said


def judge(row, outcome):
    """What is wrong."""
    output = outcome["output"]
    if row == MISTAKE:
        expected = "topology file line 4: rate '1kbps' of [[link]] has no unit of a rate"
        told = outcome["status"] == 2 and expected in output and len(output.splitlines()) == 1
        return [] if told else ["the mistake is not reported"]
    if outcome["status"] or output.split().count("ok") != 4:
        return [f"the job ended with {outcome['status']}"]
    said = ways.reports(output)
    problems = [] if len(said) == 3 else [f"{len(said)} hosts have answered"]
    slow = SYSTEM if ROWS[row] is None else "1 kbit/s (file)"
    rates = [slow, slow, SYSTEM]
    problems += wrong_hosts("mpiexec", outcome["launcher"], rates)
    for host, report in enumerate(said):
        figures = report["topology"]
        problems += wrong_hosts(f"host {host}", report["hosts"], rates)
        if ROWS[row] is None:
            if list(figures) != ["host other hosts"]:
                problems.append(f"host {host} has a topology: {figures}")
            continue
        problems += [
            f"host {host} says of {key}: {figures.get(key)}; expected: {cell} {value}"
            for key, (cell, value) in FIGURES.items()
            if figures.get(key, {}).get(cell) != value
        ]
        path = report["hosts"]["2"]["path"]
        if path != "1 kbit/s (file), 59.001 s (default)":
            problems.append(f"host {host} says of the path from host0 to host2: {path}")
    return problems


def wrong_hosts(who, found, rates):
    """What is wrong in what is said of the hosts of a job, whose links shall have these rates."""
    shown = [(line["rate"], line["ranks"]) for line in found.values()]
    if shown != list(zip(rates, (2, 1, 1))) or not all(
        line["ranks_per_core"] for line in found.values()
    ):
        return [f"{who} says of the hosts: {found}"]
    return []


def hint_row(prefix):
    """Runs tests/hosts/leaf.c on four hosts."""
    script = 'exec "$0" --hosts $HOSTS_NAMES --launcher "$HOSTS_RUN {host}" -n 4 "$1"'
    job = ["sh", "-c", script, prefix / "bin/mpiexec", ways.compiled(prefix, "leaf")]
    command = [sys.executable, HERE / "hosts.py", "--hosts", "4", "--", *job]
    return rows.job(command, {"TOWPATH_NETWORK": "tcp"}, 4, ways.LIMIT)


def reordered_row(prefix, file):
    """Runs tests/mpi/topologies/reorder.c on two hosts that the file describes."""
    where = '--hosts $HOSTS_NAMES --launcher "$HOSTS_RUN {host}" -n 16 -ppn 8'
    script = f'exec "$0" --topology "$1" {where} "${{@:2}}"'
    program = ways.compiled(prefix, "../mpi/topologies/reorder")
    job = ["bash", "-c", script, prefix / "bin/mpiexec", file, program, *SOCKETS]
    command = [sys.executable, HERE / "hosts.py", "--hosts", "2", "--", *job]
    return rows.job(command, {"TOWPATH_NETWORK": "tcp"}, 16, ways.LIMIT)


def run_row(prefix, binary, row):
    """Problems (None: not tested here), what was seen, and the job's output."""
    if row == HINT:
        return hint_row(prefix)
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "topology.toml"
        file.write_text(ROWS[row] or "")
        if row == REORDERED:
            return reordered_row(prefix, file)
        words = [__file__, "--prefix", prefix, "--row", row, "--binary", binary]
        words += ["--file", file] if ROWS[row] else []
        outcome, instead = ways.on_hosts("--hosts 3", words, {})
    if instead:
        return instead
    return judge(row, outcome), "", outcome["output"]


if __name__ == "__main__":
    sys.exit(ways.main(__doc__, ROWS, ("--file",), ran, run_row))
