"""Jobs of balancing.cpp with each balancer, and of checkpoint.cpp: checkpoints of some ranks, restarts
on others, and what must be refused. Part of cpp.py, which compiles the programs.
"""

import re
import tempfile
from pathlib import Path

BALANCERS = ("none", "greedy", "refine", "hierarchical")
OTHER = "checkpoint-other"

# Case of checkpoint.cpp, where it writes, status, what it says.
WRITES = [
    ("function", "good", 1, "the callback of a checkpoint is called after a restart too"),
    ("refused", "file/below", 0, "refused: the checkpoint file .* cannot be written"),
    ("write", "file/below", 1, "rank 0: the checkpoint file .* cannot be written"),
    ("waits", "good", 0, r"refused: no checkpoint was written: Cell\[5\] has suspended methods"),
    ("twice", "good", 1, "no checkpoint was written: another one has not ended"),
    ("unmeasured", "good", 0, r"refused: no checkpoint .*: Cell\[\d+\] cannot be packed: not now"),
    ("unpacked", "good", 0, r"refused: no checkpoint .*: Cell\[\d+\] cannot be packed: not now"),
    ("rigid", "good", 1, r"no checkpoint was written: Rigid\[.*\] has no function that packs it"),
]


def balancing_jobs(program):
    for balancer in BALANCERS:
        for ranks in (1, 2, 5):
            yield f"{balancer}, {ranks} ranks", ranks, [program, balancer], {}, 0, r"^ok$"
    said = "a Stubborn cannot be measured for load balancing: not me"
    yield "an element throws", 2, [program, "greedy", "throws"], {}, 1, said
    setting = {"TOWPATH_CHARES_BALANCER": "best"}
    yield "unknown balancer", 2, [program], setting, 1, "there is no balancer best; balancers are"


def checkpoint_jobs(program, directory):
    """Name, ranks, words, settings, status, and what is said of jobs that run one after another."""
    (directory / "file").touch()
    good, total = directory / "good", r"^sum 7722$"
    for ranks in (1, 3, 2):
        yield f"write, {ranks} ranks", ranks, [program, "write", good], {}, 0, total
        for others in (1, 2, 3, 5):
            words = [program, "restart", good]
            yield f"restart of {ranks}, {others} ranks", others, words, {}, 0, total
    setting = {"TOWPATH_CHARES_RESTART": good}
    yield "restart by a setting", 3, [program, "stop", "nothing"], setting, 0, total
    for case, where, status, said in WRITES:
        words = [program, case, directory / where]
        yield f"{case} to {where}", 3, words, {}, status, said
    kept = directory / "kept"
    yield "keeps a callback", 1, [program, "keeps", kept], {}, 0, total
    said = "a callback of a function or a future was called twice, or after a restart"
    yield "a kept callback", 1, [program, "restart", kept], {}, 1, said
    restart = [program, "restart", good]
    other = [program.with_name(OTHER), *restart[1:]]
    said = "it was written by a program with other chares or entry methods"
    yield "another program", 2, other, {}, 1, said
    missing = directory / "missing"
    said = "the checkpoint file .*missing/index.chares cannot be read"
    yield "no checkpoint", 2, [program, "restart", missing], {}, 1, said
    for path in good.glob("*-rank-1.chares"):
        path.unlink()
    yield "a file is missing", 3, restart, {}, 1, "rank-1.chares cannot be read"
    (good / "index.chares").write_bytes(b"something else")
    yield "a damaged index", 3, restart, {}, 1, "index.chares is no file of a checkpoint"


def results(options, programs, run):
    """The name of each job, whether all is well, and what it said. `run` runs a job."""
    with tempfile.TemporaryDirectory() as directory:
        parts = [("balancing", balancing_jobs(programs["balancing"])),
                 ("checkpoint", checkpoint_jobs(programs["checkpoint"], Path(directory)))]
        for part, jobs in parts:
            if not re.search(options.filter, part):
                continue
            for name, ranks, words, settings, status, said in jobs:
                ended, output = run(ranks, words, settings)
                is_well = ended == status and re.search(said, output, re.MULTILINE)
                yield f"{part}, {name}", bool(is_well), output
