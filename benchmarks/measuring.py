"""Rounds of all libraries, each labelled with the speed that the machine had meanwhile.

The line ping-pong is measured before and after each run, and by programs of two pinned ranks around each figure, since the speed may
change within a second. A figure counts for a phase when both agree; a row counts in a round for a phase when each library has a
figure in it. All libraries run again until most rows do, a few times at most; the rest is recorded as mixed. Which group comes next
depends on the phase of the moment: the one that has the fewest rounds in it. So the rounds of a row are spread over the whole time.
"""

import csv
import statistics
import subprocess
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from figures import CHANGING, COLUMNS, ENOUGH, FAR, MIXED, phase_of
from libraries import OUT, environments

# Who needs more microseconds than this for the median of its calls is left out of a group's later rounds; programs whose calls
# take that long by their nature do not count.
SLOW_CALL = 5000
LEFT_OUT_WHERE_SLOW = ("mpich", "mpich-throttled")
SHORT_CALLS = ("collective", "halo")
# Runs of each library in one round at most.
TRIES = 3
# Seconds between two looks at a machine that is not in the phase that is waited for.
PAUSE = 5


def line_nanoseconds():
    """The line ping-pong of the moment."""
    result = subprocess.run([OUT / "programs" / "line_ping_pong"], capture_output=True, text=True, timeout=120)
    return float(result.stdout)


def measure(library, group):
    """One run: a list of (name, bytes, value, line ping-pongs that the program saw around the figure). Empty when it failed."""
    environment = environments.clean_environment(**library.settings, **group.settings)
    started = time.monotonic()
    try:
        result = subprocess.run([str(word) for word in library.command(group)], env=environment, capture_output=True, text=True,
                                timeout=group.limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"   {library.name} {group.name}: still ran after {group.limit} s", flush=True)
        return []
    seconds = time.monotonic() - started
    if result.returncode:
        print(f"   {library.name} {group.name}: ended with {result.returncode}: {result.stderr[-300:]}", flush=True)
        return []
    if group.program == "start":
        return [("start", 0, seconds * 1000, ())]
    rows = [line.split() for line in result.stdout.splitlines()]
    return [(row[0], int(row[1]), float(row[2]), [float(line) for line in row[3:]]) for row in rows if len(row) in (3, 5)]


@dataclass
class Progress:
    """What a group has so far."""

    group: object
    taking_part: list
    phases: Counter = field(default_factory=Counter)
    attempts: int = 0  # of this run of the script
    last_round: int = -1

    def counted(self):
        """Rounds that count."""
        return sum(number for phase, number in self.phases.items() if phase != MIXED)

    def leave_out(self, library, rows):
        """Takes a library out that is much too slow here, or did not end."""
        if library.name not in LEFT_OUT_WHERE_SLOW or self.group.program not in SHORT_CALLS:
            return
        if not rows or statistics.median(row[2] for row in rows) > SLOW_CALL:
            self.taking_part = [other for other in self.taking_part if other is not library]

    def lacks(self, options, phase):
        """Whether a round in this phase would bring the group further."""
        rounds = min(options.rounds, self.group.rounds)
        if self.attempts >= 2 * rounds:
            return False
        short = options.append and self.group.phased and phase == FAR and self.phases[FAR] < ENOUGH
        return self.counted() < rounds or short


def run_of(progress, library, before):
    """One run between two line ping-pongs: (library, line before, line after, rows)."""
    rows = measure(library, progress.group)
    progress.leave_out(library, rows)
    return library, before, line_nanoseconds(), rows


def measure_round(progress):
    """Runs of all who take part, repeated until most rows have a figure of each library in one phase."""
    runs, before = [], line_nanoseconds()
    for _ in range(TRIES if progress.group.phased else 1):
        for library in list(progress.taking_part):
            runs.append(run_of(progress, library, before))
            before = runs[-1][2]
        rows = by_phase(runs)
        if 2 * sum(any(complete(phases, phase) for phase in phases) for phases in rows.values()) >= len(rows):
            break
    return runs


def by_phase(runs):
    """The first figure of each library in each phase: {(name, bytes): {phase: {library: (line before, line after, value)}}}."""
    found = defaultdict(lambda: defaultdict(dict))
    for library, before, after, rows in runs:
        for name, size, value, lines in rows:
            around = lines if any(lines) else (before, after)
            phases = {phase_of(line) for line in around}
            phase = phases.pop() if len(phases) == 1 else MIXED
            found[name, size][phase].setdefault(library.name, (*around, value))
    return found


def complete(phases, phase):
    """Whether a phase has a figure of each library that has one at all."""
    return phase != MIXED and len(phases[phase]) == len({name for by_library in phases.values() for name in by_library})


def write_round(writer, progress, runs):
    """Adds a round to the CSV file and to what the group has: a row counts in each phase in which all libraries have a figure."""
    group = progress.group
    progress.last_round += 1
    progress.attempts += 1
    date, counted = time.strftime("%Y-%m-%d %H:%M"), Counter()
    for (name, size), phases in by_phase(runs).items():
        for phase, by_library in phases.items():
            label = phase if complete(phases, phase) else MIXED if group.phased else CHANGING
            counted[label] += label != MIXED
            for library, (before, after, value) in by_library.items():
                writer.writerow([date, group.name, progress.last_round, label, before, after, library, group.ranks, name, size, value])
    phase = most_common(counted)
    progress.phases[phase] += 1
    return phase


def most_common(counted):
    """The phase of a round: that of most rows that count, mixed where none does."""
    counted = {phase: number for phase, number in counted.items() if number and phase != MIXED}
    return max(counted, key=counted.get, default=MIXED)


def recorded(path, all_progress):
    """Adds what a CSV file has already to the groups' progress."""
    by_name = {progress.group.name: progress for progress in all_progress}
    labels, rows_of = defaultdict(Counter), {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            progress = by_name.get(row["group"])
            if progress is None:
                continue
            number = int(row["round"])
            labels[row["group"], number][row["phase"]] += 1
            progress.last_round = max(progress.last_round, number)
            rows_of.setdefault((row["group"], row["library"]), []).append((row["name"], row["bytes"], float(row["value"])))
    for (group, _), counted in labels.items():
        by_name[group].phases[most_common(counted)] += 1
    for (group, name), rows in rows_of.items():
        for library in list(by_name[group].taking_part):
            if library.name == name:
                by_name[group].leave_out(library, rows)


def forecast(all_progress, options):
    """What is about to be done, and how long it takes."""
    rounds = [max(0, min(options.rounds, progress.group.rounds) - progress.counted()) for progress in all_progress]
    runs = sum(number * len(progress.taking_part) for number, progress in zip(rounds, all_progress))
    seconds = sum(number * progress.group.expected(progress.taking_part) for number, progress in zip(rounds, all_progress))
    print(f"{len(all_progress)} groups, {sum(rounds)} rounds, {runs} runs: about {seconds / 60:.0f} minutes without repetitions, "
          f"{options.minutes:g} at most", flush=True)


def choose(all_progress, options):
    """The group that comes next, by the phase of the moment; None where no group lacks rounds in it."""
    phase = phase_of(line_nanoseconds())
    lacking = [progress for progress in all_progress if progress.lacks(options, phase)]
    return min(lacking, key=lambda progress: (progress.phases[phase], progress.attempts), default=None)


@environments.segments_swept()
def measure_all(options, chosen, groups, path):
    """Rounds of all groups until each has enough or the time is over, written to the CSV file as they come."""
    everything = [Progress(group, [library for library in chosen if library.takes_part(group)]) for group in groups]
    appending = options.append and path.exists()
    if appending:
        recorded(path, everything)
    forecast(everything, options)
    end = time.monotonic() + options.minutes * 60
    with open(path, "a" if appending else "w", newline="") as file:
        writer = csv.writer(file)
        if not appending:
            writer.writerow(COLUMNS)
        while time.monotonic() < end and any(progress.lacks(options, FAR) for progress in everything):
            progress = choose(everything, options)
            if progress is None:
                time.sleep(PAUSE)
                continue
            started = time.monotonic()
            phase = write_round(writer, progress, measure_round(progress))
            file.flush()
            print(f"{progress.group.name}: round {progress.last_round}, {phase}, {time.monotonic() - started:.1f} s", flush=True)
    missing = [progress.group.name for progress in everything if progress.counted() < min(options.rounds, progress.group.rounds)]
    if missing:
        print(f"{len(missing)} groups lack rounds: {' '.join(missing)}; --append goes on", flush=True)
