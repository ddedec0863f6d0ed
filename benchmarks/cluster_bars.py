"""What hosts.py says about collectives on clusters: who is faster, and what a slow link carries.

A frame of an Ethernet with packets of 1500 bytes has 1514 bytes, of which TCP leaves 1448 for
payload. The share of a link is payload * 1514 / 1448 / (rate * time). The token bucket that makes a
link slow lets 16 KiB pass at once, so short data may take less than its time at the rate: a share
without the burst counts these bytes neither as carried nor as time. No share exceeds what frames
full of payload and a full bucket allow, or else the measurement is wrong. Ranks that share cores
leave the barrier before a call one after another, which takes the time of an empty call.
"""

import functools
import statistics
from collections import defaultdict

import bars
import networks

NETWORKS = ("cluster", "gather", "link", "traffic")
FRAME, PACKET, SEGMENT, BURST = 1514, 1500, 1448, 16384
PEERS = ("mpich", "mpich-unthrottled", "openmpi", "openmpi-without-han", "intel", "intel-yields")
OWN = ("towpath", "towpath-tcp", "towpath-clic")
# Sizes whose geometric mean of all ratios has a bar of its own.
SHORT, SHORT_MEAN = (8, 1024), 0.5
# Shares of a link by the bytes of all ranks of a gather, and those of 1 MiB in others.
GATHER_SHARES = {65536: 0.90, 262144: 0.97, 1048576: 0.99}
OTHER_SHARES = {"bcast": 1 / 1.1, "allreduce": 1 / 1.15}
# Payload from which bytes have a bar, and these; frames for each other host below it.
LONG, MOST_BYTES, MOST_FRAMES = 262144, 1.03, 2


def payload(network, operation, size):
    """The bytes that must reach the first host, with the root, and leave it; None if unknown. A
    fold begins with the vector of the first host, which leaves it unless those of all others come.
    """
    here = network.places()[0]
    others = network.ranks - here
    least = {
        "barrier": (0, 0),
        "bcast": (0, size), "reduce": (size, size), "allreduce": (size, size), "scan": (0, size),
        "gather": (others * size, 0), "scatter": (0, others * size),
        "allgather": (others * size, here * size),
        "reduce-scatter": (here * size, network.ranks * size),
        "alltoall": (here * others * size, here * others * size),
    }
    return least.get(operation) or least.get(operation.removeprefix("i"))


@functools.cache
def network_named(name):
    return next((one for one in networks.NETWORKS if one.name == name), None)


def against_peers(figures):
    """The bars of what all libraries are measured in."""
    for name, figure, size in figures:
        if name.startswith("cluster"):
            for own in OWN:
                yield bars.Bar(f"{figure} {size} B", own, name, (figure, size), PEERS, 1.0)
    gather = "gather-fixed-span"
    for size, bar in (8, 0.3), (1024, 0.6):
        yield bars.Bar(f"gather {size} B", "towpath", "gather-slow-link", (gather, size), PEERS,
                       bar)
    for size in (1024, 4096, 16384, 65536):
        for peer, bar in (("mpich-unthrottled", 0.17), ("intel", 0.13), ("mpich", 1.0),
                          ("intel-yields", 1.0)):
            yield bars.Bar(f"gather {size} B", "towpath", "gather-weak-root", (gather, size),
                           (peer,), bar)
    yield bars.Bar("gather 1024 B, 256 ranks", "towpath", "gather-weak-root-slow-link-256",
                   (gather, 1024), ("forced-linear",), 0.3)


def summary(figures, measured):
    """The mean ratio of short calls, and which peers have no figures, in sentences."""
    text = []
    for own in OWN:
        short = [bars.ratio(bar, figures)[0] for bar in measured
                 if bar.own == own and bar.network.startswith("cluster") and bar.figure[1] in SHORT]
        if short:
            text.append(f"Geometric mean of {own} at 8 B and 1 KiB: "
                        f"{statistics.geometric_mean(short):.2f} (bar: {SHORT_MEAN}).")
    rows, found = defaultdict(int), defaultdict(int)
    for (name, _, _), by_subject in figures.items():
        if name.startswith("cluster") or name in networks.ROOT_NETWORKS:
            rows[name] += 1
            for peer in PEERS:
                found[name, peer] += bool(by_subject.get(peer))
    absent = [f"{peer} in {rows[name] - count} of {rows[name]} rows of {name}"
              for (name, peer), count in found.items() if count < rows[name]]
    return text + ([f"No figure: {'; '.join(absent)}."] if absent else [])


def bar_of_share(network, operation, size):
    if operation != "gather":
        return OTHER_SHARES.get(operation)
    total = size * network.ranks
    if network.name.startswith("link"):
        return GATHER_SHARES[total]
    # Where the processor is weak too, only 256 ranks have a bar.
    return GATHER_SHARES[LONG] if network.ranks == 256 and total >= LONG else None


def shares(figures):
    """A line for each figure of a network with a slow link where that carries much."""
    for (name, figure, size), by_subject in figures.items():
        network, operation = network_named(name), figure.removesuffix("-fixed-span")
        rate = network and figure != operation and network.slow_rate()
        needed = max(payload(network, operation, size) or (0, 0)) if rate else 0
        # The shortest total of the gathers; a part of it stays on the root's host.
        if needed < min(networks.TOTALS) / 2:
            continue
        frames = needed * FRAME / SEGMENT
        least = (needed * FRAME / PACKET - BURST) * 8 / rate
        for subject, rounds in by_subject.items():
            seconds = statistics.median(rounds.values()) / 1e6
            empty = figures.get((name, "nothing-fixed-span", 0), {}).get(subject)
            skew = f"{statistics.median(empty.values()):.0f}" if empty else "-"
            share, beyond = (count * 8 / rate / seconds for count in (frames, frames - BURST))
            bar = bar_of_share(network, operation, size) if subject == "towpath" else None
            verdict = "IMPOSSIBLE" if seconds < least else bars.said(bar and share >= bar)
            yield [name, operation, size, needed, subject, f"{seconds * 1e6:.0f}", skew,
                   f"{share:.3f}", f"{beyond:.3f}", f"{frames * 8 / rate / least:.2f}",
                   f">= {bar:.2f}" if bar else "", verdict]


def traffic(figures):
    """A line for each direction of the link in a call."""
    for (name, figure, size), by_subject in figures.items():
        network = network_named(name)
        if not name.startswith("traffic") or not figure.endswith("-bytes"):
            continue
        operation, direction, _ = figure.rsplit("-", 2)
        both = payload(network, operation, size)
        needed = both[("in", "out").index(direction)]
        for subject, rounds in by_subject.items():
            carried = statistics.median(rounds.values()) * SEGMENT / FRAME
            number = figures.get((name, f"{operation}-{direction}-frames", size), {}).get(subject)
            if not number:
                continue
            others = network.hosts - 1
            frames = statistics.median(number.values()) / others
            if max(both) >= LONG:
                # Acknowledgements alone have no bar.
                bar = f"bytes <= {MOST_BYTES}" if needed else ""
                holds = carried <= MOST_BYTES * needed if needed else None
            else:
                most = max(MOST_FRAMES, needed / others / SEGMENT + 1)
                bar, holds = f"frames <= {most:.1f}", frames <= most + 0.05
            yield [name, operation, size, direction, needed, subject, f"{carried:.0f}",
                   f"{carried / needed:.3f}" if needed else "-", f"{frames:.2f}", bar,
                   bars.said(holds)]


def table(title, columns, lines):
    """A table with its title, or nothing if it has no lines."""
    rows = ["| " + " | ".join(map(str, line)) + " |" for line in lines]
    head = ["", title, "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    return [*head, *rows] if rows else []


def tables(figures):
    """All that can be said about these figures."""
    measured = [bar for bar in against_peers(figures) if bars.ratio(bar, figures)[1]]
    text = ["", *bars.verdicts(figures, measured)] if measured else []
    said = summary(figures, measured)
    text += ["", *said] if said else []
    text += table(
        "Shares of the slow link, with what the headers take.",
        ["network", "what", "bytes", "payload over the link", "who", "us", "us of an empty call",
         "share", "without the burst", "most that is possible", "bar", "verdict"], shares(figures))
    text += table(
        "What crosses the slow link in a call: bytes * 1448 / 1514, these divided by the payload, "
        "and frames for each other host.",
        ["network", "what", "bytes", "direction", "payload", "who", "crosses",
         "crosses / payload", "frames / host", "bar", "verdict"], traffic(figures))
    return text
