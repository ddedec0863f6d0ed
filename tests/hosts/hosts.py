#!/usr/bin/env python3
"""Hosts on one machine: network namespaces joined by veth pairs, each with a name of its own, for jobs over several hosts.

    hosts.py --hosts 2 -- COMMAND...                 runs COMMAND on the first host
    hosts.py --hosts 4 --mtu 9000 --rails 2 --rate 1gbit -- COMMAND...
    hosts.py --loss 1 --duplicate 1 --reorder 1 --seed 7 -- COMMAND...       over a wire that loses, doubles and delays frames
    hosts.py --rate 1gbit --kernel-loss 1 -- COMMAND...                      each host's kernel loses what arrives, fast
    hosts.py --hosts 3 --segments 2 -- COMMAND...                            a router between the first and third host, and the second
    hosts.py --swallow frames -- COMMAND...                                  over a switch that passes nothing but IP
    hosts.py --hosts 8 --slow host0=1gbit --weak host0=1000/5000 -- COMMAND...
                                                     one host has a slow link and a slow processor
    hosts.py --hosts 4 --kernels -- COMMAND...       each host looks like a machine with its own cores
    hosts.py --rails 2 --kill-rail 1 --after 2 [--silently] -- COMMAND...    a network dies meanwhile

Two hosts are joined by a cable, more by a bridge; each further rail is a network of its own (10.77.RAIL.HOST/24). COMMAND
finds in its environment:
    HOSTS_NAMES    the hosts' names, separated by commas
    HOSTS_ENTER    a program that runs a command on a host: `$HOSTS_ENTER NAME COMMAND...`; options before NAME are left
                   out, and the words are read by a shell, so that it can stand where a launcher wants ssh or rsh
    HOSTS_RUN      the same without options and shell: `$HOSTS_RUN NAME COMMAND...`

All of it, processes included, lives in namespaces of this one process: it is gone when the process is, however that ends. Nobody
but root of a user namespace is needed. Where the system forbids that, a sentence says so and the exit status is 77.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import links
import processors

SKIPPED = 77
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
INSIDE = "HOSTS_INSIDE"
# Where the processes of the host with a slow processor, and those of all others, write their
# numbers.
GROUPS = "HOSTS_GROUPS"
# Where `ip` looks for namespaces: a file system of this process, in which its scripts lie too.
NAMESPACES = Path("/run/netns")
ENTER = """#!/bin/sh
# Runs a command on a host: enter [options] NAME COMMAND...
while [ "${1#-}" != "$1" ]; do shift; done
name=$1; shift
[ -e {namespaces}/$name.procs ] && echo $$ > {namespaces}/$name.procs
# Words such as NAME=value before a command are the shell's.
case $1 in *=*) words=$*;; *) words="exec $*";; esac
exec nsenter --net={namespaces}/$name unshare --uts{mount} sh -c 'hostname "$0"; {boot}eval "$1"' "$name" "$words"
"""
# Gives a host a boot ID of its own.
BOOT = "mount --bind {namespaces}/$(hostname).boot /proc/sys/kernel/random/boot_id; "
RUN = """#!/bin/sh
# Runs a command on a host: run NAME COMMAND...
[ -e {namespaces}/$1.procs ] && echo $$ > {namespaces}/$1.procs
exec nsenter --net={namespaces}/$1 unshare --uts{mount} sh -c 'hostname "$1"; {boot}shift; exec "$@"' run "$@"
"""


def forbidden():
    """Why namespaces cannot be made here, in a sentence; None when they can."""
    missing = [tool for tool in ("ip", "unshare", "nsenter") if shutil.which(tool) is None]
    if missing:
        return f"{', '.join(missing)} is not installed: jobs over several hosts are not tested."
    probe = subprocess.run([*outer(), "sh", "-c", "mount -t tmpfs none /run && ip link add veth1 type veth peer name veth2 && ip link add bridge1 type bridge"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        return f"this system allows no network namespaces ({probe.stderr.strip()[:200]}): jobs over several hosts are not tested."
    return None


def outer():
    """What puts a command into namespaces of its own, which end with it."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]


def make(options):
    """The hosts, as this process's namespaces; returns their names and networks."""
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    NAMESPACES.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", NAMESPACES], check=True)
    names = [f"host{number}" for number in range(options.hosts)]
    for name in names:
        links.ip("netns", "add", name)
        links.ip("-n", name, "link", "set", "lo", "up")
    rails = links.join(names, options)
    known = NAMESPACES / "hosts"
    lines = [f"{links.address(0, place, options.segments)[0]} {name}" for place, name in enumerate(names)]
    known.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
    subprocess.run(["mount", "--bind", known, "/etc/hosts"], check=True)
    return names, rails


def inside(options):
    """Makes the hosts and runs the command; this is the first process of a process namespace."""
    names, rails = make(options)
    if options.weak:
        weak, others = os.environ[GROUPS].split()
        for name in names:
            group = weak if name == options.weak.split("=")[0] else others
            (NAMESPACES / f"{name}.procs").symlink_to(group)
    enter, run = NAMESPACES / "enter", NAMESPACES / "run"
    for name in names if options.kernels else []:
        (NAMESPACES / f"{name}.boot").write_text(f"{uuid.uuid4()}\n")
    mount, boot = (" --mount", BOOT) if options.kernels else ("", "")
    for script, text in [(enter, ENTER), (run, RUN)]:
        text = text.replace("{mount}", mount).replace("{boot}", boot)
        script.write_text(text.replace("{namespaces}", str(NAMESPACES)))
        script.chmod(0o755)
    environment = {**os.environ, "HOSTS_NAMES": ",".join(names), "HOSTS_ENTER": str(enter), "HOSTS_RUN": str(run)}
    command = subprocess.Popen([run, names[0], *options.command], env=environment)
    signal.signal(signal.SIGTERM, lambda *_: command.terminate())
    links.kill_later(rails, options)
    try:
        return command.wait()
    except KeyboardInterrupt:
        command.terminate()
        return command.wait()
    finally:
        for rail in rails:
            rail.end()


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    links.add_options(parser)
    parser.add_argument("--kernels", action="store_true",
                        help="each host has a boot ID: Towpath takes it for a machine of its own")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(words)
    names = [f"host{number}" for number in range(options.hosts)]
    for option, value in [("--slow", options.slow), ("--weak", options.weak)]:
        if value and value.split("=")[0] not in names:
            parser.error(f"{option} {value} names no host; the hosts are {', '.join(names)}")
    return options


def main():
    options = parse(sys.argv[1:])
    if os.environ.get(INSIDE):
        del os.environ[INSIDE]
        return inside(options)
    reason = forbidden() or processors.forbidden(options.weak) or links.prepare(options)
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    os.environ[INSIDE] = "1"
    with processors.limited(options.weak) as groups:
        if groups:
            os.environ[GROUPS] = " ".join(map(str, groups))
        return keep_until_told([*outer(), sys.executable, __file__, *sys.argv[1:]])


def keep_until_told(command):
    """Runs what makes the namespaces. unshare itself takes no SIGTERM; what it started ends with it."""
    # It shall end with this process, however that ends.
    die_with_parent = ctypes.CDLL(None).prctl
    child = subprocess.Popen(command, preexec_fn=lambda: die_with_parent(SET_DEATH_SIGNAL, signal.SIGKILL))
    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


if __name__ == "__main__":
    sys.exit(main())
