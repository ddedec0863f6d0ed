"""The networks that join hosts which are namespaces: cables, bridges, slow links, and faults.

Two hosts are joined by a cable, more by a bridge. Where frames shall be lost, doubled or late, a switch in user space takes the
bridge's place (tools/programs/src/bin/rough_wire), or each host loses what arrives by a rule of its kernel (nftables), which is
faster. One frame on such a wire is one packet: cards of real hosts cut segments, so the devices are told not to pass on longer ones.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WIRE = ["-p", "towpath-programs", "--bin", "rough_wire", "--release"]
# Numbers of <linux/sockios.h> and <linux/ethtool.h>: checksums by the card, segmentation, joining of segments.
SIOCETHTOOL = 0x8946
OFFLOADS = {"tx checksum": 0x17, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
LOSS = """table netdev loss {{
    chain arrive {{
        type filter hook ingress device "{device}" priority 0;
        numgen random mod 100000 < {share} drop
    }}
}}
"""


def add_options(parser):
    """The options that describe hosts and their networks."""
    parser.add_argument("--hosts", type=int, default=2, help="so many hosts")
    parser.add_argument("--mtu", type=int, default=1500, help="longest packet of the networks")
    parser.add_argument("--rails", type=int, default=1, help="networks that join all hosts")
    parser.add_argument("--hub", action="store_true", help="what one host sends, the others see too")
    parser.add_argument("--swallow", choices=["frames", "udp"], help="a switch that passes nothing but IP, as in many rented networks, or no UDP")
    parser.add_argument("--segments", type=int, default=1, help="so many bridges instead of one, with a router between; the hosts take turns")
    parser.add_argument("--rate", help="speed of every link, as tc writes it (1gbit)")
    parser.add_argument("--slow", metavar="HOST=RATE", help="speed of one host's link in both "
                        "directions; its card cuts no segments (host0=1gbit)")
    parser.add_argument("--weak", metavar="HOST=QUOTA/PERIOD", help="one host's processes together "
                        "get so many microseconds of a core per period (host0=1000/5000)")
    for name, what in [("loss", "lost"), ("duplicate", "doubled"), ("reorder", "overtaken by others")]:
        parser.add_argument(f"--{name}", type=float, default=0, metavar="PERCENT", help=f"frames of each direction that are {what}")
    parser.add_argument("--seed", type=int, default=1, help="of the faults")
    parser.add_argument("--kernel-loss", type=float, default=0, metavar="PERCENT", help="frames that each host's kernel loses on arrival, fast; needs nft")
    parser.add_argument("--kill-rail", type=int, metavar="RAIL", help="this network goes down while the command runs")
    parser.add_argument("--after", type=float, default=1, metavar="SECONDS", help="when it does")
    parser.add_argument("--silently", action="store_true", help="its links stay up, but nothing arrives any more")


def words(options):
    """The command line that gives these options again."""
    said = []
    for name in ("hosts", "mtu", "rails", "rate", "slow", "weak", "loss", "duplicate", "reorder",
                 "seed", "kernel_loss", "kill_rail", "after", "segments", "swallow"):
        value = getattr(options, name)
        if value is not None:
            said += ["--" + name.replace("_", "-"), str(value)]
    return said + [f"--{name}" for name in ("silently", "hub") if getattr(options, name)]


def is_rough(options):
    """Whether the switch in user space is needed."""
    return bool(options.loss or options.duplicate or options.reorder or options.swallow)


def address(rail, place, segments):
    """Address of a host on a network, and how many of its bits the network has; the router of its segment."""
    if segments == 1:
        return f"10.77.{rail}.{place + 1}", 24, None
    first = 64 * (place % segments)
    return f"10.77.{rail}.{first + place // segments + 1}", 26, f"10.77.{rail}.{first + 62}"


def prepare(options):
    """Builds what the networks need, while the outer world can still be reached. Returns why they cannot be made, or None."""
    if options.kernel_loss and shutil.which("nft") is None:
        return "nft is not installed: jobs over links that lose frames in the kernel are not tested."
    if is_rough(options):
        subprocess.run([os.environ.get("CARGO", "cargo"), "build", "-q", *WIRE], cwd=ROOT, check=True)
    return None


def ip(*arguments):
    subprocess.run(["ip", *map(str, arguments)], check=True)


def on(host, *command, **options):
    """Runs a command in a host's network."""
    return subprocess.run(["ip", "netns", "exec", host, *map(str, command)], check=True, **options)


class Rail:
    """One network that joins all hosts; device eth{number} of each."""

    def __init__(self, number, names, options):
        self.number, self.names, self.options = number, names, options
        self.device = f"eth{number}"
        self.ports = [f"port{number}-{place}" for place in range(len(names))]
        self.switch = None
        silent = options.silently and options.kill_rail == number
        special = is_rough(options) or silent or options.slow or options.hub
        self.is_cable = len(names) == 2 and not special and options.segments == 1

    def join(self):
        """Makes the cables, each host's device and what stands in the middle."""
        if self.is_cable:
            ip("link", "add", self.device, "netns", self.names[0], "type", "veth", "peer", "name", self.device, "netns", self.names[1])
        else:
            self.make_ports()
        for place, name in enumerate(self.names):
            self.set_up(name, place)
        if is_rough(self.options):
            self.start_switch()

    def make_ports(self):
        """The other ends of the hosts' cables, which end in this namespace."""
        mtu, segments = self.options.mtu, self.options.segments
        bridges = [] if is_rough(self.options) else [f"bridge{self.number}-{segment}" for segment in range(segments)]
        for place, bridge in enumerate(bridges):
            # A bridge that forgets at once where anybody is sends everything to all.
            ip("link", "add", bridge, "mtu", mtu, "type", "bridge", *(["ageing_time", 0] if self.options.hub else []))
            ip("link", "set", bridge, "up")
            if segments > 1:
                _, bits, router = address(self.number, place, segments)
                ip("address", "add", f"{router}/{bits}", "dev", bridge)
                Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        for place, (port, name) in enumerate(zip(self.ports, self.names)):
            ip("link", "add", port, "mtu", mtu, "type", "veth", "peer", "name", self.device, "netns", name)
            ip("link", "set", port, *(["master", bridges[place % segments]] if bridges else []), "up")

    def set_up(self, name, place):
        own, bits, router = address(self.number, place, self.options.segments)
        ip("-n", name, "address", "add", f"{own}/{bits}", "dev", self.device)
        ip("-n", name, "link", "set", self.device, "mtu", self.options.mtu, "up")
        if router:
            ip("-n", name, "route", "add", f"10.77.{self.number}.0/24", "via", router)
        if is_rough(self.options) or self.options.kernel_loss or self.options.hub:
            on(name, sys.executable, __file__, self.device)
        if self.options.rate:
            on(name, "tc", "qdisc", "add", "dev", self.device, "root", "tbf", "rate", self.options.rate, "burst", "64kb", "limit", "1mb")
        if self.options.slow and self.options.slow.split("=")[0] == name:
            self.slow_down(name, place, self.options.slow.split("=")[1])
        if self.options.kernel_loss:
            rules = LOSS.format(device=self.device, share=round(self.options.kernel_loss * 1000))
            on(name, "nft", "-f", "-", input=rules, text=True)

    def slow_down(self, name, place, rate):
        """Limits what a host sends, and what its port of the bridge sends to it."""
        shape = ["root", "tbf", "rate", rate, "burst", "16kb", "limit", "1mb"]
        subprocess.run([sys.executable, __file__, self.ports[place]], check=True)
        on(name, sys.executable, __file__, self.device)
        on(name, "tc", "qdisc", "add", "dev", self.device, *shape)
        subprocess.run(["tc", "qdisc", "add", "dev", self.ports[place], *shape], check=True)

    def start_switch(self):
        program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/rough_wire"
        options = self.options
        faults = [word for name in ("loss", "duplicate", "reorder") for word in (f"--{name}", getattr(options, name))]
        faults += ["--swallow", options.swallow] if options.swallow else []
        command = [program, *faults, "--seed", options.seed + self.number, *self.ports]
        self.switch = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.switch.stdout.readline() != "ready\n":
            raise SystemExit("the switch in user space did not start")

    def wait_until_up(self):
        """A veth carries nothing for a moment after it is up."""
        for _ in range(100):
            shown = [subprocess.run(["ip", "-n", name, "-o", "link", "show", self.device], capture_output=True, text=True) for name in self.names]
            if all("state UP" in one.stdout for one in shown):
                return
            time.sleep(0.1)
        raise SystemExit("the links between the hosts did not come up")

    def kill(self):
        """Nothing travels here any more."""
        if self.options.silently and self.switch:
            self.end()
        elif self.options.silently:
            for port in self.ports:
                ip("link", "set", port, "nomaster")
        elif self.is_cable:
            ip("-n", self.names[-1], "link", "set", self.device, "down")
        else:
            for port in self.ports:
                ip("link", "set", port, "down")

    def end(self):
        """Ends the switch, which then says what it did."""
        if self.switch and self.switch.poll() is None:
            counts, _ = self.switch.communicate()
            print(f"network {self.number}: {counts.strip()}", file=sys.stderr)


def join(names, options):
    """All networks between the hosts."""
    rails = [Rail(number, names, options) for number in range(options.rails)]
    for rail in rails:
        rail.join()
    for rail in rails:
        rail.wait_until_up()
    return rails


def kill_later(rails, options):
    """Lets one network die when its time has come."""
    if options.kill_rail is not None:
        timer = threading.Timer(options.after, rails[options.kill_rail].kill)
        timer.daemon = True
        timer.start()


def send_single_frames(device):
    """Tells a device of this network namespace to leave checksums and segments to the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for name, command in OFFLOADS.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)
            except OSError as error:
                raise SystemExit(f"{device} keeps its {name}: {error}") from error


if __name__ == "__main__":
    send_single_frames(sys.argv[1])
