//! Calls that combine data: reduce, allreduce, reduce-scatter, scan.
//!
//! Every rank posts its vector; whoever needs a result folds the vectors from the highest rank
//! down, so that each call associates in one way whoever computes it and whatever the chunks are:
//! `v0 op (v1 op (v2 ...))`.

use std::mem::MaybeUninit;
use std::ops::Range;

use towpath_base::copy;

use super::Session;
use crate::halving::{Operand, even_parts};
use crate::select::Crowd;

/// Bytes of all vectors together up to which every rank computes the result of an allreduce for
/// itself.
const EVERYBODY: usize = 16 << 10;
/// Bytes of a vector that are folded at once: what is fetched from another core in one row, and is
/// still in a near cache when the next vector is folded into it.
const PIECE: usize = 32 << 10;
/// The same where my own vector has to be saved first, on the stack.
const SAVED: usize = 2 << 10;

/// How many of `count` elements `bytes` bytes hold. Where they hold all, as in short calls, which
/// are many, without a division.
fn most_elements(operand: &Operand, count: i64, bytes: usize) -> i64 {
    let size = operand.element.size.max(1);
    if count.saturating_mul(size) <= bytes as i64 { count } else { bytes as i64 / size }
}

impl Session<'_> {
    /// The elements of each round of at most `chunk` bytes; there is one even without elements.
    fn rounds_of(&self, operand: &Operand, chunk: usize) -> impl Iterator<Item = Range<i64>> + use<> {
        let count = operand.count.max(0);
        let most = most_elements(operand, count, chunk).max(1);
        (0..count.max(1)).step_by(most as usize).map(move |first| first..count.min(first + most))
    }

    /// Posts elements of a row.
    unsafe fn post_elements(&mut self, operand: &Operand, row: *const u8, range: &Range<i64>) {
        let size = operand.element.size;
        let (first, length) = ((range.start * size) as usize, ((range.end - range.start) * size) as usize);
        // SAFETY: the row has these elements.
        self.post(length, |mut room| unsafe { room.copy(row.add(first), 0, length) });
    }

    /// Folds elements of the vectors of `members` to `into`, piece by piece, so that the partial
    /// result stays in a near cache. Of others they are what is posted in this round, from
    /// their element `first` on; mine are at `own`.
    unsafe fn fold(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        (first, count): (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) {
        let size = operand.element.size;
        let bytes = (count * size) as usize;
        let overlaps = own.addr() < into.addr() + bytes && into.addr() < own.addr() + bytes;
        // In place, the vector of the last member comes to lie where mine is. If I am that member,
        // it is mine, and is moved first.
        let rank = self.board.own();
        let saves = overlaps && members.contains(&rank) && rank != members.end - 1;
        let most = most_elements(operand, count, if saves { SAVED } else { PIECE });
        assert!(most > 0 || count == 0, "elements of predefined operations are short");
        let mut done = 0;
        // A round without elements has a piece too: its lines are looked at, so all stay in step.
        loop {
            let step = most.min(count - done);
            let at = (done * size) as usize;
            let piece = (first + done, step);
            // SAFETY: the piece is a part of the `count` elements that `own` and `into` have.
            unsafe {
                let (own, into) = (own.add(at), into.add(at));
                match saves {
                    true => self.fold_saved(operand, members.clone(), piece, own, into),
                    false => self.fold_piece(operand, members.clone(), piece, own, into),
                }
            }
            done += step;
            if done >= count {
                break;
            }
        }
    }

    /// As [`Session::fold_piece`], where my vector lies in the way of the result.
    #[inline(never)]
    unsafe fn fold_saved(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        piece: (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) {
        let bytes = (piece.1 * operand.element.size) as usize;
        let mut saved = MaybeUninit::<[u8; SAVED]>::uninit();
        // SAFETY: such a piece is no longer than what is saved; `own` has its elements.
        unsafe {
            saved.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(own, bytes);
            self.fold_piece(operand, members, piece, saved.as_ptr().cast(), into);
        }
    }

    unsafe fn fold_piece(
        &mut self,
        operand: &Operand,
        members: Range<usize>,
        (first, count): (i64, i64),
        own: *const u8,
        into: *mut u8,
    ) {
        let size = operand.element.size;
        let (first, bytes) = ((first * size) as usize, (count * size) as usize);
        let last = members.end - 1;
        for member in members.rev() {
            let vector = if member == self.board.own() {
                own
            } else {
                let posted = self.expect(member);
                if posted.length < first + bytes {
                    self.truncated = true;
                    continue;
                }
                // SAFETY: inside the message.
                unsafe { posted.pointer.add(first) }
            };
            // SAFETY: both have `count` elements; `into` overlaps no message, and my own vector
            // only where that is copied first.
            unsafe {
                if member != last {
                    operand.reducer.apply(vector, into, count);
                } else if member == self.board.own() {
                    std::ptr::copy(vector, into, bytes);
                } else {
                    copy::fetch(vector, into, bytes);
                }
            }
        }
    }

    /// # Safety
    /// As [`super::execute`], also below.
    pub(super) unsafe fn reduce(&mut self, root: usize, operand: &Operand, receive: *mut u8) {
        let size = self.board.size();
        let row = operand.send.unwrap_or(receive);
        for range in self.rounds_of(operand, self.chunk()) {
            // SAFETY: the vector, and the result at the root, have the elements of all rounds.
            unsafe {
                if self.board.own() == root {
                    let (own, into) = (operand.element.at(row, range.start), operand.element.at(receive, range.start));
                    self.fold(operand, 0..size, (0, range.end - range.start), own, into);
                } else {
                    self.post_elements(operand, row, &range);
                }
            }
            self.board.finish();
        }
    }

    pub(super) unsafe fn allreduce(&mut self, operand: &Operand, receive: *mut u8) {
        let size = self.board.size();
        let row = operand.send.unwrap_or(receive);
        // Between two ranks each reads as many bytes by either way.
        let everybody = size == 2 || operand.bytes().saturating_mul(size as i64) <= EVERYBODY as i64;
        for range in self.rounds_of(operand, self.chunk_of_all()) {
            let count = range.end - range.start;
            // SAFETY: vector and result have the elements of all rounds.
            unsafe {
                let (own, into) = (operand.element.at(row, range.start), operand.element.at(receive, range.start));
                if everybody {
                    self.post_elements(operand, row, &range);
                    self.expect_all();
                    self.fold(operand, 0..size, (0, count), own, into);
                    self.board.finish();
                } else if self.crowd == Crowd::Crowded {
                    self.post_elements(operand, row, &range);
                    self.let_one_fold(operand, count, own, into);
                } else {
                    self.fold_in_stripes(operand, count, own, into);
                }
            }
        }
    }

    /// Whoever first sees that all vectors are there computes the result, which needs no further
    /// switch of processes.
    unsafe fn let_one_fold(&mut self, operand: &Operand, count: i64, own: *const u8, into: *mut u8) {
        self.expect_all();
        for member in self.others() {
            self.expect(member);
        }
        if self.board.claim() {
            // SAFETY: `own` and `into` have `count` elements.
            unsafe {
                self.fold(operand, 0..self.board.size(), (0, count), own, into);
                self.board.finish();
                self.post_elements(operand, into, &(0..count));
            }
        } else {
            let claimant = self.board.claimant().expect("a claim is refused when another member has it");
            self.board.finish();
            let posted = self.expect(claimant);
            let bytes = (count * operand.element.size) as usize;
            // SAFETY: the message has so many bytes or fewer, and `into` has room for all elements.
            unsafe { copy::fetch(posted.pointer, into, bytes.min(posted.length)) };
        }
        self.board.finish();
    }

    /// Every rank computes its part of the result and reads the parts of the others.
    unsafe fn fold_in_stripes(&mut self, operand: &Operand, count: i64, row: *const u8, into: *mut u8) {
        let (own, size) = (self.board.own(), self.board.size());
        let starts = even_parts(count, size);
        let part = |member: usize| starts[member]..starts[member + 1];
        let place = |member: usize| operand.element.at(into, starts[member]);
        // SAFETY: `row` and `into` have `count` elements, which the parts divide.
        unsafe {
            self.post_elements(operand, row, &(0..count));
            if !part(own).is_empty() {
                let mine = operand.element.at(row.cast_mut(), starts[own]);
                self.fold(operand, 0..size, (starts[own], starts[own + 1] - starts[own]), mine, place(own));
            }
            // The vectors of this round are read by all until each has finished it: no byte of
            // `into` lies on the board.
            self.board.finish();
            self.post_elements(operand, into, &part(own));
        }
        for member in self.others() {
            let posted = self.expect(member);
            let range = part(member);
            let bytes = ((range.end - range.start) * operand.element.size) as usize;
            // SAFETY: as many bytes as the part has, or fewer.
            unsafe { copy::fetch(posted.pointer, place(member), bytes.min(posted.length)) };
        }
        self.board.finish();
    }

    pub(super) unsafe fn reduce_scatter(&mut self, operand: &Operand, counts: &[i64], receive: *mut u8) {
        let (own, size) = (self.board.own(), self.board.size());
        let row = operand.send.unwrap_or(receive);
        let first = counts[..own].iter().fold(0i64, |sum, &count| sum.saturating_add(count));
        let mine = first..first.saturating_add(counts[own]);
        for range in self.rounds_of(operand, self.chunk_of_all()) {
            let (begin, end) = (mine.start.max(range.start), mine.end.min(range.end));
            // SAFETY: the vector has the elements of all blocks, the result those of mine. In
            // place, my result comes to lie where elements were that are posted or folded already:
            // my block begins `first` elements further down.
            unsafe {
                self.post_elements(operand, row, &range);
                if begin < end {
                    self.expect_all();
                    let part = (begin - range.start, end - begin);
                    let (mine, into) = (operand.element.at(row, begin), operand.element.at(receive, begin - first));
                    self.fold(operand, 0..size, part, mine, into);
                }
            }
            self.board.finish();
        }
    }

    pub(super) unsafe fn scan(&mut self, operand: &Operand, receive: *mut u8, exclusive: bool) {
        let end = self.board.own() + usize::from(!exclusive);
        let row = operand.send.unwrap_or(receive);
        for range in self.rounds_of(operand, self.chunk()) {
            // SAFETY: vector and result have the elements of all rounds.
            unsafe {
                self.post_elements(operand, row, &range);
                if end > 0 {
                    let all = (0, range.end - range.start);
                    let (mine, into) = (operand.element.at(row, range.start), operand.element.at(receive, range.start));
                    self.fold(operand, 0..end, all, mine, into);
                }
            }
            self.board.finish();
        }
    }
}
