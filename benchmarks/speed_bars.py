"""The bars that the figures of run.py are compared with, in each phase of the machine."""

import statistics
from dataclasses import dataclass

import layouts
from figures import ALL, ENOUGH, FAR, NEAR, Figures
from groups import COLLECTIVES, CONSTRUCTORS, KIB, LARGEST_AT_OFFSETS, MIB, NEIGHBORS, OFFSETS
from libraries import BARE, DRIVER, OWN

# Figures are compared as they are printed: with two digits.
ROUNDING = 0.005
LEVEL = 1.0
OFFSETS_APART = 1.1
NEXT_SIZE = 1.03
AGAINST_PACKING = 1.03
AGAINST_BEFORE = 1.03
# Microseconds that the pointers of a call may take beside a GPU driver.
BESIDE_DRIVER = 0.02
MODES = ["", "-fixed", "-fixed-mean", "-sync", "-sync-mean", "-unequal"]
ALL_COLLECTIVES = {name + mode for name in COLLECTIVES for mode in MODES} | set(NEIGHBORS)
OTHERS = {"halo", "halo-staged", "transpose-typed", "transpose-contiguous"} | {name + used for name in CONSTRUCTORS for used in ("", "-used")}


@dataclass
class Result:
    """One row and one bar in one phase."""

    bar: str
    row: str
    phase: str
    value: float
    limit: float
    rounds: int
    note: str = ""

    def missed(self):
        return self.value > self.limit + ROUNDING


def label(key):
    ranks, name, size = key
    return f"{name} {size} B, {ranks} ranks"


def against_peers(figures, phase):
    """Every row that has a bar of its own against the best peer of the round."""
    for key in figures.of(phase):
        bar = bar_of(key)
        value = figures.ratio(phase, key)[0]
        if bar and value is not None:
            yield Result(bar[0], label(key), phase, value, bar[1], figures.rounds(phase, key))


def bar_of(key):
    """The name of a row's bar and the ratio to the best peer that it allows; None where it has none."""
    _, name, size = key
    head = name.split("@")[0]
    if head == "latency" and size <= LARGEST_AT_OFFSETS:
        return "half round trip up to 64 KiB", LEVEL
    if name == "latency":
        return "half round trip above 64 KiB", 1.05 if size <= MIB else LEVEL
    if name == "bandwidth":
        # The rate is the same measurement in another unit.
        return "bandwidth and rate", LEVEL
    if name.startswith("typed/"):
        return "messages with gaps", LEVEL
    if name in ALL_COLLECTIVES:
        return "collectives", LEVEL
    if name in OTHERS:
        return "halo, transpose and communicators", LEVEL
    return None


def offsets_apart(figures, phase):
    """The worst pair of offsets divided by the best one; what two bare copies need is allowed."""
    sizes = sorted({key[2] for key in figures.of(phase) if key[1].startswith("latency@")})
    for size in sizes:
        keys = [(2, f"latency@{offsets}", size) for offsets in OFFSETS]
        own, bare = ([figures.median(phase, key, who) for key in keys] for who in (OWN, BARE))
        if None in own:
            continue
        physical = max(bare) / min(bare) if None not in bare else 0
        rounds = min(figures.rounds(phase, key) for key in keys)
        yield Result("worst / best offsets", f"{size} B", phase, max(own) / min(own), max(OFFSETS_APART, physical), rounds,
                     f"bare copies {physical:.2f}")


def against_packing(figures, phase):
    """A datatype against MPI_Pack, a contiguous message and MPI_Unpack in the same round."""
    for key in figures.of(phase):
        ranks, name, size = key
        if not name.startswith("typed/") or size < 4 * KIB:
            continue
        layout = name.split("/")[1]
        own = figures.row(phase, key).get(OWN, {})
        packed = layouts.slower(own, figures.row(phase, (ranks, f"packed/{layout}", size)).get(OWN, {}))
        by_hand = layouts.slower(own, figures.row(phase, (ranks, f"by-hand/{layout}", size)).get(OWN, {}))
        if packed is not None:
            note = "" if by_hand is None else f"against a loop by hand {by_hand:.2f}"
            yield Result("messages with gaps against MPI_Pack", label(key), phase, packed, AGAINST_PACKING, len(own), note)


def against_next_size(figures, phase):
    """No size may take longer than the next power of two."""
    for key in figures.of(phase):
        ranks, name, size = key
        if not (name.split("@")[0] == "latency" or name in ALL_COLLECTIVES or name.startswith("halo")):
            continue
        own, following = (figures.median(phase, (ranks, name, bytes_)) for bytes_ in (size, 2 * size if size else 1))
        if own is not None and following is not None:
            yield Result("no slower than the next size", label(key), phase, own / following, NEXT_SIZE, figures.rounds(phase, key))


def results(figures):
    """All bars in both phases; rows that neither phase has, over all rounds."""
    found = []
    for check in (against_peers, offsets_apart, against_packing, against_next_size):
        by_phase = [result for phase in (NEAR, FAR) for result in check(figures, phase)]
        seen = {(result.bar, result.row) for result in by_phase}
        found += by_phase + [result for result in check(figures, ALL) if (result.bar, result.row) not in seen]
    return found


def cell(result):
    if result is None:
        return "-"
    few = "" if result.rounds >= ENOUGH else ", too few"
    return f"{'**' if result.missed() else ''}{result.value:.2f}{'**' if result.missed() else ''} ({result.rounds}{few})"


def verdicts(path):
    """Markdown: how many rows of each bar are met, then the rows that miss one with their figures in all phases."""
    by_row = {}
    for result in results(Figures(path)):
        by_row.setdefault((result.bar, result.row), {})[result.phase] = result
    bars = {}
    for (bar, row), phases in by_row.items():
        bars.setdefault(bar, []).append((row, phases, any(result.missed() for result in phases.values())))
    text = ["| bar | rows | missed | with enough rounds far |", "|---|---|---|---|"]
    for bar, rows in bars.items():
        enough = sum(FAR in phases and phases[FAR].rounds >= ENOUGH for _, phases, _ in rows)
        text.append(f"| {bar} | {len(rows)} | {sum(missed for _, _, missed in rows)} | {enough} |")
    text += ["", "Rows that miss a bar: ratio (rounds).", "", "| bar | row | at most | near | far | all | |", "|---" * 7 + "|"]
    for bar, rows in bars.items():
        for row, phases, missed in rows:
            if missed:
                worst = max(phases.values(), key=lambda result: result.value / result.limit)
                cells = " | ".join(cell(phases.get(phase)) for phase in (NEAR, FAR, ALL))
                text.append(f"| {bar} | {row} | {worst.limit:.2f} | {cells} | {worst.note} |")
    return "\n".join(text) + "\n"


def slower_than_before(path):
    """Markdown: the rows that are slower than in the earlier build, without and beside a GPU driver; empty without one."""
    figures = Figures(path)
    text = _slower(figures, OWN, 0.0, "Without a GPU driver")
    return text + _slower(figures, DRIVER, BESIDE_DRIVER, "Beside a GPU driver")


def _slower(figures, build, allowed, title):
    """Markdown: the rows in which a build is slower than the earlier one by more than is allowed."""
    rows = {key: figures.ratios_to_before(ALL, key, build, allowed) for key in figures.keys()}
    rows = {key: sorted(ratios) for key, ratios in rows.items() if ratios}
    if not rows:
        return ""
    text = [f"{title}, {len(rows)} rows were measured with the earlier build too. Of these are slower by more than "
            f"{AGAINST_BEFORE - 1:.0%} and {allowed * 1000:.0f} ns:", "",
            "| row | ratio | least | most | near | far | rounds |", "|---" * 7 + "|"]
    for key, ratios in sorted(rows.items(), key=lambda item: -statistics.median(item[1])):
        middle = statistics.median(ratios)
        if middle > AGAINST_BEFORE + ROUNDING:
            phases = (figures.ratios_to_before(phase, key, build, allowed) for phase in (NEAR, FAR))
            cells = [f"{statistics.median(phase):.2f}" if phase else "-" for phase in phases]
            around = f"{middle:.2f} | {ratios[0]:.2f} | {ratios[-1]:.2f}"
            text.append(f"| {label(key)} | {around} | {' | '.join(cells)} | {len(ratios)} |")
    return "\n".join(text) + "\n\n"
