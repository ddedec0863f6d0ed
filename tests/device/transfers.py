"""The calls of the driver, and the bytes that it moves, for one message in each way: transfers.toml
has the most that each may be, and transfer.c counts them.
"""

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE / "transfers.toml"
LIMIT = 30
# What asks whether a transfer has ended, and the calls that each such question needs: how often
# that is depends on the time.
QUESTIONS = ["cuStreamQuery", "cuEventQuery"]
AROUND = {"cuCtxPushCurrent_v2": 1, "cuCtxPopCurrent_v2": 1, "cuThreadExchangeStreamCaptureMode": 2}
# Each side that describes its buffer to the other process calls this. If the sender copies, which
# depends on the time, both do, and the second one needs the calls of a question too.
DESCRIPTION = "cuIpcGetMemHandle"


def listed():
    """Of each transfer in the table: name, words of transfer.c, ranks, environment, bars, and the
    number of pieces that go through slots."""
    table = tomllib.loads(TABLE.read_text())
    for transfer in table["transfer"]:
        how = transfer.get("how", "send")
        words = [transfer["layout"], transfer["from"], transfer["to"], how]
        name = "transfer: {3} {0}, {1} to {2}".format(*words) + transfer.get("where", "")
        environment = transfer.get("environment", {})
        ranks = 2 if how == "send" else 1
        yield name, words, ranks, environment, transfer["at_most"], transfer.get("pieces", 1)


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


def with_pieces_one_by_one(counts, pieces):
    """The counts of a message through slots if the receiver finds each piece by itself, which
    depends on the time, and begins to unpack it."""
    return {**counts, **{name: counts[name] + each * (pieces - 1) for name, each in AROUND.items()}}


def rewrite(count):
    """Makes the counts of the library as it is the bars. `count(words, ranks, environment)` gives
    those of one transfer."""
    head, *transfers = TABLE.read_text().split("[[transfer]]\n")
    for place, (_, words, ranks, environment, bars, pieces) in enumerate(listed()):
        counts = count(words, ranks, environment)
        if bars.get(DESCRIPTION) == 2:
            counts = with_both_descriptions(counts)
        counts = with_pieces_one_by_one(counts, pieces)
        described = transfers[place].split("[transfer.at_most]\n")[0]
        lines = [f"{name} = {number:_}" for name, number in counts.items()]
        transfers[place] = "\n".join([described + "[transfer.at_most]", *lines, "", ""])
    TABLE.write_text("[[transfer]]\n".join([head, *transfers]).rstrip() + "\n")
