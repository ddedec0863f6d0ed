//! What all ranks of a host print: read while there is room for it, passed on by whole lines, to the end.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::events::{Event, Events};
use super::output::{Destination, Reading, Sink, Stream};

/// What takes the lines of both streams: 0 is stdout, 1 stderr.
pub(super) trait Outlet {
    /// Takes bytes; they stay together.
    fn write(&mut self, which: usize, bytes: &[u8]);
}

impl Outlet for [Destination; 2] {
    fn write(&mut self, which: usize, bytes: &[u8]) {
        self[which].write(bytes);
    }
}

/// One of the two streams of an outlet.
struct Side<'a, O> {
    outlet: &'a mut O,
    which: usize,
}

impl<O: Outlet> Sink for Side<'_, O> {
    fn write(&mut self, bytes: &[u8]) {
        self.outlet.write(self.which, bytes);
    }
}

/// The streams of all ranks of this host.
pub(super) struct Streams {
    ranks: Vec<[Option<Stream>; 2]>,
    /// Streams that are not read, because there is no room for what they carry.
    paused: [bool; 2],
    /// When the first incomplete line comes out.
    next_release: Option<Instant>,
}

impl Streams {
    /// Of ranks with these pipes (where not: the stream goes elsewhere), each with the tag of its lines.
    pub(super) fn new(pipes: impl Iterator<Item = ([Option<OwnedFd>; 2], Option<String>)>) -> Streams {
        let of_rank = |(pipes, tag): ([Option<OwnedFd>; 2], Option<String>)| {
            pipes.map(|pipe| pipe.map(|pipe| Stream::new(pipe, tag.clone())))
        };
        Streams { ranks: pipes.map(of_rank).collect(), paused: [false; 2], next_release: None }
    }

    /// Watches all of them.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn watch(&self, events: &mut Events) -> io::Result<()> {
        for (rank, streams) in self.ranks.iter().enumerate() {
            for (which, stream) in streams.iter().enumerate() {
                if let Some(stream) = stream {
                    events.add(stream.as_fd(), Event::Output { rank, which })?;
                }
            }
        }
        Ok(())
    }

    /// Reads one stream of all ranks no more, or again.
    pub(super) fn pause(&mut self, events: &mut Events, which: usize, pause: bool) {
        if std::mem::replace(&mut self.paused[which], pause) == pause {
            return;
        }
        for (rank, streams) in self.ranks.iter().enumerate() {
            let Some(stream) = &streams[which] else { continue };
            if pause {
                events.remove(stream.as_fd());
            } else {
                let _ = events.add(stream.as_fd(), Event::Output { rank, which });
            }
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
        let Some(stream) = &mut self.ranks[rank][which] else { return };
        if stream.forward(buffer, &mut Side { outlet, which }) == Reading::End {
            events.remove(stream.as_fd());
            self.ranks[rank][which] = None;
        } else if let Some(at) = stream.deadline() {
            self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
        }
    }

    /// When [`Streams::release`] is to be called at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_release
    }

    /// Passes on incomplete lines that have waited long enough for their ends.
    pub(super) fn release(&mut self, outlet: &mut impl Outlet) {
        let now = Instant::now();
        if self.next_release.is_none_or(|at| at > now) {
            return;
        }
        self.next_release = None;
        for (which, stream) in self.ranks.iter_mut().flat_map(|streams| streams.iter_mut().enumerate()) {
            let Some((stream, at)) = stream.as_mut().and_then(|stream| stream.deadline().map(|at| (stream, at))) else {
                continue;
            };
            if at <= now {
                stream.release(&mut Side { outlet: &mut *outlet, which });
            } else {
                self.next_release = Some(self.next_release.map_or(at, |earlier| earlier.min(at)));
            }
        }
    }

    /// After all ranks: the rest of what they have printed. `makes_room` is asked after each piece; false ends it.
    pub(super) fn finish<O: Outlet>(
        &mut self,
        buffer: &mut [u8],
        outlet: &mut O,
        mut makes_room: impl FnMut(&mut O) -> bool,
    ) {
        for (which, stream) in self.ranks.iter_mut().flat_map(|streams| streams.iter_mut().enumerate()) {
            while let Some(stream) = stream {
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
