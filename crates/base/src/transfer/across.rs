//! Moves a message from any source to any target.

use super::{Source, Step, Target};

/// Moves the next bytes of `source` to `target` and returns how many bytes moved; `None` while one
/// of them waits for a device. Copies directly if one of them is contiguous or the target can read
/// the source's memory, and through `bounce` otherwise.
///
/// `held` counts bytes of `bounce` that wait for the target; it starts at 0.
///
/// # Safety
/// The memory behind `source` and `target` must be live. `held` must be 0 or what the last call
/// with the same `bounce` left there.
pub unsafe fn across(
    source: &mut Source,
    target: &mut Target,
    bounce: &mut [u8],
    held: &mut usize,
) -> Option<usize> {
    if *held > 0 {
        // SAFETY: the memory behind `target` is live, and the first `held` bytes of `bounce` are
        // pending (this function's contract).
        return unsafe { emptied(target, bounce, held) };
    }
    // SAFETY: every branch moves at most `source.length()` and at most `target.length()` bytes, and
    // the memory behind both is live (this function's contract).
    unsafe {
        match (&mut *source, &mut *target) {
            (
                Source::Bytes { pointer: from, length: have },
                Target::Bytes { pointer: to, length: room },
            ) => {
                let step = (*have).min(*room);
                // In an erroneous program, the buffers of a message to self may overlap.
                std::ptr::copy(*from, *to, step);
                (*from, *to) = (from.add(step), to.add(step));
                *have -= step;
                *room -= step;
                Some(step)
            }
            (Source::Bytes { pointer: from, length: have }, target) => {
                let step = (*have).min(target.length());
                let Step::Done(step) = target.drain(*from, step) else { return None };
                *from = from.add(step);
                *have -= step;
                Some(step)
            }
            (source, Target::Bytes { pointer: to, length: room }) => {
                let Step::Done(step) = source.fill(*to, *room) else { return None };
                *to = to.add(step);
                *room -= step;
                Some(step)
            }
            (Source::Packer { fill, length: have }, Target::Unpacker { drain, length: room }) => {
                if let Some(taken) = drain.take(&mut **fill) {
                    let Step::Done(bytes) = taken else { return None };
                    *have -= bytes;
                    *room -= bytes;
                    return Some(bytes);
                }
                let capacity = bounce.len().min(*room);
                let Step::Done(bytes) = source.fill(bounce.as_mut_ptr(), capacity) else {
                    return None;
                };
                *held = bytes;
                emptied(target, bounce, held)
            }
        }
    }
}

/// Passes the held bytes to the target.
///
/// # Safety
/// The memory behind `target` must be live, and the first `held` bytes of `bounce` must be pending.
unsafe fn emptied(target: &mut Target, bounce: &[u8], held: &mut usize) -> Option<usize> {
    // SAFETY: `held` is at most the length of `bounce`, and the memory behind `target` is live
    // (this function's contract).
    match unsafe { target.drain(bounce.as_ptr(), *held) } {
        Step::Done(_) => Some(std::mem::take(held)),
        Step::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::{Drain, Fill};

    /// A layout of every other byte; yields at most three bytes per call.
    struct Sparse {
        at: *mut u8,
    }

    // SAFETY: `carry` creates it over 20 bytes and moves at most 10, so that every access is inside
    // them.
    unsafe impl Fill for Sparse {
        unsafe fn fill(&mut self, into: *mut u8, capacity: usize) -> Step {
            let step = capacity.min(3);
            for index in 0..step {
                // SAFETY: `at` has room for the rest of the 10 bytes in steps of two, and `into`
                // for `capacity`.
                unsafe { *into.add(index) = *self.at.add(2 * index) };
            }
            self.at = self.at.wrapping_add(2 * step);
            Step::Done(step)
        }
    }

    // SAFETY: `carry` creates it over 20 bytes and moves at most 10, so that every access is inside
    // them.
    unsafe impl Drain for Sparse {
        unsafe fn drain(&mut self, from: *const u8, length: usize) -> Step {
            for index in 0..length {
                // SAFETY: `at` has room for the rest of the 10 bytes in steps of two, and `from`
                // has `length`.
                unsafe { *self.at.add(2 * index) = *from.add(index) };
            }
            self.at = self.at.wrapping_add(2 * length);
            Step::Done(length)
        }
    }

    /// Moves 10 bytes between contiguous or sparse layouts, into a target with room for `room`
    /// bytes.
    fn carry(sparse_from: bool, sparse_to: bool, room: usize) -> Vec<u8> {
        let mut from: Vec<u8> = (1..=20).collect();
        let mut to = vec![0u8; 20];
        let mut source = match sparse_from {
            true => Source::Packer { fill: Box::new(Sparse { at: from.as_mut_ptr() }), length: 10 },
            false => Source::Bytes { pointer: from.as_ptr(), length: 10 },
        };
        let mut target = match sparse_to {
            true => {
                Target::Unpacker { drain: Box::new(Sparse { at: to.as_mut_ptr() }), length: room }
            }
            false => Target::Bytes { pointer: to.as_mut_ptr(), length: room },
        };
        let (mut bounce, mut held) = ([0u8; 4], 0);
        while target.length() > 0 {
            // SAFETY: `from` and `to` outlive both and hold 10 bytes in either layout; `held`
            // starts at 0.
            match unsafe { across(&mut source, &mut target, &mut bounce, &mut held) } {
                Some(0) | None => break,
                Some(_) => {}
            }
        }
        to
    }

    #[test]
    fn every_pair_of_layouts_is_carried_and_never_too_far() {
        for room in [10, 7] {
            for (sparse_from, sparse_to) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let to = carry(sparse_from, sparse_to, room);
                let step = if sparse_to { 2 } else { 1 };
                let sent = |index: usize| (if sparse_from { 2 * index } else { index }) as u8 + 1;
                let expected: Vec<u8> = (0..20usize)
                    .map(|at| {
                        if at.is_multiple_of(step) && at / step < room {
                            sent(at / step)
                        } else {
                            0
                        }
                    })
                    .collect();
                assert_eq!(to, expected, "{sparse_from} {sparse_to} {room}");
            }
        }
    }
}
