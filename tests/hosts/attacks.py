#!/usr/bin/env python3
"""What a stranger does to a job from a host of its own that sees all of the job's frames (hosts.py --hub); see strangers.py.

    attacks.py NAME SECONDS [PROGRAM]

Says "ready", reads one line of JSON (the job's listening ports: [[address, port], ...]), attacks for so many seconds, and says in one
line of JSON how many frames, messages or connections that were (`sent`), what it saw of the job (`seen`) and what it should not have got
(`problems`). It knows the form of everything, but not the job's key. PROGRAM speaks libfabric (tools/programs/src/bin/ofi_stranger.rs).
"""

import errno
import json
import os
import random
import resource
import select
import socket
import struct
import subprocess
import sys
import threading
import time

DEVICE = "eth0"
CLIC, IPV4 = 0x88B5, 0x0800
SOL_PACKET, MEMBERSHIP, PROMISCUOUS = 263, 1, 1
ETHERNET, HEADER, TCP, UDP = 14, 32, 6, 17
SYN, ACK = 2, 16
# Kinds of frames that carry bytes of messages: the check does not cover those (docs/clic.md).
OF_MESSAGES = (1, 5, 10)
LONGEST = 1500
OURS = socket.inet_aton("10.77.0.0")[:3]
MAGIC = b"towpath\x02"
HELLO, CHALLENGE, PROOF = 96, 48, 32
# Where the nonce begins in a greeting; the hash follows it.
NONCE = 48
# Captured frames that are kept.
KEPT = 4000
PATIENCE = 0.5


def wiretap():
    """A socket that sees all frames of the network, and sends whatever it is given."""
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    packets.bind((DEVICE, 3))
    packets.setsockopt(SOL_PACKET, MEMBERSHIP, struct.pack("iHH8s", socket.if_nametoindex(DEVICE), PROMISCUOUS, 0, b""))
    packets.setblocking(False)
    return packets


def clic_offset(frame):
    """Where CLIC's header begins in a frame of the job; None when it is none of CLIC's."""
    kind = int.from_bytes(frame[12:14], "big")
    if kind == CLIC and len(frame) >= ETHERNET + HEADER:
        return ETHERNET
    of_job = kind == IPV4 and frame[ETHERNET + 9] == UDP and frame[26:29] == OURS and frame[30:33] == OURS
    offset = ETHERNET + (frame[ETHERNET] & 15) * 4 + 8
    return offset if of_job and len(frame) >= offset + HEADER else None


def capture(packets, seconds):
    """CLIC's frames that pass meanwhile, each with where its header begins."""
    found, ends = [], time.monotonic() + seconds
    while time.monotonic() < ends and len(found) < KEPT:
        if not select.select([packets], [], [], 0.05)[0]:
            continue
        frame, (_, _, sort, _, _) = packets.recvfrom(1 << 16)
        offset = clic_offset(frame)
        if sort != socket.PACKET_OUTGOING and offset:
            found.append((frame, offset))
    return found


def rebuilt(frame, offset, header, body):
    """The frame with another header and body of CLIC; lengths and check sums of IP and UDP are right again."""
    outer = bytearray(frame[:offset])
    if offset > ETHERNET:
        length = HEADER + len(body) + 8
        struct.pack_into("!H", outer, ETHERNET + 2, length + offset - 8 - ETHERNET)
        struct.pack_into("!H", outer, ETHERNET + 10, 0)
        total = sum(struct.unpack_from("!10H", outer, ETHERNET))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        struct.pack_into("!H", outer, ETHERNET + 10, ~total & 0xFFFF)
        # No check sum, as UDP allows.
        struct.pack_into("!HH", outer, offset - 4, length, 0)
    return bytes(outer) + header + body


def as_it_was(chance, frame, offset):
    header, length = frame[offset:offset + HEADER], int.from_bytes(frame[offset + 14:offset + 16], "little")
    return rebuilt(frame, offset, header, frame[offset + HEADER:offset + HEADER + length])


def forged(chance, frame, offset):
    """A frame of any kind that fits the session in every number but the check: what another key would give is as good as chance."""
    header = bytearray(frame[offset:offset + HEADER])
    header[16] = 0x10 | chance.randrange(1, 13)
    struct.pack_into("<II", header, 0, (int.from_bytes(header[:4], "little") + chance.randrange(40)) & 0xFFFFFFFF, chance.getrandbits(32))
    body = chance.randbytes(8 * chance.randrange(4))
    struct.pack_into("<H", header, 14, len(body))
    return rebuilt(frame, offset, bytes(header), body)


def out_of_range(chance, frame, offset):
    """A frame of the job with one length, number or offset that cannot be; its body is shorter or longer than it says."""
    header, body = bytearray(frame[offset:offset + HEADER]), bytearray(frame[offset + HEADER:])
    at, width = chance.choice([(0, 4), (8, 4), (14, 2), (18, 2), (20, 4), (24, 4), (28, 4)])
    wild = chance.choice([0, 1, (1 << 8 * width) - 1, 1 << 8 * width - 1, chance.getrandbits(8 * width)])
    if wild.to_bytes(width, "little") == header[at:at + width]:
        wild ^= 1
    header[at:at + width] = wild.to_bytes(width, "little")
    if header[16] & 15 not in OF_MESSAGES:
        body = bytearray(chance.choice([b"", bytes(body), b"\xff" * 24]))
    return rebuilt(frame, offset, bytes(header), bytes(body[:LONGEST - 60]))


def altered(chance, frame, offset):
    """A frame of the job in which one bit of the header, or of the protocol's own body, is another."""
    whole = bytearray(frame[offset:])
    covered = HEADER if whole[16] & 15 in OF_MESSAGES else HEADER + min(int.from_bytes(whole[14:16], "little"), len(whole) - HEADER)
    whole[chance.randrange(covered)] ^= 1 << chance.randrange(8)
    return rebuilt(frame, offset, bytes(whole[:HEADER]), bytes(whole[HEADER:]))


def heavy(chance, frame, offset):
    """As long as a frame can be, for the right endpoint, small or bulk."""
    header = bytearray(frame[offset:offset + HEADER])
    header[16] = 0x10 | chance.choice([1, 5])
    body = bytes(LONGEST - HEADER - (offset - ETHERNET))
    struct.pack_into("<I", header, 4, chance.getrandbits(32))
    struct.pack_into("<H", header, 14, len(body))
    return rebuilt(frame, offset, bytes(header), body)


def by_frames(make, most=KEPT):
    """An attack that makes its frames of those that it sees, anew again and again."""
    def attack(packets, _, ends):
        chance, sent, seen = random.Random(4), 0, 0
        while time.monotonic() < ends:
            found = capture(packets, 0.2)
            seen += len(found)
            found = chance.sample(found, min(most, len(found)))
            frames = [made for frame, offset in found if len(made := make(chance, frame, offset)) <= ETHERNET + LONGEST]
            again = time.monotonic() + 0.4
            while frames and time.monotonic() < min(again, ends):
                for frame in frames:
                    try:
                        packets.send(frame)
                        sent += 1
                    except OSError as error:
                        if error.errno not in (errno.ENOBUFS, errno.EAGAIN):
                            raise
            # What gathered meanwhile is the attacker's own noise.
            drain(packets)
        return {"sent": sent, "seen": seen, "problems": []}
    return attack


def drain(packets):
    try:
        while True:
            packets.recv(1 << 16)
    except BlockingIOError:
        pass


def connect(place):
    """A connection to a port of the job, or None while the system has no room for it."""
    try:
        return socket.create_connection(tuple(place), timeout=PATIENCE)
    except OSError:
        return None


def answer_to(stream, words, most=256):
    """What comes back after these words, until nothing more does or the other end closes."""
    try:
        stream.sendall(words)
    except OSError:
        return b""
    answer = b""
    try:
        while len(answer) < most and (more := stream.recv(most)):
            answer += more
    except OSError:
        pass
    return answer


def say_nothing(_, places, ends):
    """Thousands of connections that are open and silent."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kept, sent = [], 0
    while time.monotonic() < ends:
        for place in places:
            stream = connect(place)
            if stream:
                kept.append(stream)
                sent += 1
        if len(kept) > min(4000, hard - 100):
            kept = kept[len(kept) // 2:]
    return {"sent": sent, "seen": len(places), "problems": []}


def half_open(packets, places, ends):
    """Beginnings of connections from addresses that nobody has."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        hardware = {address: hardware_of(address) for address, _ in places}
        out.bind((DEVICE, 0))
        own, chance, sent = out.getsockname()[4], random.Random(5), 0
        while time.monotonic() < ends:
            for address, port in places:
                source = bytes([10, 77, 0, chance.randrange(50, 250)])
                head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 1, 0, 64, TCP, 0, source, socket.inet_aton(address))
                head = head[:10] + checksum(head) + head[12:]
                begin = struct.pack("!HHIIBBHHH", chance.randrange(1024, 65536), port, chance.getrandbits(32), 0, 0x50, SYN, 1000, 0, 0)
                false = source + socket.inet_aton(address) + struct.pack("!BBH", 0, TCP, 20)
                begin = begin[:16] + checksum(false + begin) + begin[18:]
                out.send(hardware[address] + own + struct.pack("!H", IPV4) + head + begin)
                sent += 1
    return {"sent": sent, "seen": len(places), "problems": []}


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~total & 0xFFFF)


def hardware_of(address):
    """The Ethernet address of another host, which the system knows after a word to it."""
    stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(100):
        stream.sendto(b"?", (address, 9))
        with open("/proc/net/arp") as table:
            found = [line.split()[3] for line in table if line.split()[0] == address and line.split()[2] == "0x2"]
        if found:
            return bytes.fromhex(found[0].replace(":", ""))
        time.sleep(0.02)
    raise SystemExit(f"{address} does not answer")


def each_connection(words, may_answer):
    """An attack that says something in a connection and looks at what comes back."""
    def attack(_, places, ends):
        chance, sent, problems = random.Random(6), 0, []
        while time.monotonic() < ends:
            for place in places:
                stream = connect(place)
                if stream is None:
                    continue
                with stream:
                    stream.settimeout(0.05)
                    answer = answer_to(stream, words(chance))
                    sent += 1
                if answer and not may_answer:
                    problems.append(f"a stranger was answered: {answer[:60]!r}")
        return {"sent": sent, "seen": len(places), "problems": problems[:3]}
    return attack


def garbage(chance):
    """Something of any length; sometimes it begins as a greeting does."""
    begin = chance.choice([b"", MAGIC, b"GET / HTTP/1.1\r\n\r\n"])
    return begin + chance.randbytes(chance.choice([1, 95, 96, 1000, 200000]))


def forged_for_libfabric(_, places, ends):
    """Messages by libfabric itself, in the name of the job's ranks, checked with another key."""
    command = [sys.argv[3], str(ends - time.monotonic()), *(f"{address}:{port}" for address, port in places)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60)
    return json.loads(said.stdout) if said.returncode == 0 else {"sent": 0, "seen": 0, "problems": [f"the stranger ended with {said.returncode}"]}


class Listener(threading.Thread):
    """Hears the segments of the job's connections until it is stopped, and notes what they say."""

    def __init__(self, packets):
        super().__init__(daemon=True)
        self.packets, self.stopped = packets, False

    def run(self):
        while not self.stopped:
            if not select.select([self.packets], [], [], 0.05)[0]:
                continue
            frame = self.packets.recv(1 << 16)
            if frame[12:14] != struct.pack("!H", IPV4) or frame[ETHERNET + 9] != TCP:
                continue
            begin = ETHERNET + (frame[ETHERNET] & 15) * 4
            end = ETHERNET + int.from_bytes(frame[ETHERNET + 2:ETHERNET + 4], "big")
            number, flags = int.from_bytes(frame[begin + 4:begin + 8], "big"), frame[begin + 13]
            # The addresses and the ports of both ends, the sender's first.
            who = (frame[ETHERNET + 12:ETHERNET + 20], frame[begin:begin + 4])
            self.note(who, number, flags, frame[begin + (frame[begin + 12] >> 4) * 4:end])

    def note(self, who, number, flags, said):
        """A segment: its sequence number, its flags and its bytes."""
        raise NotImplementedError

    def stop(self):
        self.stopped = True
        self.join()


def place_of(who):
    """Address and port to which the sender `who` of recorded bytes was connected."""
    addresses, ports = who
    return [socket.inet_ntoa(addresses[4:]), int.from_bytes(ports[2:], "big")]


class Recorder(Listener):
    """Notes the greetings and proofs that the job's own connections begin with."""

    def __init__(self, packets):
        super().__init__(packets)
        self.greetings, self.proofs = {}, {}

    def note(self, who, number, flags, said):
        if said.startswith(MAGIC) and len(said) == HELLO:
            self.greetings[who] = said
        elif who in self.greetings and len(said) >= PROOF:
            self.proofs.setdefault(who, said[:PROOF])


def recorded_greetings(recorder):
    """Says again what the job's own processes said when they connected."""
    def attack(_, places, ends):
        recorder.stop()
        sent, problems = 0, []
        pairs = [(greeting, recorder.proofs.get(who, bytes(PROOF))) for who, greeting in recorder.greetings.items()]
        while pairs and time.monotonic() < ends:
            for place in places:
                for greeting, proof in pairs:
                    stream = connect(place)
                    if stream is None:
                        continue
                    with stream:
                        stream.settimeout(0.1)
                        # Whoever knew the key once is challenged, with a new number. A challenge
                        # that comes too late would be taken for the answer to the proof.
                        challenge = answer_to(stream, greeting, CHALLENGE)
                        if len(challenge) == CHALLENGE and answer_to(stream, proof):
                            problems.append("a recorded proof was taken")
                    sent += 1
        return {"sent": sent, "seen": len(pairs), "problems": problems[:3]}
    return attack


def wrong_greetings(recorder):
    """Greetings from rank to rank of the job that are right but for the hash, which is random, as
    that of another key would be."""
    def attack(_, places, ends):
        recorder.stop()
        chance, sent = random.Random(6), 0
        recorded = [(place_of(who), greeting) for who, greeting in recorder.greetings.items()]
        greetings = [(place, greeting) for place, greeting in recorded if place in places]
        # The recorded greeting is challenged, so the others fail at the check of the hash only.
        problems = [f"{place} does not answer a recorded greeting" for place, greeting in greetings
                    if len(greeted(place, greeting, PATIENCE) or b"") != CHALLENGE]
        while greetings and time.monotonic() < ends:
            for place, greeting in greetings:
                answer = greeted(place, greeting[:NONCE] + chance.randbytes(HELLO - NONCE), 0.05)
                sent += answer is not None
                if answer:
                    problems.append(f"a stranger was answered: {answer[:60]!r}")
        return {"sent": sent, "seen": len(greetings), "problems": problems[:3]}
    return attack


def greeted(place, greeting, patience):
    """What a port of the job answers to a greeting; None while there is no connection."""
    stream = connect(place)
    if stream is None:
        return None
    with stream:
        stream.settimeout(patience)
        return answer_to(stream, greeting, CHALLENGE)


class Streams(Listener):
    """Notes what the job's connections begin with, by who connected to whom."""

    def __init__(self, packets):
        super().__init__(packets)
        self.begins, self.said = {}, {}

    def note(self, who, number, flags, said):
        if flags & (SYN | ACK) == SYN:
            self.begins[who], self.said[who] = number + 1, bytearray()
        elif who in self.begins:
            at = (number - self.begins[who]) & 0xFFFFFFFF
            if at == len(self.said[who]) < 1 << 18:
                self.said[who] += said


def recorded_for_libfabric(streams):
    """Says again, in connections of its own, all that the job's processes said at first in theirs."""
    def attack(_, places, ends):
        streams.stop()
        recorded = [(who, bytes(said)) for who, said in streams.said.items() if said]
        sent = 0
        while recorded and time.monotonic() < ends:
            for who, said in recorded:
                place = place_of(who)
                stream = connect(place) if place in places else None
                if stream is None:
                    continue
                with stream:
                    stream.settimeout(0.05)
                    # libfabric gives anybody the connection that the first words ask for; messages of the job follow.
                    sent += bool(answer_to(stream, said))
        return {"sent": sent, "seen": len(recorded), "problems": []}
    return attack


ATTACKS = {
    "forged": by_frames(forged),
    "recorded": by_frames(as_it_was),
    "out of range": by_frames(out_of_range),
    "altered": by_frames(altered),
    # A few frames, so that making them takes no time.
    "flood": by_frames(heavy, 50),
    "silent connections": say_nothing,
    "half-open connections": half_open,
    "garbage": each_connection(garbage, False),
    # What stands behind these ports is libfabric's: it may say what it likes.
    "garbage for libfabric": each_connection(garbage, True),
    "forged for libfabric": forged_for_libfabric,
}
# What hears the job before it is attacked, and the attack that is made of what was heard.
RECORDED = {
    "wrong greetings": (Recorder, wrong_greetings),
    "recorded greetings": (Recorder, recorded_greetings),
    "recorded for libfabric": (Streams, recorded_for_libfabric),
}


def main():
    name, seconds = sys.argv[1], float(sys.argv[2])
    packets = wiretap()
    if name in RECORDED:
        hears, attack_by = RECORDED[name]
        listener = hears(packets)
        listener.start()
        attack = attack_by(listener)
    else:
        attack = ATTACKS[name]
    print("ready", flush=True)
    places = json.loads(sys.stdin.readline())
    if name in ATTACKS:
        drain(packets)
    print(json.dumps(attack(packets, places, time.monotonic() + seconds)), flush=True)
    # Connections end with this process and not before: silent ones shall be silent.
    os._exit(0)


if __name__ == "__main__":
    main()
