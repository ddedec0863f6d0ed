"""Hosts with slow processors: a control group, in which a host's processes get a part of a core."""

import contextlib
import os
import sys
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PREFIX = "towpath-hosts-"


def parent():
    """Where control groups with a processor quota can be made, and whether it is version 1; None
    where they cannot."""
    first = ROOT / "cpu"
    if (first / "cgroup.procs").exists() and os.access(first, os.W_OK):
        return first, True
    enabled = ROOT / "cgroup.subtree_control"
    if enabled.exists() and "cpu" in enabled.read_text().split() and os.access(ROOT, os.W_OK):
        return ROOT, False
    return None


def forbidden(weak):
    """Why the hosts cannot have slow processors, in a sentence; None when they can."""
    if not weak or (parent() and (own(*parent()) / "cgroup.procs").exists()):
        return None
    return ("no control group with a processor quota can be made: hosts with slow processors are "
            "not tested.")


@contextlib.contextmanager
def limited(weak):
    """Makes the control group of `HOST=QUOTA/PERIOD` (microseconds), and removes it afterwards.
    Gives the files into which the processes of this host, and those of all others, write their
    numbers; None if `weak` is None."""
    if not weak:
        yield None
        return
    quota, period = weak.split("=")[1].split("/")
    above, is_first = parent()
    sweep(above)
    group = above / f"{PREFIX}{os.getpid()}"
    group.mkdir(exist_ok=True)
    try:
        if is_first:
            (group / "cpu.cfs_period_us").write_text(period)
            (group / "cpu.cfs_quota_us").write_text(quota)
        else:
            (group / "cpu.max").write_text(f"{quota} {period}")
        yield group / "cgroup.procs", own(above, is_first) / "cgroup.procs"
    finally:
        remove(group)


def own(above, is_first):
    """The control group of this process."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ("cpu" in controllers.split(",")) if is_first else not controllers:
            return above / path.lstrip("/")
    return above


def sweep(above):
    """Removes what was left by those who could not remove it themselves."""
    for group in above.glob(f"{PREFIX}*"):
        if not Path(f"/proc/{group.name.removeprefix(PREFIX)}").exists():
            remove(group)


def remove(group):
    """Removes a control group as soon as its processes are gone."""
    for _ in range(100):
        try:
            return group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.05)
    print(f"the control group {group} still has processes and is left behind", file=sys.stderr)
