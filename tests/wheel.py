#!/usr/bin/env python3
"""Builds the wheel of this checkout into build/dist, from what `xtask dist` has laid out in build/install."""

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environments  # noqa: E402


def main():
    folder = environments.venv("builder", ["build", "hatchling"])
    target = environments.BUILD / "dist"
    shutil.rmtree(target, ignore_errors=True)
    environment = dict(os.environ, TOWPATH_WHEEL_FROM=str(environments.BUILD / "install"))
    command = [folder / "bin" / "python", "-m", "build", "--wheel", "--no-isolation", "--outdir", target, environments.ROOT]
    environments.command(command, "wheel.log", env=environment)
    print(*(path.name for path in target.glob("*.whl")))


if __name__ == "__main__":
    main()
