#!/usr/bin/env python3
"""The libfabric transport over the providers that need no hardware, with the libfabric of Debian and that of MPICH's wheel.

    libfabric.py --prefix DIRECTORY    with an installed Towpath (bin, lib); all rows
    libfabric.py --filter REGEX        only some of the rows

Rust tests and the conformance suite run inside one process, C programs over two hosts that are namespaces. Debian's package is
installed where that disturbs nobody: as root, where no systemd runs. Elsewhere one sentence says what is not tested.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import environments  # noqa: E402

SKIPPED = 77
PACKAGE = "libfabric1"
CORE = r"^(point_to_point/(ring|order|modes|persistent|probe|sizes|truncation|unexpected|random_pairs) |collectives/(allreduce|alltoall|bcast|reproducible) )"


def of_debian():
    """Path of the system's libfabric, installed if that may be."""
    def found():
        return next(iter(sorted(Path("/usr/lib").glob("*-linux-gnu/libfabric.so.1"))), None)
    disturbs_nobody = os.geteuid() == 0 and shutil.which("apt-get") and not Path("/run/systemd/system").exists()
    if found() is None and disturbs_nobody:
        environments.apt_get("install", "-y", "--no-install-recommends", PACKAGE)
    return found()


def of_wheel():
    """Path of the libfabric that MPICH's wheel brings."""
    return next(iter(sorted(environments.venv("mpich").glob("lib/mpich/libfabric.so.1"))), None)


def rows(prefix):
    """Name, library, provider of the programs (None: all, inside one process), command."""
    cargo = os.environ.get("CARGO", "cargo")
    towpath = [sys.executable, __file__, "--prefix", prefix, "--told-by"]
    c_programs = [sys.executable, HERE.parent / "mpi/run.py", "--library", "towpath", "--prefix", prefix, "--hosts", "2", "--fewer"]
    for name, library, abi in [("Debian's libfabric", of_debian(), "mpich"), ("the libfabric of MPICH's wheel", of_wheel(), "standard")]:
        programs = [*c_programs, "--abi", abi]
        if library is None:
            print(f"{name} is not tested: it is not here (on Debian: apt-get install {PACKAGE}).")
            continue
        yield f"{name}, towpath info", library, None, [*towpath, library]
        yield f"{name}, Rust tests", library, None, [cargo, "test", "-q", "-p", "towpath-ofi", "--lib"]
        yield f"{name}, conformance", library, None, [cargo, "test", "-q", "-p", "towpath-wires", "--test", "conformance"]
        for provider in ("tcp", "shm"):
            yield f"{name}, C programs by {provider}", library, provider, [*programs, "--filter", CORE]
        # The shm provider has no descriptor to sleep on.
        yield f"{name}, a rank that waits by tcp", library, "tcp", [*programs, "--filter", "^crowd/idle "]


def told(prefix, library):
    """`towpath info` tells of the library, of its providers, and of what would be chosen."""
    def networks(library=library, **settings):
        environment = environments.clean_environment(TOWPATH_LIBFABRIC=library, **settings)
        said = subprocess.run([prefix / "bin/towpath", "info", "--networks", "--json"], env=environment, capture_output=True, text=True)
        assert said.returncode == 0 and not said.stderr, said
        return json.loads(said.stdout)["networks"]
    by_itself, named, other = networks(), networks(TOWPATH_OFI_PROVIDER="tcp"), networks(TOWPATH_NETWORK="clic")
    assert str(library) in by_itself["libfabric"]["why"] and re.fullmatch(r"\d+\.\d+", by_itself["libfabric"]["value"]), by_itself
    providers = {key: row["value"] for key, row in by_itself.items() if key.startswith("provider ")}
    assert providers["provider shm"] == providers["provider tcp;ofi_rxm"] == "if named", providers
    assert named["choice"]["value"].startswith("libfabric, tcp") and "lo" not in named["choice"]["why"].split(), named["choice"]
    assert other["choice"]["value"] == "clic", other["choice"]
    missing = networks(TOWPATH_NETWORK="ofi", TOWPATH_OFI_PROVIDER="imaginary")["choice"]
    assert missing["value"] == "none" and "has no provider imaginary" in missing["why"], missing
    dies = networks(library_that_dies())["choice"]
    assert dies["value"] is None and "ended by signal" in dies["why"], dies
    print("1 passed, 0 failed")


def library_that_dies():
    """A library that ends whoever opens it, as a driver without its device may."""
    directory = environments.BUILD / "tests/libfabric"
    directory.mkdir(parents=True, exist_ok=True)
    source, library = directory / "dies.c", directory / "dies.so"
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def run_row(name, library, provider, command, limit=300):
    network = {"TOWPATH_NETWORK": "ofi", "TOWPATH_OFI_PROVIDER": provider} if provider else {}
    environment = environments.clean_environment(TOWPATH_LIBFABRIC=library, **network)
    try:
        run = subprocess.run([str(word) for word in command], env=environment, cwd=environments.ROOT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
    except subprocess.TimeoutExpired as late:
        print(f"FAIL {name}: still ran after {limit} s\n{(late.stdout or b'').decode(errors='replace')}")
        return 0, 1
    output = run.stdout.decode(errors="replace")
    if run.returncode == SKIPPED:
        print(f"{name}: not tested here\n{output}")
        return 0, 0
    counts = re.findall(r"(\d+) passed[,;] (\d+) failed", output)
    passed, failed = sum(int(row[0]) for row in counts), sum(int(row[1]) for row in counts)
    if (run.returncode or not passed) and not failed:
        failed = 1
    print(f"{'FAIL' if failed else 'ok  '} {name}: {passed} passed", flush=True)
    if failed:
        print("     | " + "\n     | ".join(output.splitlines()[-25:]))
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--told-by", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    prefix = (options.prefix or environments.towpath_venv()).resolve()
    if options.told_by:
        return told(prefix, options.told_by)
    results = [run_row(*row) for row in rows(prefix) if re.search(options.filter, row[0])]
    if not results:
        return SKIPPED
    passed, failed = (sum(row[index] for row in results) for index in (0, 1))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
