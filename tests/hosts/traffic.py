"""What a host has sent, as its kernel counts: proof of which transport a job took."""

import json
import os
import re
import subprocess
from pathlib import Path

# Where this variable is set, programs that run inside the test hosts print what they sent when they end.
SHOWN = "HOSTS_SHOW_TRAFFIC"
LINE = re.compile(r"^sent (\d+) frames, (\d+) TCP segments, (\d+) UDP datagrams$", re.MULTILINE)
# A frame may hold several segments, and a few go to and fro for names and neighbours.
FEW = 200


def sent():
    """One line for this process's network namespace."""
    shown = subprocess.run(["ip", "-json", "-stats", "link"], capture_output=True, text=True, check=True)
    frames = sum(link["stats64"]["tx"]["packets"] for link in json.loads(shown.stdout) if link["ifname"].startswith("eth"))
    counted = {}
    pairs = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
    for names, values in zip(pairs[::2], pairs[1::2]):
        counted.update({names[0] + name: int(value) for name, value in zip(names[1:], values[1:])})
    return f"sent {frames} frames, {counted['Tcp:OutSegs']} TCP segments, {counted['Udp:OutDatagrams']} UDP datagrams"


def show():
    if os.environ.get(SHOWN) and "HOSTS_NAMES" in os.environ:
        print(sent(), flush=True)


def problem(network, output):
    """Why a job that said what it sent did not go by a transport; None when it did."""
    found = LINE.findall(output)
    if not found:
        return "the job does not say what it sent"
    frames, segments, _ = map(int, found[-1])
    by_tcp = network in ("tcp", "ofi")
    if frames < FEW:
        return f"only {frames} frames left the first host"
    if by_tcp and segments < 0.5 * (frames - FEW):
        return f"of {frames} frames {segments} only were TCP's, though the job was to go by {network}"
    if not by_tcp and frames - segments < 0.5 * (frames - FEW):
        return f"of {frames} frames {segments} were TCP's, though the job was to go by {network}"
    return None
