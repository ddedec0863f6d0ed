#!/usr/bin/env python3
"""Translates, compiles and runs programs of Charm++: those of examples/charm, and those of
tests/actors/charm, each of which uses one part of the language and checks itself.

    charm.py                   with build/install, on 1, 2 and 4 ranks
    charm.py --filter steps    some of them
    charm.py --prefix DIR      with another installation

A program passes when its compilation says nothing, and each job ends in time with status 0 and a
line that ends with "ok" or "right". Prints "N passed, M failed".
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

CARGO = os.environ.get("CARGO", "cargo")
BUILD = [CARGO, "build", "-q", "-p", "towpath-charmc"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", environments.ROOT / "target"))
TRANSLATOR = TARGET / "debug/towpath-charmc"
HEADERS = environments.ROOT / "include/towpath/charm++"
RANKS = (1, 2, 4)
WARNINGS = ["-O1", "-Wall", "-Werror"]


def programs():
    """Their interface files and C++ files; a file without a program is a module of another."""
    for directory in (environments.ROOT / "examples/charm", HERE / "charm"):
        for source in sorted(directory.glob("*.C")):
            yield source


def run(words, directory, limit):
    """Whether a command has ended well in so many seconds, and what it said."""
    words = ["timeout", "--kill-after=5", limit, *words]
    result = subprocess.run([str(word) for word in words], cwd=directory, text=True,
                            env=environments.clean_environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    return result.returncode == 0, result.stdout


def tested(source, prefix, directory):
    """What is wrong with a program, if anything."""
    charmc = [TRANSLATOR, "--prefix", prefix]
    for interface in sorted(source.parent.glob("*.ci")):
        translated, said = run([*charmc, interface], directory, 10)
        if not translated or said:
            return f"translating {interface.name}:\n{said}"
    words = ["-language", "charm++", *WARNINGS, f"-I{HEADERS}", f"-I{source.parent}"]
    words += ["-o", source.stem, source]
    compiled, said = run([*charmc, *words], directory, 120)
    if not compiled or said:
        return f"compiling:\n{said}"
    for ranks in RANKS:
        words = ["--charmrun", "--prefix", prefix, f"+p{ranks}", f"./{source.stem}", "++local"]
        ended, said = run([TRANSLATOR, *words], directory, 30)
        if not ended or not re.search(r"\b(ok|right)$", said, re.M):
            return f"{ranks} ranks:\n{said}"
    return None


def results(options):
    """The name of each program, whether it passes, and what is wrong with it."""
    for source in programs():
        name = f"{source.parent.name}/{source.name}"
        if options.filter not in name:
            continue
        with tempfile.TemporaryDirectory() as directory:
            problem = tested(source, options.prefix.absolute(), directory)
        yield name, problem is None, problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prefix", type=Path, default=environments.ROOT / "build/install")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    subprocess.run(BUILD, cwd=environments.ROOT, check=True)
    environments.report(results(options), tail=100)


if __name__ == "__main__":
    main()
