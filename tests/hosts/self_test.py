#!/usr/bin/env python3
"""Do the test hosts do what they promise? Frames are sent by one host and counted by all others, network by network.

    self_test.py [--filter REGEX]

A network that loses nothing although it was asked to, or one that loses without being asked, fails. What a receiver had no room for
is no loss of the network.
"""

import argparse
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(directory) for directory in Path(__file__).resolve().parents[:2]]
import hosts  # noqa: E402
import links  # noqa: E402
from rows import Rows, timed  # noqa: E402

KIND = 0x88B5  # the ethertype for experiments
GROUP = bytes.fromhex("03000000cc01")
SOL_PACKET, MEMBERSHIP, STATISTICS, PROMISCUOUS = 263, 1, 6, 1
RECEIVE_BUFFER_FORCE = 33
FRAMES = 20000
# Of a share of so many frames, chance leaves this part at least and at most; several times what it does in one of a million runs.
LEAST, MOST = 0.5, 1.6

# Name, options of hosts.py, options of the sender.
ROWS = [
    ("cable", "", ""),
    ("cable of 9000 bytes, two rails", "--mtu 9000 --rails 2", "--bytes 9000 --frames 3000"),
    ("bridge, 4 hosts", "--hosts 4", ""),
    ("bridge, 8 hosts, 9000 bytes", "--hosts 8 --mtu 9000", "--bytes 9000 --frames 2000"),
    ("slow link", "--rate 100mbit", "--bytes 1500 --frames 5000"),
    ("wire without faults", "--reorder 0.0000001", ""),
    ("wire that loses", "--loss 1 --seed 1", ""),
    ("wire that doubles", "--duplicate 1 --seed 2", ""),
    ("wire that delays", "--reorder 1 --seed 3", ""),
    ("wire with all faults, 4 hosts", "--hosts 4 --loss 2 --duplicate 1 --reorder 1 --seed 4", ""),
    ("kernel that loses", "--kernel-loss 1", ""),
    ("kernel that loses, slow link", "--kernel-loss 1 --rate 200mbit", "--bytes 1500 --frames 20000"),
    # On a busy machine it takes seconds until the first frame is sent.
    ("rail that dies, cable", "--rails 2 --kill-rail 1 --after 4", "--frames 2000 --pause 0.004"),
    ("rail that dies, 4 hosts", "--hosts 4 --rails 2 --kill-rail 0 --after 4", "--frames 2000 --pause 0.004"),
    ("rail that dies silently", "--rails 2 --kill-rail 1 --after 4 --silently", "--frames 2000 --pause 0.004"),
    ("rail that dies silently, wire", "--rails 2 --loss 1 --kill-rail 1 --after 4 --silently", "--frames 2000 --pause 0.004"),
]


def opened(device):
    """A socket for the test's frames of one device, with as much room as the system gives."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(KIND))
    for option in (RECEIVE_BUFFER_FORCE, socket.SO_RCVBUF):
        try:
            packets.setsockopt(socket.SOL_SOCKET, option, 64 << 20)
            break
        except PermissionError:
            pass
    packets.bind((device, KIND))
    packets.setsockopt(SOL_PACKET, MEMBERSHIP, struct.pack("iHH8s", socket.if_nametoindex(device), PROMISCUOUS, 0, b""))
    return packets


def receive(device):
    """Counts what arrives until nothing more comes; one line of JSON says it."""
    with opened(device) as packets:
        print("ready", flush=True)
        packets.settimeout(30)
        numbers, size, first, last = [], 0, None, None
        try:
            while True:
                frame = packets.recv(1 << 16)
                last = time.monotonic()
                first = first or last
                packets.settimeout(1.5)
                numbers.append(struct.unpack_from("I", frame, 14)[0])
                size += len(frame)
        except (TimeoutError, OSError):
            pass
        _, overflown = struct.unpack("II", packets.getsockopt(SOL_PACKET, STATISTICS, 8))
    seen, highest, doubled, backward = set(), -1, 0, 0
    for number in numbers:
        doubled += number in seen
        backward += number < highest and number not in seen
        seen.add(number)
        highest = max(highest, number)
    speed = size / (last - first) if len(numbers) > 1 and last > first else 0
    state = subprocess.run(["ip", "-br", "link", "show", device], capture_output=True, text=True).stdout.split()[1:2]
    print(json.dumps({"device": device, "distinct": len(seen), "doubled": doubled, "backward": backward, "overflown": overflown,
                      "speed": speed, "state": state[0]}))


def send(rails, options):
    """Numbered frames over each network in turn. A full queue of the link is waited for; a dead one takes nothing.

    All from one core: the frames of each core have a queue of their own in the kernel, and who moves to another core overtakes itself.
    """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sockets = [opened(f"eth{rail}") for rail in range(rails)]
    own = [packets.getsockname()[4] for packets in sockets]
    rest = bytes(options.bytes - 4)
    for number in range(options.frames):
        for packets, source in zip(sockets, own):
            frame = GROUP + source + struct.pack("!H", KIND) + struct.pack("I", number) + rest
            for _ in range(20000):
                try:
                    packets.send(frame)
                except OSError as error:
                    if error.errno == 105 and not options.pause:  # ENOBUFS
                        time.sleep(0.0002)
                        continue
                break
        if options.pause or number % 50 == 49:
            time.sleep(options.pause or 0.0005)


def count(options):
    """On the first host: starts the receivers on the others, sends, and prints what they counted."""
    enter, others = os.environ["HOSTS_RUN"], os.environ["HOSTS_NAMES"].split(",")[1:]
    receivers = [subprocess.Popen([enter, other, sys.executable, __file__, "--receive", f"eth{rail}"], stdout=subprocess.PIPE, text=True)
                 for other in others for rail in range(options.rails)]
    for receiver in receivers:
        assert receiver.stdout.readline() == "ready\n"
    send(options.rails, options)
    print(json.dumps([json.loads(receiver.communicate()[0]) for receiver in receivers]))


def judge(counts, network, frames):
    """What is wrong with the counts of one receiver."""
    problems = []
    missing = frames - counts["distinct"] - counts["overflown"]
    rail = int(counts["device"].removeprefix("eth"))
    if network.kill_rail == rail:
        if not 0 < counts["distinct"] < frames:
            problems.append(f"{counts['distinct']} of {frames} frames came over a network that dies meanwhile")
        if (counts["state"] == "UP") != network.silently:
            problems.append(f"the link of the dead network is {counts['state']}")
        return problems
    shares = [("missing", missing, network.loss + network.kernel_loss), ("doubled", counts["doubled"], network.duplicate),
              ("backward", counts["backward"], network.reorder)]
    for what, found, percent in shares:
        asked = frames * percent / 100
        # What passes frames on, the wire or the timer of a slow link, may still be moved to another core and overtake itself there.
        slack = 20 if asked > 1 or what == "backward" else 0
        if not int(LEAST * asked) <= found <= MOST * asked + slack:
            problems.append(f"{found} of {frames} frames were {what}, about {asked:.0f} were asked for")
    if network.rate and counts["speed"] > 1.15 * int(network.rate.removesuffix("mbit")) * 1e6 / 8:
        problems.append(f"a link of {network.rate} carried {counts['speed'] / 1e6:.1f} MB/s")
    return problems


def sender_options(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rails", type=int, default=1)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--bytes", type=int, default=100)
    parser.add_argument("--pause", type=float, default=0, help="seconds after each frame; without it 50 come at once")
    return parser.parse_args(words)


def run_row(row):
    """One network: its problems (None where it cannot be made), what it said, and what else there was to read."""
    name, network_words, sender_words = row[0], row[1].split(), row[2].split()
    network, sender = hosts.parse([*network_words, "--", "true"]), sender_options(sender_words)
    command = [sys.executable, Path(hosts.__file__), *network_words, "--", sys.executable, __file__, "--count", "--rails", str(network.rails), *sender_words]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    if result.returncode == hosts.SKIPPED:
        return None, result.stdout.strip(), ""
    if result.returncode:
        return [f"ended with {result.returncode}"], "", result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    problems = [] if len(found) == (network.hosts - 1) * network.rails else [f"{len(found)} receivers answered"]
    for counts in found:
        problems += judge(counts, network, sender.frames)
    if name == "wire without faults":
        problems += judged_in_vain(found[0], sender.frames)
    return problems, "; ".join(result.stderr.split("\n")).strip("; "), ""


def judged_in_vain(counts, frames):
    """A network without faults must not pass for one that was asked for some."""
    wrong = [words for words in ("--loss 1", "--duplicate 1", "--reorder 1", "--kernel-loss 1", "--kill-rail 0")
             if not judge(counts, hosts.parse([*words.split(), "--", "true"]), frames)]
    return [f"a network without faults passes for one with {words}" for words in wrong]


def ended_by(how):
    """What is wrong when hosts.py is ended by a signal: nothing that it started may live on."""
    mark = f"{os.getpid()}-{how}"
    environment = {**os.environ, "HOSTS_TEST_MARK": mark}
    with subprocess.Popen([sys.executable, hosts.__file__, "--", "sh", "-c", "echo runs; sleep 300"], stdout=subprocess.PIPE, env=environment) as child:
        child.stdout.readline()
        child.send_signal(how)
        for _ in range(200):
            left = [entry for entry in Path("/proc").glob("[0-9]*/environ") if f"HOSTS_TEST_MARK={mark}".encode() in readable(entry)]
            if not left:
                return []
            time.sleep(0.05)
        for entry in left:
            os.kill(int(entry.parent.name), signal.SIGKILL)
        return [f"{len(left)} processes live on after {how!r}"]


def unknown(option):
    """What is wrong when a host that does not exist shall be slow."""
    command = [sys.executable, hosts.__file__, *option.split(), "--", "true"]
    job = subprocess.run(command, capture_output=True, text=True)
    sentence = f"{option} names no host; the hosts are host0, host1"
    if job.returncode == 2 and sentence in job.stderr:
        return []
    return [f"ended with {job.returncode}, said {job.stderr!r}"]


def readable(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def main():
    if sys.argv[1:2] == ["--receive"]:
        return receive(sys.argv[2])
    if sys.argv[1:2] == ["--count"]:
        return count(sender_options(sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="a regular expression for the names of the rows")
    options = parser.parse_args()
    reason = hosts.forbidden()
    if reason:
        print(f"skipped: {reason}")
        return hosts.SKIPPED
    rows = Rows()
    for how in (signal.SIGTERM, signal.SIGKILL):
        if re.search(options.filter, f"ended by {how.name}"):
            rows.run(f"ended by {how.name}", lambda: (ended_by(how), "", ""))
    for option in ("--slow host2=1gbit", "--weak hosts0=1000/5000"):
        if re.search(options.filter, f"unknown host, {option}"):
            rows.run(f"unknown host, {option}", lambda: (unknown(option), "", ""))
    networks = [row for row in ROWS if re.search(options.filter, row[0])]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for (name, *_), outcome in zip(networks, pool.map(lambda row: timed(lambda: run_row(row)), networks)):
            rows.tell(name, *outcome)
    return rows.end()


if __name__ == "__main__":
    sys.exit(main())
