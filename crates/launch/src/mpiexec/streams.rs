//! The output of all ranks of a host: read while there is room for it, and forwarded in whole
//! lines.
//!
//! A rank in the middle of a long line owns its output (stdout or stderr): the other ranks are not
//! read there until the line ends or does not continue for a while. This keeps lines whole, and
//! limits the memory for held output to a pipe and a buffer per stream.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::events::{Event, Events};
use super::output::{LineSink, OutputStream, PATIENCE, Reading, Stream};

/// A destination of the lines of both streams: 0 is stdout, 1 stderr.
pub(super) trait OutputSink {
    /// Takes bytes, which stay together. `more`: the next bytes belong to the same line.
    fn write(&mut self, which: usize, bytes: &[u8], more: bool);
}

impl OutputSink for [OutputStream; 2] {
    fn write(&mut self, which: usize, bytes: &[u8], more: bool) {
        self[which].write(bytes, more);
    }
}

/// One of the two streams of an output sink.
struct StreamSide<'a, O> {
    outlet: &'a mut O,
    which: usize,
}

impl<O: OutputSink> LineSink for StreamSide<'_, O> {
    fn write(&mut self, bytes: &[u8], more: bool) {
        self.outlet.write(self.which, bytes, more);
    }
}

/// A stream of a rank, and whether it is watched.
struct StreamSource {
    stream: Stream,
    watched: bool,
}

/// The streams of all ranks of this host.
pub(super) struct Streams {
    ranks: Vec<[Option<StreamSource>; 2]>,
    /// Outputs whose streams are not read, because there is no room for more data.
    paused: [bool; 2],
    /// The rank whose long line owns each output.
    owners: [Option<usize>; 2],
    /// When the first incomplete line must be forwarded.
    next_release: Option<Instant>,
}

impl Streams {
    /// Creates the streams of ranks with these pipes (`None`: the stream goes elsewhere), each with
    /// the tag of its lines.
    pub(super) fn new(
        pipes: impl Iterator<Item = ([Option<OwnedFd>; 2], Option<String>)>,
    ) -> Streams {
        let of_rank = |(pipes, tag): ([Option<OwnedFd>; 2], Option<String>)| {
            pipes.map(|pipe| {
                pipe.map(|pipe| StreamSource {
                    stream: Stream::new(pipe, tag.clone()),
                    watched: false,
                })
            })
        };
        Streams {
            ranks: pipes.map(of_rank).collect(),
            paused: [false; 2],
            owners: [None; 2],
            next_release: None,
        }
    }

    /// Watches all streams.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn watch(&mut self, events: &mut Events) -> io::Result<()> {
        (0..2).try_for_each(|which| self.watch_wanted(events, which))
    }

    /// Watches those streams of an output that may be read, and no others.
    fn watch_wanted(&mut self, events: &mut Events, which: usize) -> io::Result<()> {
        let (paused, owner) = (self.paused[which], self.owners[which]);
        for (rank, sources) in self.ranks.iter_mut().enumerate() {
            let Some(source) = &mut sources[which] else { continue };
            let wanted = !paused && owner.is_none_or(|owner| owner == rank);
            match (source.watched, wanted) {
                (false, true) => {
                    events.add(source.stream.as_fd(), Event::Output { rank, which })?
                }
                (true, false) => events.remove(source.stream.as_fd()),
                _ => {}
            }
            source.watched = wanted;
        }
        Ok(())
    }

    /// Stops or resumes reading one output of all ranks.
    pub(super) fn pause(&mut self, events: &mut Events, which: usize, pause: bool) {
        if std::mem::replace(&mut self.paused[which], pause) != pause {
            let _ = self.watch_wanted(events, which);
        }
    }

    /// Forwards what a rank has written.
    pub(super) fn forward(
        &mut self,
        events: &mut Events,
        buffer: &mut [u8],
        (rank, which): (usize, usize),
        outlet: &mut impl OutputSink,
    ) {
        // The event may be older than another rank's long line.
        if self.owners[which].is_some_and(|owner| owner != rank) {
            return;
        }
        let Some(StreamSource { stream, .. }) = &mut self.ranks[rank][which] else { return };
        let reading = stream.forward(buffer, &mut StreamSide { outlet, which });
        let (goes_on, deadline) = (stream.is_in_long_line(), stream.deadline());
        if reading == Reading::End {
            events.remove(stream.as_fd());
            self.ranks[rank][which] = None;
        } else if let Some(at) = deadline {
            self.release_at(at);
        }
        self.own(events, which, goes_on.then_some(rank));
    }

    fn release_at(&mut self, at: Instant) {
        self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
    }

    /// Makes a rank the owner of an output, or no rank.
    fn own(&mut self, events: &mut Events, which: usize, owner: Option<usize>) {
        if std::mem::replace(&mut self.owners[which], owner) != owner {
            let _ = self.watch_wanted(events, which);
        }
    }

    /// When [`Streams::release`] must be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_release
    }

    /// Forwards incomplete lines that have waited long enough for their ends.
    pub(super) fn release(&mut self, events: &mut Events, outlet: &mut impl OutputSink) {
        let now = Instant::now();
        if self.next_release.is_none_or(|at| at > now) {
            return;
        }
        self.next_release = None;
        for which in 0..2 {
            for rank in self.in_turn(which) {
                self.release_one(events, now, (rank, which), outlet);
            }
        }
    }

    fn release_one(
        &mut self,
        events: &mut Events,
        now: Instant,
        (rank, which): (usize, usize),
        outlet: &mut impl OutputSink,
    ) {
        let Some(StreamSource { stream, .. }) = &mut self.ranks[rank][which] else { return };
        let Some(at) = stream.deadline() else { return };
        // A stream that is not being read may have more of its long line pending.
        let unread = self.paused[which] && stream.is_in_long_line();
        if at > now {
            self.release_at(at);
        } else if unread || self.owners[which].is_some_and(|owner| owner != rank) {
            self.release_at(now + PATIENCE);
        } else {
            stream.release(&mut StreamSide { outlet, which });
            self.own(events, which, None);
        }
    }

    /// The ranks, beginning with the owner of an output.
    fn in_turn(&self, which: usize) -> impl Iterator<Item = usize> + use<> {
        let (owner, ranks) = (self.owners[which], self.ranks.len());
        owner.into_iter().chain((0..ranks).filter(move |&rank| owner != Some(rank)))
    }

    /// After all ranks have ended: forwards the rest of their output. Calls `makes_room` after each
    /// piece and stops if it returns false.
    pub(super) fn finish<O: OutputSink>(
        &mut self,
        buffer: &mut [u8],
        outlet: &mut O,
        mut makes_room: impl FnMut(&mut O) -> bool,
    ) {
        let in_turn = [0, 1].map(|which| self.in_turn(which).map(move |rank| (which, rank)));
        for (which, rank) in in_turn.into_iter().flatten() {
            let Some(StreamSource { stream, .. }) = &mut self.ranks[rank][which] else { continue };
            loop {
                let reading =
                    stream.forward(buffer, &mut StreamSide { outlet: &mut *outlet, which });
                if reading != Reading::Some {
                    stream.release(&mut StreamSide { outlet: &mut *outlet, which });
                }
                if !makes_room(outlet) {
                    return;
                }
                if reading != Reading::Some {
                    break;
                }
            }
        }
    }
}
