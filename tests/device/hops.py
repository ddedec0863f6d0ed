"""The calls of the driver, and the bytes that it moves, for one message in each way: hops.toml has
the most that each may be, and hop.c counts them.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT = 30
# What asks whether a transfer has ended, and the calls that each such question needs: how often that
# is depends on the time.
QUESTION = "cuStreamQuery"
AROUND = {"cuCtxPushCurrent_v2": 1, "cuCtxPopCurrent_v2": 1, "cuThreadExchangeStreamCaptureMode": 2}


def listed():
    """The hops of the table: name, words of hop.c, ranks, environment and bars of each."""
    table = tomllib.loads((HERE / "hops.toml").read_text())
    for hop in table["hop"]:
        how = hop.get("how", "send")
        name = f"hop: {how} {hop['layout']}, {hop['from']} to {hop['to']}{hop.get('where', '')}"
        words = [hop["layout"], hop["from"], hop["to"], how]
        yield name, words, 2 if how == "send" else 1, hop.get("environment", {}), hop["at_most"]


def counted(output):
    """The counts of one message, without those of questions."""
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", output, re.M)}
    questions = counts.pop(QUESTION, 0)
    for name, each in AROUND.items():
        if name in counts:
            counts[name] -= each * questions
    return counts


def problem_of(counts, bars):
    """What is above its bar; empty where nothing is."""
    above = [f"{name} {count}, at most {bars.get(name, 0)}" for name, count in counts.items()
             if count > bars.get(name, 0)]
    return "; ".join(above)
