//! Large messages: regions on their way to a peer, and pulls by which this process brings regions.

use towpath_base::transfer::{Source, Step, Target};

/// A region that a peer has asked for.
pub(super) struct Push {
    /// The receiver's number for it.
    pub(super) pull: u32,
    /// The publisher's name for it.
    pub(super) token: u64,
    pub(super) source: Source,
    /// Bytes that went already, and that are left to go.
    pub(super) gone: u64,
    pub(super) left: usize,
    /// The receiver wants more than there is, so it must hear of the end.
    pub(super) short: bool,
}

impl Push {
    /// A push of the first `wanted` bytes of a source.
    pub(super) fn new(pull: u32, token: u64, source: Source, wanted: u64) -> Push {
        let (length, wanted) = (source.length(), usize::try_from(wanted).unwrap_or(usize::MAX));
        Push { pull, token, source, gone: 0, left: length.min(wanted), short: length < wanted }
    }
}

/// A region on its way here.
struct Pull {
    from: u32,
    token: u64,
    target: Target,
    /// Bytes that are here.
    have: u64,
}

/// All regions that this process brings; a pull's number is its place.
#[derive(Default)]
pub(super) struct Pulls {
    places: Vec<Option<Pull>>,
    free: Vec<u32>,
}

/// What became of bytes that were handed to a pull.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// Nothing: a device is at work.
    Nothing,
    /// All; more are missing.
    All,
    /// All, and these were the last ones: the pull with this token is complete.
    Last(u64),
}

impl Pulls {
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.places.len()
    }

    /// Enters a pull: its number.
    pub(super) fn begin(&mut self, from: u32, token: u64, target: Target) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        self.places[place as usize] = Some(Pull { from, token, target, have: 0 });
        place
    }

    fn of(&mut self, from: u32, number: u32) -> Option<&mut Pull> {
        self.places.get_mut(number as usize)?.as_mut().filter(|pull| pull.from == from)
    }

    /// Where the next bytes of a pull from this peer go, and how many are missing, where they go to
    /// a row.
    pub(super) fn row(&mut self, from: u32, number: u32) -> Option<(*mut u8, usize)> {
        match self.of(from, number)?.target {
            Target::Bytes { pointer, length } if length > 0 => Some((pointer, length)),
            _ => None,
        }
    }

    /// Whether these bytes are the next ones of a pull from this peer, and not too many.
    pub(super) fn expects(&mut self, from: u32, number: u32, offset: u64, length: u64) -> bool {
        self.of(from, number).is_some_and(|pull| pull.have == offset && length <= pull.target.length() as u64)
    }

    /// Hands bytes to a pull that expects them.
    ///
    /// # Safety
    /// `bytes` must be readable for `length`; or be where [`Pulls::row`] said that they go: then
    /// they stay there.
    pub(super) unsafe fn take(&mut self, from: u32, number: u32, bytes: *const u8, length: usize) -> Taken {
        let Some(pull) = self.of(from, number) else { return Taken::All };
        match &mut pull.target {
            Target::Bytes { pointer, length: room } if std::ptr::eq(*pointer, bytes) => {
                let step = length.min(*room);
                *pointer = pointer.wrapping_add(step);
                *room -= step;
            }
            // SAFETY: the bytes are readable; `Wire::pull` promised that the target lives.
            target => match unsafe { target.drain(bytes, length) } {
                Step::Pending => return Taken::Nothing,
                Step::Done(_) => {}
            },
        }
        pull.have += length as u64;
        if pull.target.length() > 0 { Taken::All } else { self.end(from, number).map_or(Taken::All, Taken::Last) }
    }

    /// A pull from this peer is over: its token.
    pub(super) fn end(&mut self, from: u32, number: u32) -> Option<u64> {
        self.of(from, number)?;
        let pull = self.places[number as usize].take()?;
        self.free.push(number);
        Some(pull.token)
    }

    /// Everything from one peer ends, unreported.
    pub(super) fn bury(&mut self, peer: u32) {
        for number in 0..self.places.len() as u32 {
            let _ = self.end(peer, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_takes_what_it_expects_and_no_more() {
        let mut room = [0u8; 8];
        let mut pulls = Pulls::default();
        let number = pulls.begin(3, 77, Target::Bytes { pointer: room.as_mut_ptr(), length: 8 });
        assert!(pulls.expects(3, number, 0, 8) && !pulls.expects(3, number, 0, 9) && !pulls.expects(3, number, 1, 1));
        assert!(!pulls.expects(4, number, 0, 1) && !pulls.expects(3, number + 1, 0, 1));
        // SAFETY: the bytes are a slice, or lie where they go.
        unsafe {
            assert_eq!(pulls.take(3, number, [1, 2, 3].as_ptr(), 3), Taken::All);
            let (at, missing) = pulls.row(3, number).unwrap();
            assert_eq!(missing, 5);
            at.write_bytes(9, 5);
            assert_eq!(pulls.take(3, number, at, 5), Taken::Last(77));
        }
        assert_eq!(room, [1, 2, 3, 9, 9, 9, 9, 9]);
        assert!(pulls.is_empty() && !pulls.expects(3, number, 8, 0));
    }

    #[test]
    fn the_pulls_of_one_peer_end_with_it() {
        let mut pulls = Pulls::default();
        let target = || Target::Bytes { pointer: std::ptr::null_mut(), length: 1 };
        let (first, second) = (pulls.begin(1, 10, target()), pulls.begin(2, 20, target()));
        pulls.bury(1);
        assert_eq!((pulls.end(1, first), pulls.end(1, second), pulls.end(2, second)), (None, None, Some(20)));
    }
}
