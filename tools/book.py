#!/usr/bin/env python3
"""Builds the documentation as a web site in build/book/html, by mdBook, which it installs under
build/ if need be.

book.py
"""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build/book"
MDBOOK = "0.4.52"
CARGO = os.environ.get("CARGO", "cargo")
# Title and page, in the order of the site; two columns deeper is a part of the one above.
PAGES = """
Towpath | README.md
Starting programs | docs/hosts.md
The topology file | docs/topology-file.md
Memory that is copied once | docs/memory.md
Memory of GPUs | docs/device-memory.md
Chares in C++ | docs/chares.md
Chares in Python | docs/charm4py.md
Programs of Charm++ | docs/charm++.md
Speed of chares | docs/chares-speed.md
How the channel is laid out | docs/channel.md
Speed on one host | docs/speed.md
Speed between hosts | docs/between-hosts.md
Slow hosts | docs/slow-hosts.md
The standard, function by function | docs/standard.md
Accepted calls | docs/accepted.md
Binaries of other libraries | docs/binaries.md
Architecture | ARCHITECTURE.md
  The ABIs | docs/design/abi.md
  Start-up | docs/design/startup.md
  Shared memory | docs/design/shared-memory.md
  Copies | docs/design/copies.md
  Unexpected messages | docs/design/unexpected-messages.md
  Networks | docs/design/networks.md
  Device memory | docs/design/device-memory.md
  CLIC | docs/clic.md
  Collectives | docs/design/collectives.md
  Message-driven objects | docs/design/actors.md
  Topologies | docs/design/topologies.md
  The Single-Chip Cloud Computer | docs/single-chip-cloud-computer.md
Glossary | docs/glossary.md
Contributing | CONTRIBUTING.md
Changes | CHANGELOG.md
"""
SETTINGS = """[book]
title = "Towpath"
language = "en"
src = "src"
[output.html]
no-section-label = true
"""


def summary():
    rows = [line.rsplit(" | ", 1) for line in PAGES.strip("\n").splitlines()]
    return "# Summary\n\n" + "".join(
        f"{title[:len(title) - len(title.lstrip())]}- [{title.strip()}]({page})\n"
        for title, page in rows
    )


def sources():
    """Copies the pages and their pictures to where mdBook reads them."""
    shutil.rmtree(OUT, ignore_errors=True)
    (OUT / "src").mkdir(parents=True)
    shutil.copytree(ROOT / "docs", OUT / "src/docs")
    for page in ROOT.glob("*.md"):
        shutil.copy(page, OUT / "src")
    (OUT / "src/SUMMARY.md").write_text(summary())
    (OUT / "book.toml").write_text(SETTINGS)


def mdbook():
    """The program, installed if need be."""
    home = ROOT / "build/mdbook"
    program = home / "bin/mdbook"
    if not program.exists():
        print(f"installing mdBook {MDBOOK}", flush=True)
        subprocess.run(
            [CARGO, "install", "-q", "mdbook", "--version", MDBOOK, "--locked", "--root", home],
            check=True,
        )
    return program


def main():
    sources()
    subprocess.run([mdbook(), "build", "-d", OUT / "html", OUT], check=True)
    print(f"open {(OUT / 'html/index.html').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
