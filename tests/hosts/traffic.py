"""What a host has sent, as its kernel counts: proof of which transport a job took."""

import json
import os
import re
import subprocess
from pathlib import Path

# Where this variable is set, programs that run inside the test hosts print what they sent when they end.
SHOWN = "HOSTS_SHOW_TRAFFIC"
LINE = re.compile(r"^sent (\d+) frames, (\d+) TCP segments$", re.MULTILINE)
# So many go to and fro for names, neighbours and greetings.
FEW = 40


def sent():
    """Frames and TCP segments that left this process's network namespace until now. A frame may hold several segments."""
    shown = subprocess.run(["ip", "-json", "-stats", "link"], capture_output=True, text=True, check=True)
    frames = sum(link["stats64"]["tx"]["packets"] for link in json.loads(shown.stdout) if link["ifname"].startswith("eth"))
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:"))
    return frames, int(values[names.index("OutSegs")])


def show():
    if os.environ.get(SHOWN) and "HOSTS_NAMES" in os.environ:
        print("sent {} frames, {} TCP segments".format(*sent()), flush=True)


def said(output):
    """What a job printed by `show`, or None."""
    found = LINE.findall(output)
    return tuple(map(int, found[-1])) if found else None


def problem(network, counts):
    """Why a job that sent so much did not go by a transport; None when it did. Not for large messages by CLIC: it may leave these to a TCP
    connection."""
    if counts is None:
        return "the job does not say what it sent"
    frames, segments = counts
    by_tcp = network in ("tcp", "ofi")
    if frames < FEW:
        return f"only {frames} frames left the first host"
    if by_tcp and segments < 0.5 * (frames - FEW):
        return f"of {frames} frames {segments} only were TCP's, though the job was to go by {network}"
    if not by_tcp and segments > 0.3 * frames + FEW:
        return f"{frames} frames had {segments} segments of TCP, though the job was to go by {network}"
    return None
