#!/usr/bin/env python3
"""Jobs of two hosts while a stranger on the same network attacks them: nothing of it is accepted, nothing is lost, memory is bounded.

    strangers.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    strangers.py --filter REGEX        only some of the rows

A third host sees every frame of the job (the network is a hub) and knows everything but the job's key. While tests/mpi/crowd/steady
turns its ring it forges frames, repeats recorded ones, changes them, floods both hosts, or connects to every port that listens there
(tests/hosts/attacks.py). The ring's results must be right, its memory may grow by a few megabytes, and it must end.
With the key in hand the decoders are attacked by the targets of fuzz/, and without a network by the unit tests of `strangers`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import hosts  # noqa: E402
import rows  # noqa: E402

FRAMES = ["forged", "recorded", "out of range", "altered", "flood"]
CONNECTIONS = ["silent connections", "half-open connections", "wrong greetings", "recorded greetings", "garbage"]
FABRIC = ["silent connections", "half-open connections", "garbage for libfabric", "recorded for libfabric", "forged for libfabric"]
# The transport, what it is asked for with, and the attacks. Large messages go by frames too.
TRANSPORTS = [
    ("clic, raw", {"TOWPATH_NETWORK": "clic", "TOWPATH_CLIC_BULK": "frames"}, FRAMES),
    ("clic, udp", {"TOWPATH_NETWORK": "udp", "TOWPATH_CLIC_BULK": "frames"}, FRAMES),
    ("tcp", {"TOWPATH_NETWORK": "tcp"}, CONNECTIONS),
    ("libfabric's tcp", {"TOWPATH_NETWORK": "ofi", "TOWPATH_OFI_PROVIDER": "tcp"}, FABRIC),
]
SECONDS = {"attack": 2.5, "job": 3.5}
# A program that speaks libfabric takes a while to start.
SECONDS_OF_JOB_BY_ATTACK = {"forged for libfabric": 6}
MEGABYTES = 6
# libfabric 1.17 gives each connection, a stranger's too, some 9 MB of buffers; there are two.
MEGABYTES_BY_ATTACK = {"forged for libfabric": 30}
# A job that takes longer hangs.
LIMIT = 40
# An attack of fewer frames or connections is none.
LEAST = {"frames": 2000, "connections": 20}


def speaker():
    """The program that forges messages by libfabric."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
    build = [os.environ.get("CARGO", "cargo"), "build", "-q", "-p", "towpath-programs", "--bin", "ofi_stranger"]
    subprocess.run(build, cwd=environments.ROOT, check=True)
    return target / "debug/ofi_stranger"


def listening(names):
    """Address and port of every socket that listens on these hosts."""
    found = []
    for number, name in enumerate(names):
        tables = subprocess.run([os.environ["HOSTS_RUN"], name, "cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True).stdout
        lines = [line.split() for line in tables.splitlines()]
        ports = {int(line[1].rsplit(":", 1)[1], 16) for line in lines if line[3] == "0A"}
        found += [[f"10.77.0.{number + 1}", port] for port in sorted(ports)]
    return found


def attacked(prefix, binary, attack, program):
    """On the first host: runs the job, and the attack from the third host as soon as the ring turns. Prints what became of both as JSON."""
    run, names = os.environ["HOSTS_RUN"], os.environ["HOSTS_NAMES"].split(",")
    stranger = subprocess.Popen([run, names[2], sys.executable, HERE / "attacks.py", attack, str(SECONDS["attack"]), *program],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stranger.stdout.readline()
    command = [prefix / "bin/mpiexec", "--hosts", ",".join(names[:2]), "-ppn", "1", "--launcher", f"{run} {{host}}", "-n", "2",
               binary, SECONDS_OF_JOB_BY_ATTACK.get(attack, SECONDS["job"]), MEGABYTES_BY_ATTACK.get(attack, MEGABYTES)]
    job = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watchdog = threading.Timer(LIMIT, job.kill)
    watchdog.start()
    output, said = [], None
    for line in job.stdout:
        output.append(line)
        if line.startswith("the ring turns"):
            stranger.stdin.write(json.dumps(listening(names[:2])) + "\n")
            stranger.stdin.flush()
    status = job.wait()
    hung = not watchdog.is_alive()
    watchdog.cancel()
    if any(line.startswith("the ring turns") for line in output):
        said = stranger.stdout.readline()
    stranger.kill()
    print(json.dumps({"status": status, "hung": hung, "output": "".join(output), "attack": json.loads(said) if said else None}))


def judge(outcome, attack):
    """What is wrong."""
    problems = []
    if outcome["hung"]:
        problems.append(f"the job still ran after {LIMIT} s")
    elif outcome["status"] or outcome["output"].split().count("ok") != 2:
        problems.append(f"the job ended with {outcome['status']}")
    seen = outcome["attack"]
    if seen is None:
        return [*problems, "the attack did not come about"]
    least = LEAST["frames" if attack in FRAMES else "connections"]
    if seen["sent"] < least or not seen["seen"]:
        problems.append(f"the attack was none: {seen}")
    return problems + seen["problems"]


def run_row(prefix, binary, network, attack):
    """Problems (None: not tested here), what was seen, and the job's output."""
    if "ofi" in network.values() and without_fabric():
        return None, "no libfabric here", ""
    command = [sys.executable, HERE / "hosts.py", "--hosts", "3", "--hub", "--", sys.executable, __file__, "--prefix", prefix,
               "--attack", attack, "--binary", binary]
    if attack == "forged for libfabric":
        command += ["--program", speaker()]
    environment = environments.clean_environment(**network)
    try:
        run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=2 * LIMIT, env=environment)
    except subprocess.TimeoutExpired:
        return ["the row did not end"], "", ""
    if run.returncode == hosts.SKIPPED:
        return None, run.stdout.strip(), ""
    if run.returncode:
        return [f"ended with {run.returncode}"], "", run.stdout + run.stderr
    outcome = json.loads(run.stdout.splitlines()[-1])
    numbers = outcome["attack"] or {"sent": 0, "seen": 0}
    return judge(outcome, attack), f"{numbers['sent']} sent, {numbers['seen']} seen", outcome["output"] + run.stderr


def without_fabric():
    """True when no libfabric can be opened: then it is not tested here, which is said."""
    probe = [sys.executable, "-c", "import ctypes, os; ctypes.CDLL(os.environ.get('TOWPATH_LIBFABRIC', 'libfabric.so.1'))"]
    return subprocess.run(probe, capture_output=True).returncode != 0


def main():
    parser = rows.parser(__doc__)
    parser.add_argument("--verbose", action="store_true", help="show the output of passing rows too")
    for inner in ("--attack", "--binary", "--program"):
        parser.add_argument(inner, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        return attacked(options.prefix, options.binary, options.attack, [options.program] if options.program else [])
    prefix = rows.begin(options)
    if prefix is None:
        return hosts.SKIPPED
    binary, counted = environments.compiled_test(prefix, "crowd/steady"), rows.Rows()
    for transport, network, attacks in TRANSPORTS:
        for attack in attacks:
            name = f"{transport}: {attack}"
            if re.search(options.filter, name):
                counted.run(name, lambda: run_row(prefix, binary, network, attack), options.verbose)
    return counted.end()


if __name__ == "__main__":
    sys.exit(main())
