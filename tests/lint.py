#!/usr/bin/env python3
"""Checks that need no running program: format, clippy, arrows, generated files, sizes and texts. Each check counts as one.

Sizes follow CONTRIBUTING.md: a source file has 800 lines at most (generated files and tables do not count). Committed files name
no path of somebody's machine.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import links  # noqa: E402
import structure  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
LONGEST = 800
SOURCES = (".rs", ".py", ".c", ".h")
GENERATED = re.compile(r"generated|/tables?\.rs$|^include/|^api/|^crates/base/src/calls\.rs$")
# Atomics and cells are named in base::sync only (and in the model checks), so that loom can take their place everywhere.
ATOMICS = re.compile(r"\b(std|core)::(sync::atomic|cell::UnsafeCell)\b|\bcell::\{[^}]*UnsafeCell")
ATOMICS_ALLOWED = re.compile(r"^crates/base/src/sync\.rs$|/model\.rs$")
# Pieces, so that this file does not contain what it looks for.
FOREIGN = re.compile("|".join(["/wo" + "rk/", "/tmp/pe" + "ers", "/ro" + "ot/"]))

CLIPPY = [CARGO, "clippy", "-q"]
STRICTLY = ["--", "-D", "warnings"]
COMMANDS = {
    "format": [CARGO, "fmt", "--all", "--check"],
    "clippy": [*CLIPPY, "--workspace", "--all-targets", "--features", "strict,scc", *STRICTLY],
    "clippy without the strict channel": [*CLIPPY, "-p", "towpath-wires", "-p", "towpath-mpi", "--lib", *STRICTLY],
    "arrows": [CARGO, "run", "-q", "-p", "xtask", "--", "arrows"],
    "generated files": [CARGO, "run", "-q", "-p", "xtask", "--", "codegen", "--check"],
    "python syntax": [sys.executable, "-m", "compileall", "-q", "tests", "benchmarks", "examples", "tools", "hatch_build.py"],
}


def committed_files():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in names.splitlines() if (ROOT / name).is_file()]


def long_files(names):
    problems = []
    for name in names:
        if name.endswith(SOURCES) and not GENERATED.search(name):
            lines = (ROOT / name).read_text(errors="replace").count("\n")
            if lines > LONGEST:
                problems.append(f"{name} has {lines} lines, {LONGEST} at most: split it by the state it owns")
    return problems


def named_atomics(names):
    # Clippy's disallowed-types would also refuse them by the names that base::sync gives.
    problems = []
    for name in names:
        if name.startswith("crates/") and name.endswith(".rs") and not ATOMICS_ALLOWED.search(name):
            for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
                if ATOMICS.search(line) and not line.lstrip().startswith("//"):
                    problems.append(f"{name}:{number}: use towpath_base::sync: {line.strip()[:100]}")
    return problems


def foreign_paths(names):
    problems = []
    for name in names:
        text = (ROOT / name).read_text(errors="replace") if (ROOT / name).stat().st_size < 2_000_000 else ""
        for number, line in enumerate(text.splitlines(), 1):
            if FOREIGN.search(line):
                problems.append(f"{name}:{number} names a path of one machine: {line.strip()[:100]}")
    return problems


def main():
    failed = []
    names = committed_files()
    checks = {"file sizes": lambda: long_files(names), "machine paths": lambda: foreign_paths(names),
              "atomics": lambda: named_atomics(names), "structure": structure.exceeded, "links": links.broken}
    for name, command in COMMANDS.items():
        checks[name] = lambda command=command: [] if subprocess.call(command, cwd=ROOT) == 0 else [" ".join(command) + " failed"]
    for name, check in checks.items():
        started = time.monotonic()
        problems = check()
        print(f"{'FAIL' if problems else 'ok  '} {time.monotonic() - started:6.1f} s  {name}", flush=True)
        for problem in problems:
            print(f"     {problem}")
        if problems:
            failed.append(name)
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
