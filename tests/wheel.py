#!/usr/bin/env python3
"""Builds the wheel of this checkout from a layout of `xtask dist`.

    wheel.py               build/dist, from build/install: for this machine
    wheel.py --manylinux   build/manylinux, from build/install-manylinux, which is built first: for any machine with glibc 2.28 and no
                           Rust; linked by zig (a Python package in an environment below build/)
"""

import argparse
import os
import shutil
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import environments  # noqa: E402

OLDEST_GLIBC = "2.28"


def build(prefix, target):
    directory = environments.venv("builder", ["build", "hatchling"])
    shutil.rmtree(target, ignore_errors=True)
    environment = dict(os.environ, TOWPATH_WHEEL_FROM=str(prefix))
    command = [directory / "bin" / "python", "-m", "build", "--wheel", "--no-isolation",
               "--outdir", target, environments.ROOT]
    environments.command(command, f"wheel-{target.name}.log", env=environment)
    for wheel in target.glob("*.whl"):
        compress(wheel)
        print(wheel.name)


def compress(wheel):
    """Packs a wheel again, as small as zlib can; the builder has no option for that."""
    packed = wheel.with_suffix(".packed")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as after:
        for entry in before.infolist():
            after.writestr(entry, before.read(entry), zipfile.ZIP_DEFLATED, 9)
    packed.replace(wheel)


def lay_out(prefix):
    """Fills the prefix with files that need no newer glibc than the oldest one."""
    tools = environments.venv("zig") / "bin"
    environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}", CARGO_ZIGBUILD_PYTHON_PATH=str(tools / "python"))
    shutil.rmtree(prefix, ignore_errors=True)
    cargo = os.environ.get("CARGO", "cargo")
    command = [cargo, "run", "-q", "-p", "xtask", "--", "dist", "--prefix", prefix, "--glibc", OLDEST_GLIBC]
    environments.command(command, "dist-manylinux.log", env=environment, cwd=environments.ROOT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manylinux", action="store_true")
    if parser.parse_args().manylinux:
        prefix = environments.BUILD / "install-manylinux"
        lay_out(prefix)
        build(prefix, environments.BUILD / "manylinux")
    else:
        build(environments.BUILD / "install", environments.BUILD / "dist")


if __name__ == "__main__":
    main()
