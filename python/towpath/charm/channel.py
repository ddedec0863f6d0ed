"""Channels: streams of messages between two chares, in order."""

from .chare import channels_of
from .futures import LocalFuture


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
        waiting, channel.waiting_to_send = channel.waiting_to_send, None
        if waiting is not None:
            waiting.send()

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
        self.waiting_to_send = self.waiting_to_receive = self.listener = None

    def send(self, *message):
        if self.remote_port is None:
            self.waiting_to_send = LocalFuture()
            self.waiting_to_send.get()
        self.remote._channelRecv__(self.remote_port, self.sent, *message)
        self.sent += 1

    def recv(self):
        """Waits for the next message: one value, or a tuple of several."""
        while not self.ready():
            self.waiting_to_receive = LocalFuture()
            self.waiting_to_receive.get()
        message = self.messages.pop(self.taken)
        self.taken += 1
        return message[0] if len(message) == 1 else message

    def ready(self):
        return self.taken in self.messages

    def waitReady(self, listener):
        self.listener = listener

    def received(self, number, message):
        self.messages[number] = message
        if number != self.taken:
            return
        waiting, self.waiting_to_receive = self.waiting_to_receive, None
        listener, self.listener = self.listener, None
        if waiting is not None:
            waiting.send()
        elif listener is not None:
            listener.send(self)
