"""The tables of recorded figures in Markdown: all of them, the short one of README.md, and the picture."""

import textwrap

import layouts
from figures import ALL, ENOUGH, FAR, NEAR, Figures, unit_of
from libraries import CORES, HERE, environments

# The short table: at most twelve rows. Those of messages are of two separate buffers.
HEADLINE = [("latency", 2), ("latency-malloc", 2), ("bandwidth", 2), ("rate", 2), ("allreduce", 2), ("allreduce-unequal", 2),
            ("allreduce", 8), ("bcast", 8), ("alltoall", 8), ("halo", 8), ("start", 48), ("memory", 48)]
HEADLINE_SIZES = {8: "8 B", 1024: "1 KB", 4096: "4 KB", 65536: "64 KB", 4 << 20: "4 MB"}
EXPLANATION = """Ratio: how many times slower Towpath is than the best peer of the same round (below 1 Towpath is ahead); medians over
the rounds. The machine changes its speed: near is a line ping-pong of up to 45 ns (two hardware threads of one core), far one of
more than 110 ns (cores that share no cache, as most pairs on larger machines do). Libraries are compared at the same speed only; the
column "all" also has those between the two and, for long programs, those during which the speed changed."""


def number(value):
    return "-" if value is None else f"{value:.4g}"


def shown(value):
    return "-" if value is None else f"{value:.2f}"


def phase_cells(figures, phase, key):
    """Own median, the best peer, its median, the ratio and the rounds."""
    value, best = figures.ratio(phase, key)
    rounds = figures.rounds(phase, key)
    few = "" if rounds >= ENOUGH else ", too few" if rounds else ""
    return f"{number(figures.median(phase, key))} | {best} | {number(figures.median(phase, key, best))} | {shown(value)} | {rounds}{few}"


def tables(path):
    """All figures, those of layouts in sections of their own."""
    figures = Figures(path)
    keys = [key for key in figures.keys() if not layouts.is_layout(key[1])]
    slow = sum(figures.rounds(FAR, key) < ENOUGH for key in keys)
    text = [textwrap.fill(f"Measured until {figures.date} on {CORES} cores. {EXPLANATION}", 100), "",
            f"{slow} of {len(keys)} rows have fewer than {ENOUGH} rounds in the far phase.", "",
            "| ranks | what | bytes | unit | near: Towpath | best peer | its figure | ratio | rounds | far: Towpath | best peer "
            "| its figure | ratio | rounds | all: ratio | rounds |", "|---" * 16 + "|"]
    for key in keys:
        ranks, name, size = key
        cells = " | ".join(phase_cells(figures, phase, key) for phase in (NEAR, FAR))
        text.append(f"| {ranks} | {name} | {size} | {unit_of(name)} | {cells} | {shown(figures.ratio(ALL, key)[0])} | {figures.rounds(ALL, key)} |")
    for phase in (NEAR, FAR):
        text += layouts.sections(figures.of(phase), phase)
    return "\n".join(text) + "\n"


def short_cell(figures, key):
    """Ratios near / far; that of all rounds where neither phase has one; a star where the far one has too few rounds."""
    near, far, everywhere = (figures.ratio(phase, key)[0] for phase in (NEAR, FAR, ALL))
    if near is None and far is None:
        return "" if everywhere is None else shown(everywhere)
    return f"{shown(near)} / {shown(far)}" + ("*" if figures.rounds(FAR, key) < ENOUGH else "")


def short_table(path):
    """Ratios to the best peer only, one line for each kind of figure."""
    figures = Figures(path)
    said = (f"Measured until {figures.date} on {CORES} cores: the time of Towpath / the time of the best peer of the same round (bandwidth "
            "and rate: the other way round), median; below 1 Towpath is ahead. First while both cores are near each other, then while "
            f"they are far apart (* fewer than {ENOUGH} rounds). Messages go from one buffer of malloc to another.")
    text = [textwrap.fill(said, 100), "",
            "| what | ranks | " + " | ".join(HEADLINE_SIZES.values()) + " |", "|---" * (2 + len(HEADLINE_SIZES)) + "|"]
    for name, ranks in HEADLINE:
        alone = figures.rounds(ALL, (ranks, name, 8)) == 0
        cells = [short_cell(figures, (ranks, name, 0 if alone and size == 8 else size)) for size in HEADLINE_SIZES]
        if any(cells):
            text.append(f"| {name} | {ranks} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def plot(path, picture, program=HERE / "plot.py"):
    """What a program draws of figures, in an environment that has matplotlib: latency and bandwidth over size."""
    environment = environments.venv("plot")
    environments.command([environment / "bin" / "python", program, path, picture], "plot.log")


def write_readme(path, verdicts):
    """Writes the short table between the marks of README.md; the whole one, what became of the bars
    and the picture into docs/. What docs/speed.md says before its picture (commands, commits,
    machine) is written by hand and stays."""
    root = environments.ROOT
    docs = root / "docs"
    head, rest = (root / "README.md").read_text().split("<!-- speed:begin", 1)
    mark, rest = rest.split("\n", 1)
    tail = rest.split("<!-- speed:end -->", 1)[1]
    body = f"{short_table(path)}\nCommands and all figures: [docs/speed.md](docs/speed.md).\n\n![Speed](docs/speed.png)"
    (root / "README.md").write_text(f"{head}<!-- speed:begin{mark}\n{body}\n<!-- speed:end -->{tail}")
    plot(path, docs / "speed.png")
    by_hand = (docs / "speed.md").read_text().split("![Speed]", 1)[0]
    missed = f"## What is slower than it should be\n\n{verdicts}"
    (docs / "speed.md").write_text(f"{by_hand}![Speed](speed.png)\n\n{tables(path)}\n{missed}")
