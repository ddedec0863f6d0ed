"""Channels: streams of messages between two chares, in order."""

from functools import partial

from .chare import channels_of
from .futures import current_coroutine, suspend


class Channels:
    """The ends of channels of one chare."""

    def __init__(self):
        self.by_port = []
        # Ends that do not know the port of their other end, or that nobody here has asked for.
        self.pending = []

    def found(self, remote, is_ours):
        for channel in self.pending:
            if channel.is_ours == is_ours and channel.remote == remote:
                self.pending.remove(channel)
                return channel
        return None

    def added(self, remote, is_ours):
        channel = ChannelEnd(len(self.by_port), remote, is_ours)
        self.by_port.append(channel)
        self.pending.append(channel)
        return channel

    def connected(self, remote, port):
        channel = self.found(remote, True) or self.added(remote, False)
        channel.remote_port = port
        senders, channel.senders = channel.senders, []
        for coroutine in senders:
            coroutine.resume()

    def received(self, port, number, message):
        self.by_port[port].received(number, message)


class Channel:
    """`Channel(self, remote=proxy)` in a chare and in the other makes a channel between both."""

    def __new__(cls, chare, remote, local=None):
        channels = channels_of(chare)
        end = channels.found(remote, False)
        if end is None:
            end = channels.added(remote, True)
        if local is None:
            has_index = hasattr(chare, "thisIndex")
            local = chare.thisProxy[chare.thisIndex] if has_index else chare.thisProxy
        remote._channelConnect__(local, end.port)
        return end


class ChannelEnd:
    """One end of a channel."""

    def __init__(self, port, remote, is_ours):
        self.port, self.remote, self.is_ours = port, remote, is_ours
        self.remote_port = None
        self.sent = self.taken = 0
        # Messages by number: the next one may come after others.
        self.messages = {}
        # Coroutines that wait until the other end is known.
        self.senders = []
        # What is called when the next message is there.
        self.waiting = []

    def send(self, *message):
        if self.remote_port is None:
            self.senders.append(current_coroutine())
            suspend()
        self.remote._channelRecv__(self.remote_port, self.sent, *message)
        self.sent += 1

    def recv(self):
        """Waits for the next message: one value, or a tuple of several."""
        while not self.ready():
            self.waiting.append(current_coroutine().resume)
            suspend()
        message = self.messages.pop(self.taken)
        self.taken += 1
        return message[0] if len(message) == 1 else message

    def ready(self):
        return self.taken in self.messages

    def waitReady(self, listener):
        self.waiting.append(partial(listener.send, self))

    def received(self, number, message):
        self.messages[number] = message
        while self.waiting and self.ready():
            self.waiting.pop(0)()
