//! What all ranks of a host print: read while there is room for it, passed on by whole lines, to
//! the end.
//!
//! A rank in the middle of a long line owns its output (stdout or stderr): until the line ends, or
//! nothing of it has come for a while, the others are not read there. So lines stay whole, and no
//! more is held than a pipe and a buffer for each.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::events::{Event, Events};
use super::output::{Destination, PATIENCE, Reading, Sink, Stream};

/// What takes the lines of both streams: 0 is stdout, 1 stderr.
pub(super) trait Outlet {
    /// Takes bytes; they stay together. `more`: what comes next belongs to the same line.
    fn write(&mut self, which: usize, bytes: &[u8], more: bool);
}

impl Outlet for [Destination; 2] {
    fn write(&mut self, which: usize, bytes: &[u8], more: bool) {
        self[which].write(bytes, more);
    }
}

/// One of the two streams of an outlet.
struct Side<'a, O> {
    outlet: &'a mut O,
    which: usize,
}

impl<O: Outlet> Sink for Side<'_, O> {
    fn write(&mut self, bytes: &[u8], more: bool) {
        self.outlet.write(self.which, bytes, more);
    }
}

/// A stream of a rank, and whether it is read.
struct Source {
    stream: Stream,
    watched: bool,
}

/// The streams of all ranks of this host.
pub(super) struct Streams {
    ranks: Vec<[Option<Source>; 2]>,
    /// Streams that are not read, because there is no room for what they carry.
    paused: [bool; 2],
    /// The rank in whose long line each output is.
    owners: [Option<usize>; 2],
    /// When the first incomplete line comes out.
    next_release: Option<Instant>,
}

impl Streams {
    /// Of ranks with these pipes (where not: the stream goes elsewhere), each with the tag of its
    /// lines.
    pub(super) fn new(pipes: impl Iterator<Item = ([Option<OwnedFd>; 2], Option<String>)>) -> Streams {
        let of_rank = |(pipes, tag): ([Option<OwnedFd>; 2], Option<String>)| {
            pipes.map(|pipe| pipe.map(|pipe| Source { stream: Stream::new(pipe, tag.clone()), watched: false }))
        };
        Streams { ranks: pipes.map(of_rank).collect(), paused: [false; 2], owners: [None; 2], next_release: None }
    }

    /// Watches all of them.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn watch(&mut self, events: &mut Events) -> io::Result<()> {
        (0..2).try_for_each(|which| self.watch_wanted(events, which))
    }

    /// Watches the streams of one output that are to be read, and no others.
    fn watch_wanted(&mut self, events: &mut Events, which: usize) -> io::Result<()> {
        let (paused, owner) = (self.paused[which], self.owners[which]);
        for (rank, sources) in self.ranks.iter_mut().enumerate() {
            let Some(source) = &mut sources[which] else { continue };
            let wanted = !paused && owner.is_none_or(|owner| owner == rank);
            match (source.watched, wanted) {
                (false, true) => events.add(source.stream.as_fd(), Event::Output { rank, which })?,
                (true, false) => events.remove(source.stream.as_fd()),
                _ => {}
            }
            source.watched = wanted;
        }
        Ok(())
    }

    /// Reads one stream of all ranks no more, or again.
    pub(super) fn pause(&mut self, events: &mut Events, which: usize, pause: bool) {
        if std::mem::replace(&mut self.paused[which], pause) != pause {
            let _ = self.watch_wanted(events, which);
        }
    }

    /// Passes on what a rank has printed.
    pub(super) fn forward(
        &mut self,
        events: &mut Events,
        buffer: &mut [u8],
        (rank, which): (usize, usize),
        outlet: &mut impl Outlet,
    ) {
        // The event may be older than another rank's long line.
        if self.owners[which].is_some_and(|owner| owner != rank) {
            return;
        }
        let Some(Source { stream, .. }) = &mut self.ranks[rank][which] else { return };
        let reading = stream.forward(buffer, &mut Side { outlet, which });
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

    /// Gives an output to a rank, or to all.
    fn own(&mut self, events: &mut Events, which: usize, owner: Option<usize>) {
        if std::mem::replace(&mut self.owners[which], owner) != owner {
            let _ = self.watch_wanted(events, which);
        }
    }

    /// When [`Streams::release`] is to be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_release
    }

    /// Passes on incomplete lines that have waited long enough for their ends.
    pub(super) fn release(&mut self, events: &mut Events, outlet: &mut impl Outlet) {
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
        outlet: &mut impl Outlet,
    ) {
        let Some(Source { stream, .. }) = &mut self.ranks[rank][which] else { return };
        let Some(at) = stream.deadline() else { return };
        // What is not read shows nothing of whether more follows.
        let unread = self.paused[which] && stream.is_in_long_line();
        if at > now {
            self.release_at(at);
        } else if unread || self.owners[which].is_some_and(|owner| owner != rank) {
            self.release_at(now + PATIENCE);
        } else {
            stream.release(&mut Side { outlet, which });
            self.own(events, which, None);
        }
    }

    /// The ranks, beginning with the one that owns an output.
    fn in_turn(&self, which: usize) -> impl Iterator<Item = usize> + use<> {
        let (owner, ranks) = (self.owners[which], self.ranks.len());
        owner.into_iter().chain((0..ranks).filter(move |&rank| owner != Some(rank)))
    }

    /// After all ranks: the rest of what they have printed. `makes_room` is asked after each piece;
    /// false ends it.
    pub(super) fn finish<O: Outlet>(
        &mut self,
        buffer: &mut [u8],
        outlet: &mut O,
        mut makes_room: impl FnMut(&mut O) -> bool,
    ) {
        let in_turn = [0, 1].map(|which| self.in_turn(which).map(move |rank| (which, rank)));
        for (which, rank) in in_turn.into_iter().flatten() {
            let Some(Source { stream, .. }) = &mut self.ranks[rank][which] else { continue };
            loop {
                let reading = stream.forward(buffer, &mut Side { outlet: &mut *outlet, which });
                if reading != Reading::Some {
                    stream.release(&mut Side { outlet: &mut *outlet, which });
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
