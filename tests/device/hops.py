"""The calls of the driver, and the bytes that it moves, for one message in each way: hops.toml has
the most that each may be, and hop.c counts them.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE / "hops.toml"
LIMIT = 30
# What asks whether a transfer has ended, and the calls that each such question needs: how often
# that is depends on the time.
QUESTIONS = ["cuStreamQuery", "cuEventQuery"]
AROUND = {"cuCtxPushCurrent_v2": 1, "cuCtxPopCurrent_v2": 1, "cuThreadExchangeStreamCaptureMode": 2}
# Each side that describes its buffer to the other process calls this. If the sender copies, which
# depends on the time, both do, and the second one needs the calls of a question too.
DESCRIPTION = "cuIpcGetMemHandle"


def listed():
    """The hops of the table: name, words of hop.c, ranks, environment and bars of each."""
    table = tomllib.loads(TABLE.read_text())
    for hop in table["hop"]:
        how = hop.get("how", "send")
        name = f"hop: {how} {hop['layout']}, {hop['from']} to {hop['to']}{hop.get('where', '')}"
        words = [hop["layout"], hop["from"], hop["to"], how]
        yield name, words, 2 if how == "send" else 1, hop.get("environment", {}), hop["at_most"]


def counted(output):
    """The counts of one message, without those of questions."""
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", output, re.M)}
    questions = sum(counts.pop(name, 0) for name in QUESTIONS)
    for name, each in AROUND.items():
        if name in counts:
            counts[name] -= each * questions
    return counts


def problem_of(counts, bars):
    """What is above its bar; empty where nothing is."""
    if not counts:
        return "nothing was counted"
    above = [f"{name} {count}, at most {bars.get(name, 0)}" for name, count in counts.items()
             if count > bars.get(name, 0)]
    return "; ".join(above)


def with_both_descriptions(counts):
    """The counts of a message by IPC if the sender copies."""
    missing = 2 - counts[DESCRIPTION]
    return {**counts, DESCRIPTION: 2,
            **{name: counts[name] + each * missing for name, each in AROUND.items()}}


def rewrite(count):
    """Makes the counts of the library as it is the bars. `count(words, ranks, environment)` gives
    those of one hop."""
    head, *hops = TABLE.read_text().split("[[hop]]\n")
    for place, (_, words, ranks, environment, bars) in enumerate(listed()):
        counts = count(words, ranks, environment)
        if bars.get(DESCRIPTION) == 2:
            counts = with_both_descriptions(counts)
        described = hops[place].split("[hop.at_most]\n")[0]
        lines = [f"{name} = {number:_}" for name, number in counts.items()]
        hops[place] = "\n".join([described + "[hop.at_most]", *lines, "", ""])
    TABLE.write_text("[[hop]]\n".join([head, *hops]).rstrip() + "\n")
