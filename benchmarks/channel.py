#!/usr/bin/env python3
"""Draws how the shared memory of a running job is divided: channel.py [--ranks 12] [--picture docs/channel.png]

Starts examples/heat.c, a solver on a grid that declares its neighbours, asks `towpath info --channel` for its layout while it
runs, and draws who has a ring to whom. Nothing in the picture is written by hand.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import environments  # noqa: E402

# tests/packaging.py is not the package of that name, which matplotlib wants.
sys.path.pop(0)

PREFIX = environments.BUILD / "install"


def layout_of_a_run(ranks):
    """The channel of each rank while the solver runs, as `towpath info --channel --json` says it."""
    program = environments.BUILD / "bench" / "heat"
    program.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([PREFIX / "bin" / "mpicc", "-O2", HERE.parent / "examples" / "heat.c", "-o", program, "-lm"], check=True)
    job = subprocess.Popen([PREFIX / "bin" / "mpiexec", "-n", str(ranks), program, "2000", "1000000"], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            time.sleep(0.5)
            said = subprocess.run([PREFIX / "bin" / "towpath", "info", "--channel", str(job.pid), "--json"], capture_output=True, text=True)
            channel = json.loads(said.stdout)["channel"] if said.returncode == 0 else {}
            if channel and all(row["declared"] for row in channel.values()):
                return channel
        raise SystemExit(f"the solver has declared nothing after 30 s: {said.stdout}{said.stderr}")
    finally:
        job.terminate()
        job.wait(timeout=30)


def draw(channel, picture):
    """A square for each pair: what the receiver (row) has for the sender (column)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    ranks = len(channel)
    figure, axis = pyplot.subplots(figsize=(7.5, 7.5))
    for receiver in range(ranks):
        row = channel[str(receiver)]
        sizes = dict(part.split(": ", 1) for part in row["why"].split("; ") if part)
        for sender in range(ranks):
            ring = sizes.get(str(sender))
            declared = sender in row["declared"]
            colour = "#c0392b" if declared else "#f5b7b1" if ring else "#d5dbdb"
            side = 0.86 if ring else 0.18
            if sender != receiver:
                axis.add_patch(pyplot.Rectangle((sender - side / 2, receiver - side / 2), side, side, color=colour))
            if ring:
                size = ring.split(",")[0].removesuffix(" KiB").removesuffix(".0")
                axis.text(sender, receiver, f"{size}\nKiB", ha="center", va="center", color="white" if declared else "black", fontsize=8)
    axis.set(xlim=(-0.6, ranks - 0.4), ylim=(ranks - 0.4, -0.6), xlabel="sender", ylabel="receiver, who owns the memory",
             title=f"Who has which ring: examples/heat.c on {ranks} ranks")
    axis.text(0.5, -0.1, "dark: ring of a declared neighbour; light: ring of a busy pair; dot: header slot of 64 bytes",
              ha="center", transform=axis.transAxes)
    axis.set_xticks(range(ranks))
    axis.set_yticks(range(ranks))
    axis.set_aspect("equal")
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=12)
    parser.add_argument("--picture", type=Path, default=HERE.parent / "docs" / "channel.png")
    options = parser.parse_args()
    python = environments.venv("plot") / "bin" / "python"
    if Path(sys.prefix) != python.parent.parent:
        # Only the picture needs the environment that has matplotlib.
        return subprocess.run([python, *sys.argv]).returncode
    draw(layout_of_a_run(options.ranks), options.picture)
    print(options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
