//! Messages in the memory of a device, which the device of one side copies to the memory of the
//! other side without a bounce buffer.
//!
//! The sender describes the bytes in the lines of a split copy ([`super::share`]). The receiver
//! reads them, or lends its buffer, and then the sender writes to it; the device code of the
//! receiver decides. Whoever copies claims the only unit of the message, so that the end of the
//! copy is published like that of any split copy. If neither side can open the other's memory, the
//! message goes through a bounce buffer of the receiver.

use towpath_base::sync::MappedLongWords;
use towpath_base::transfer::{Export, Source, Step, Target};

use super::claims::Claims;
use super::push::Advance;
use super::share::ShareLines;

/// The sender's side.
pub(super) struct ExportedPush {
    /// Also for a receiver that cannot open the memory.
    pub(super) source: Source,
    pub(super) lines: ShareLines,
    pub(super) index: u32,
    claims: Claims<MappedLongWords>,
    stage: PushStage,
}

enum PushStage {
    /// The receiver has not begun.
    Announced,
    /// The receiver reads the bytes.
    TheirTurn,
    /// This side writes to the receiver's buffer.
    Writing { to: Box<Export>, wanted: usize },
}

impl ExportedPush {
    pub(super) fn new(
        source: Source,
        lines: ShareLines,
        index: u32,
        mut claims: Claims<MappedLongWords>,
    ) -> ExportedPush {
        claims.set_units(1);
        ExportedPush { source, lines, index, claims, stage: PushStage::Announced }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.claims.is_joined()
    }

    pub(super) fn step(&mut self) -> Advance {
        if let PushStage::Announced = self.stage {
            if !self.claims.is_joined() {
                return Advance::Nothing;
            }
            self.stage = match self.lines.lent() {
                (Some(to), wanted) => {
                    let length = self.source.length();
                    assert!(wanted <= length, "a receiver wants too much: the segment is damaged");
                    PushStage::Writing { to: Box::new(to), wanted }
                }
                (None, _) => PushStage::TheirTurn,
            };
        }
        if let PushStage::Writing { to, wanted } = &self.stage {
            // SAFETY: the receiver's buffer holds `wanted` bytes, which is at most the length of
            // the message, and stays valid until the unit is copied. `publish` requires that the
            // source stays valid, and dropping it ends the device's access.
            match unsafe { self.source.write_to(to, *wanted) } {
                Some(Step::Pending) => return Advance::Nothing,
                Some(Step::Done(_)) => {
                    self.claims.claim();
                    self.claims.finish();
                    return Advance::Done;
                }
                None => {
                    self.stage = PushStage::TheirTurn;
                    self.lines.cannot_write();
                    return Advance::Some;
                }
            }
        }
        if self.claims.is_complete() { Advance::Over } else { Advance::Nothing }
    }
}

/// The receiver's side.
pub(super) struct ExportedPull {
    pub(super) target: Target,
    from: Box<Export>,
    lines: ShareLines,
    claims: Claims<MappedLongWords>,
    stage: PullStage,
}

enum PullStage {
    /// The sender does not know yet that this side has begun.
    Begun { lent: bool },
    /// The sender writes to this side's buffer.
    Lent,
    /// This side reads the bytes.
    Reading,
}

/// How far a pull got in one step.
pub(super) enum PullStep {
    /// As far as this says.
    Advance(Advance),
    /// Neither side can open the other's memory.
    Refused,
}

impl ExportedPull {
    /// Begins to receive a message that is exported in these lines.
    pub(super) fn begin(mut target: Target, from: Export, lines: ShareLines) -> ExportedPull {
        let lent = target.lend(&from);
        let (claims, _, _) = lines.follow(false, 1);
        lines.lend(lent.as_ref(), target.length());
        claims.join();
        let stage = PullStage::Begun { lent: lent.is_some() };
        ExportedPull { target, from: Box::new(from), lines, claims, stage }
    }

    pub(super) fn step(&mut self) -> PullStep {
        // Must be read first: once the message is complete, its lines may be those of another one.
        let returned = self.lines.is_returned();
        match self.stage {
            PullStage::Begun { lent } => {
                self.stage = if lent { PullStage::Lent } else { PullStage::Reading };
                return PullStep::Advance(Advance::Some);
            }
            PullStage::Lent if self.claims.is_complete() => {
                return PullStep::Advance(Advance::Done);
            }
            PullStage::Lent if !returned => {
                return PullStep::Advance(Advance::Nothing);
            }
            PullStage::Lent | PullStage::Reading => self.stage = PullStage::Reading,
        }
        // SAFETY: the sender's bytes stay valid until the unit is copied, the target is valid
        // (contract of `Shm::pull`), and both hold the bytes that are wanted.
        match unsafe { self.target.read_from(&self.from) } {
            Some(Step::Pending) => PullStep::Advance(Advance::Nothing),
            Some(Step::Done(_)) => {
                self.claims.claim();
                self.claims.finish();
                PullStep::Advance(Advance::Done)
            }
            None => PullStep::Refused,
        }
    }
}
