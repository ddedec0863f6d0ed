#!/usr/bin/env python3
"""Jobs whose second host is reached by ssh, as `mpiexec --hosts` does it when nothing else is said.

    ssh.py --prefix DIRECTORY          with an installed Towpath (bin, lib)

An sshd runs on the second of two hosts (hosts.py), with keys made for this test, in namespaces that end with it: nothing of the
system's own ssh is read, changed or reached. Its program is the system's, or comes out of Debian's package into build/, which is
unpacked there and not installed. Where there is none, or this user may not run one, a sentence says so and the exit status is 77.
"""

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import environments  # noqa: E402
import hosts  # noqa: E402
from rows import Rows  # noqa: E402

INSIDE = "SSH_INSIDE"
# What of Debian's packages an sshd needs, beside what ssh needs.
PACKAGES = ["openssh-server", "libwrap0"]
# The sshd sees a /run and a list of users of its own: it wants a directory and a user that only its
# package makes.
START = """mount -t tmpfs none /run && mkdir -m 755 /run/sshd &&
mount --bind {directory}/passwd /etc/passwd &&
exec {sshd} -D -e -f {directory}/sshd_config"""
CONFIG = """Port 22
HostKey {directory}/host_key
AuthorizedKeysFile {directory}/person_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PidFile none
"""
# Stands before the system's ssh in PATH, and keeps it from a person's own settings.
SSH = """#!/bin/sh
exec {ssh} -F none -i {directory}/${{KEY:-person_key}} -o IdentitiesOnly=yes \\
    -o UserKnownHostsFile={directory}/known_hosts -o GlobalKnownHostsFile=none "$@"
"""


def provide():
    """The sshd and the directory of its libraries, or None and the reason in a sentence."""
    if os.geteuid() != 0:
        return None, "only root may run an sshd that others can log in to: jobs over ssh are not tested"
    if missing := [name for name in ("ssh", "ssh-keygen", "mount") if shutil.which(name) is None]:
        return None, f"{', '.join(missing)} is not installed: jobs over ssh are not tested"
    if found := shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin"):
        return (Path(found), ""), None
    directory = environments.BUILD / "sshd"
    program = directory / "usr/sbin/sshd"
    if not program.exists():
        if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
            return None, "sshd is not installed: jobs over ssh are not tested"
        directory.mkdir(parents=True, exist_ok=True)
        if not environments.apt_get("download", *PACKAGES, cwd=directory):
            return None, "sshd is not installed, and its package cannot be fetched: jobs over ssh are not tested"
        for package in directory.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, directory], check=True)
    return (program, str(next(directory.glob("usr/lib/*-linux-gnu*"), ""))), None


def make_keys(directory, program):
    """Keys and settings of both sides."""
    for name in ("host_key", "person_key", "strange_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name,
                        "-f", directory / name], check=True)
    (directory / "known_hosts").write_text("host1 " + (directory / "host_key.pub").read_text())
    (directory / "sshd_config").write_text(CONFIG.format(directory=directory))
    users = Path("/etc/passwd").read_text()
    if "\nsshd:" not in users:
        users += "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    (directory / "passwd").write_text(users)
    (directory / "start").write_text(START.format(directory=directory, sshd=program))
    (directory / "bin").mkdir()
    (directory / "bin/ssh").write_text(SSH.format(directory=directory, ssh=shutil.which("ssh")))
    (directory / "bin/ssh").chmod(0o755)


def wait_until(what, holds, seconds=60):
    for _ in range(seconds * 50):
        if holds():
            return
        time.sleep(0.02)
    raise SystemExit(f"{what} did not happen within {seconds} s")


def answers(host):
    try:
        socket.create_connection((host, 22), 1).close()
        return True
    except OSError:
        return False


def below(pid):
    """Processes below a process, itself not among them."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [number for child in children for number in (int(child), *below(child))]


def alive_with(mark):
    """Processes whose command line holds the mark."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [line.parent.name] if mark in line.read_bytes().split(b"\0") else []
        except OSError:
            pass
    return found


class Jobs:
    """The tests, each a job: whether it went well, and what it said."""

    def __init__(self, prefix, directory, sshd):
        self.prefix, self.sshd = prefix, sshd
        self.environment = environments.clean_environment(
            PATH=f"{directory}/bin:{os.environ['PATH']}", LD_LIBRARY_PATH=str(prefix / "lib"))
        self.program = environments.BUILD / "tests/launchers/towpath"

    def mpiexec(self, *words):
        return [str(word) for word in (self.prefix / "bin/mpiexec", *words)]

    def run(self, *words, key="person_key", text=""):
        return subprocess.run(self.mpiexec(*words), env={**self.environment, "KEY": key}, input=text, capture_output=True, text=True, timeout=120)

    def a_c_program_over_both_hosts(self):
        run = self.run("--hosts", "host0,host1", "-n", 4, self.program)
        return run.returncode == 0 and run.stdout == "ok: 4 ranks, sum 10\n", run

    def input_variables_and_codes_cross_ssh(self):
        script = "cat; echo $HOSTNAME_OF_JOB; echo to stderr >&2; exit 7"
        run = self.run("--hosts", "host1", "-n", 1, "-x", "HOSTNAME_OF_JOB=it's \"here\"", "sh", "-c", script, text="a line\n" * 1000)
        return run.returncode == 7 and run.stdout == "a line\n" * 1000 + "it's \"here\"\n" and "to stderr\n" in run.stderr, run

    def the_mpi_abort_of_the_other_host_is_told(self):
        run = self.run("--hosts", "host0:1,host1:1", "-n", 2, self.program, "abort")
        return run.returncode == 7 and "rank 1 ended the job with code 7" in run.stderr, run

    def a_key_that_does_not_fit_is_a_sentence_at_once(self):
        begin = time.monotonic()
        run = self.run("--hosts", "host0,host1", "-n", 2, self.program, key="strange_key")
        # Nobody is asked for a password: the limit for hosts that say nothing is 60 s.
        said = "Permission denied" in run.stderr and "host host1 is lost" in run.stderr
        return run.returncode == 1 and said and time.monotonic() - begin < 50, run

    def a_connection_that_is_cut_ends_the_job_on_both_sides(self):
        mark = b"towpath-ssh-test"
        words = self.mpiexec("--hosts", "host0,host1", "-n", 2, "sh", "-c", "echo ready; setsid sleep 600 & sleep 600", mark.decode())
        job = subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [job.stdout.readline(), job.stdout.readline()]
        sessions = [pid for pid in below(self.sshd.pid) if Path(f"/proc/{pid}/comm").read_text() == "sshd\n"]
        for pid in sessions:
            os.kill(pid, signal.SIGKILL)
        _, errors = job.communicate(timeout=120)
        wait_until("the end of the job on both hosts", lambda: not alive_with(mark))
        told = job.returncode == 1 and "host host1 is lost" in errors
        return told and lines == ["ready\n"] * 2 and sessions, f"{job.returncode} {errors}"


def inside(prefix, directory, libraries):
    """On the first host: starts the sshd on the second, runs the tests, ends it."""
    start = [os.environ["HOSTS_RUN"], "host1", "env", f"LD_LIBRARY_PATH={libraries}",
             "unshare", "--mount", "sh", directory / "start"]
    with open(directory / "sshd.log", "w") as log:
        sshd = subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until("the start of sshd", lambda: answers("host1") or sshd.poll() is not None)
        if sshd.poll() is not None:
            raise SystemExit(f"sshd does not start: {(directory / 'sshd.log').read_text()}")
        jobs, rows = Jobs(prefix, directory, sshd), Rows()

        def row(test):
            passed, said = getattr(jobs, test)()
            return [] if passed else [str(said)], "", (directory / "sshd.log").read_text()

        for name in vars(Jobs):
            if not name.startswith("_") and name not in ("mpiexec", "run"):
                rows.run(f"ssh: {name.replace('_', ' ')}", lambda: row(name))
    finally:
        sshd.terminate()
        sshd.wait()
    return rows.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prefix", type=Path)
    options = parser.parse_args()
    prefix = (options.prefix or environments.towpath_venv()).resolve()
    if found := os.environ.pop(INSIDE, None):
        directory, libraries = found.split(":")
        return inside(prefix, Path(directory), libraries)
    found, reason = provide()
    if reason is None:
        reason = hosts.forbidden()
    if reason:
        print(f"skipped: {reason}.")
        return hosts.SKIPPED
    binary = environments.BUILD / "tests/launchers/towpath"
    binary.parent.mkdir(parents=True, exist_ok=True)
    environments.command([prefix / "bin/mpicc", "-O1", "-o", binary, HERE.parent / "external/launchers.c"], "launchers-towpath.log",
                         env=environments.clean_environment())
    with tempfile.TemporaryDirectory(prefix="towpath-ssh-") as directory:
        make_keys(Path(directory), found[0])
        words = [sys.executable, HERE / "hosts.py", "--hosts", "2", "--", sys.executable, __file__, "--prefix", prefix]
        environment = {**os.environ, INSIDE: f"{directory}:{found[1]}"}
        return subprocess.run([str(word) for word in words], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
