"""Rounds of all libraries, each labelled with the speed that the machine had meanwhile.

The line ping-pong is measured before and after each run. A run counts for a phase when both agree, a round when each library has a
run of that phase. The speed may change within a second, so each next run is one that is missing in the phase of the moment; a round
that is not complete after some runs is recorded as mixed and repeated later. Which group comes next depends on the phase too: the
one that has the fewest rounds in it. So the rounds of a row are spread over the whole time, and rare phases are used while they last.
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
# Runs for each library in one attempt at a round.
TRIES = 3
# Seconds between two looks at a machine that is not in the phase that is waited for.
PAUSE = 5


def line_nanoseconds():
    """The line ping-pong of the moment."""
    result = subprocess.run([OUT / "programs" / "line_ping_pong"], capture_output=True, text=True, timeout=120)
    return float(result.stdout)


def measure(library, group):
    """One run: a list of (name, bytes, value). An empty list when the run failed or took too long."""
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
        return [("start", 0, seconds * 1000)]
    rows = [line.split() for line in result.stdout.splitlines()]
    return [(row[0], int(row[1]), float(row[2])) for row in rows if len(row) == 3]


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
        if not rows or statistics.median(value for _, _, value in rows) > SLOW_CALL:
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
    """One round of all who take part: a run of each, and their phase."""
    if not progress.group.phased:
        return measure_long(progress)
    found, runs, before = defaultdict(dict), [], line_nanoseconds()
    for _ in range(TRIES * len(progress.taking_part)):
        phase = phase_of(before)
        library = next(library for library in progress.taking_part if library.name not in found[phase])
        runs.append(run_of(progress, library, before))
        before = runs[-1][2]
        if phase_of(before) == phase:
            found[phase][library.name] = runs[-1]
            if all(other.name in found[phase] for other in progress.taking_part):
                return list(found[phase].values()), phase
    return runs, MIXED


def measure_long(progress):
    """A round of a group whose runs are too long for one phase: each library once."""
    runs, before = [], line_nanoseconds()
    for library in list(progress.taking_part):
        runs.append(run_of(progress, library, before))
        before = runs[-1][2]
    phases = {phase_of(line) for _, before, after, _ in runs for line in (before, after)}
    return runs, phases.pop() if len(phases) == 1 else CHANGING


def write_round(writer, progress, runs, phase):
    """Adds a round to the CSV file and to what the group has."""
    group = progress.group
    progress.last_round += 1
    progress.attempts += 1
    progress.phases[phase] += 1
    date = time.strftime("%Y-%m-%d %H:%M")
    for library, before, after, rows in runs:
        for name, size, value in rows:
            writer.writerow([date, group.name, progress.last_round, phase, before, after, library.name, group.ranks, name, size, value])


def recorded(path, all_progress):
    """Adds what a CSV file has already to the groups' progress."""
    by_name = {progress.group.name: progress for progress in all_progress}
    seen, rows_of = set(), {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            progress = by_name.get(row["group"])
            if progress is None:
                continue
            number = int(row["round"])
            if (row["group"], number) not in seen:
                seen.add((row["group"], number))
                progress.phases[row["phase"]] += 1
                progress.last_round = max(progress.last_round, number)
            rows_of.setdefault((row["group"], row["library"]), []).append((row["name"], row["bytes"], float(row["value"])))
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
            runs, phase = measure_round(progress)
            write_round(writer, progress, runs, phase)
            file.flush()
            print(f"{progress.group.name}: round {progress.last_round}, {phase}, {time.monotonic() - started:.1f} s", flush=True)
    missing = [progress.group.name for progress in everything if progress.counted() < min(options.rounds, progress.group.rounds)]
    if missing:
        print(f"{len(missing)} groups lack rounds: {' '.join(missing)}; --append goes on", flush=True)
