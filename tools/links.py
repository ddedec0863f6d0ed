#!/usr/bin/env python3
"""Checks that links between the committed Markdown files lead somewhere: to files, and to headings
if a link names one.

links.py        prints broken links; fails if there are any
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def pages():
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # The generator's parts of pages are checked where they end up.
    return [
        ROOT / name
        for name in names.stdout.splitlines()
        if (ROOT / name).is_file() and not name.startswith("xtask/")
    ]


def without_code(text):
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


def anchors(page):
    """The anchors that GitHub and mdBook give the headings of a page."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), re.M
    )
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def broken():
    """Links of all pages that lead nowhere, as sentences."""
    problems = []
    for page in pages():
        for target in LINK.findall(without_code(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            name = page.relative_to(ROOT)
            if not file.exists():
                problems.append(f"{name}: {target} does not exist")
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                problems.append(f"{name}: {path or 'this page'} has no heading #{anchor}")
    return problems


if __name__ == "__main__":
    found = broken()
    print("\n".join(found) or "all links lead somewhere")
    sys.exit(1 if found else 0)
