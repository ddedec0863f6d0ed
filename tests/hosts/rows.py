"""The rows of a test, one behaviour each: a line for each, and what tests/all.py wants to know of all of them."""

import argparse
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import environments
import hosts

# Of the output of a row that fails, so many lines are shown.
TAIL = 25


def parser(text):
    """The options that every test of rows has; `text` describes the test."""
    options = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--prefix", type=Path)
    options.add_argument("--filter", default="", help="a regular expression for the names of the rows")
    return options


def begin(options):
    """The directory of the Towpath to test; None, and the reason is printed, where no test hosts
    can be made. From now on SIGTERM ends the test as an exception does, so that its jobs end too.
    """
    reason = hosts.forbidden()
    if reason:
        print(f"skipped: {reason}")
        return None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return (options.prefix or environments.towpath_venv()).resolve()


def job(command, settings, ranks, limit):
    """Problems of a job on test hosts whose ranks each say "ok" (None: not tested here), why it was
    not tested, and its output. It takes `limit` seconds at most.
    """
    words = [str(word) for word in command]
    environment = environments.clean_environment(**settings)
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, env=environment
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return [f"still ran after {limit:.0f} s"], "", process.communicate()[0]
    if process.returncode == hosts.SKIPPED:
        return None, output.strip(), ""
    said = len(re.findall(r"\bok\b", output))
    if process.returncode or said != ranks:
        problem = f"ended with {process.returncode}, {said} of {ranks} ranks said ok"
        return [problem], "", output
    return [], "", output


def run_all(options, prepare, named, run_row):
    """Runs the rows whose names the options choose. Gives the exit status of the test. `named` has
    pairs of a name and a row; each row runs as `run_row(prefix, prepared, row)`, where `prepared`
    is what `prepare(prefix)` has given before the first one.
    """
    prefix = begin(options)
    if prefix is None:
        return hosts.SKIPPED
    prepared, counted = prepare(prefix), Rows()
    for name, row in named:
        if re.search(options.filter, name):
            counted.run(name, lambda row=row: run_row(prefix, prepared, row))
    return counted.end()


def timed(row):
    """What a row gives, and the seconds that it took."""
    started = time.monotonic()
    return (*row(), time.monotonic() - started)


class Rows:
    """Counts rows. Each is a function that gives its problems (None where it cannot be tested), a few words for its line, and its output."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, row, verbose=False):
        """Runs a row and tells what became of it; `verbose`: its output even if it passes."""
        self.tell(name, *timed(row), verbose)

    def tell(self, name, problems, words, output, seconds, verbose=False):
        """Tells what became of a row that has run."""
        sign = "skip" if problems is None else "FAIL" if problems else "ok  "
        lines = [f"{sign} {seconds:5.1f} s  {name}" + (f" ({words})" if words else "")]
        lines += [f"     {problem}" for problem in problems or []]
        if output and (problems or verbose):
            lines += [f"     | {line}" for line in output.splitlines()[-TAIL:]]
        print("\n".join(lines), flush=True)
        self.passed, self.failed, self.skipped = self.passed + (problems == []), self.failed + bool(problems), self.skipped + (problems is None)

    def end(self):
        """Says how many there were; the exit status of the test."""
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        return 1 if self.failed or not self.passed else 0
