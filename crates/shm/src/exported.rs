//! Messages in the memory of a device, which the device of one side copies to the memory of the
//! other side without a bounce buffer.
//!
//! The sender describes the bytes in the lines of a split copy ([`super::share`]). The receiver
//! reads them, or lends its buffer, and then the sender writes to it; the device code of the
//! receiver decides. If neither side can open the other's memory, the device of the sender packs
//! the message into slots and that of the receiver unpacks it from there ([`super::pipeline`]):
//! slots in the memory of the sender's device, or else in a bounce buffer of the sender, which both
//! processes pin. Whoever copies last claims the only unit of the message, so that the end of the
//! copy is published like that of any split copy. If there are no slots, the processors copy the
//! message through a bounce buffer of the receiver.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use towpath_base::sync::MappedLongWords;
use towpath_base::transfer::pipeline::{
    DrainSlots, HostDrain, PIPELINE_BYTES, PinnedMemory, PipelineSlots,
};
use towpath_base::transfer::{Export, MemorySpace, Source, Step, Target};

use super::claims::Claims;
use super::out_bounces::{OutBounces, slots_in};
use super::pipeline::{SlotsOffer, SlotsPlace};
use super::push::Advance;
use super::segment::Segment;
use super::share::ShareLines;

/// Shortest message that goes through slots. The processors copy a shorter one before both sides
/// have agreed on slots and two devices have begun.
const SHORTEST_IN_SLOTS: usize = 64 << 10;

/// The sender's side.
pub(super) struct ExportedPush {
    /// Also for a receiver that cannot open the memory.
    pub(super) source: Source,
    pub(super) lines: ShareLines,
    pub(super) index: u32,
    claims: Claims<MappedLongWords>,
    stage: PushStage,
    /// The bounce buffer that holds the slots.
    slots: Option<u32>,
}

enum PushStage {
    /// The receiver has not begun.
    Announced,
    /// The receiver reads the bytes.
    TheirTurn,
    /// This side writes to the receiver's buffer.
    Writing { to: Box<Export>, wanted: usize },
    /// This side fills slots, if it has any at this place.
    Filling { place: SlotsPlace, filled: u64 },
}

impl ExportedPush {
    pub(super) fn new(
        source: Source,
        lines: ShareLines,
        index: u32,
        mut claims: Claims<MappedLongWords>,
    ) -> ExportedPush {
        claims.set_units(1);
        ExportedPush { source, lines, index, claims, stage: PushStage::Announced, slots: None }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.claims.is_joined()
    }

    /// The message as one that is sent another way.
    pub(super) fn into_source(mut self) -> Source {
        if let Some(pipeline) = self.source.pipeline() {
            pipeline.end();
        }
        self.source
    }

    /// The bounce buffer that the message holds.
    pub(super) fn slots(&self) -> Option<u32> {
        self.slots
    }

    pub(super) fn step(&mut self, segment: &Segment, bounces: &mut OutBounces) -> Advance {
        if let PushStage::Announced = self.stage {
            if !self.claims.is_joined() {
                return Advance::Nothing;
            }
            self.stage = match self.lines.lent() {
                (Some(to), wanted) => PushStage::Writing { to: Box::new(to), wanted },
                (None, _) => PushStage::TheirTurn,
            };
        }
        if let PushStage::Writing { to, wanted } = &self.stage {
            assert!(*wanted <= self.source.length(), "{DAMAGED}");
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
        if self.claims.is_complete() { Advance::Over } else { self.fill(segment, bounces) }
    }

    /// Fills slots, if the receiver wants any.
    fn fill(&mut self, segment: &Segment, bounces: &mut OutBounces) -> Advance {
        let Some(wanted) = self.lines.wanted_slots() else { return Advance::Nothing };
        let PushStage::Filling { place, filled } = &mut self.stage else {
            return self.offer(segment, bounces, wanted);
        };
        if *place != wanted {
            return self.offer(segment, bounces, wanted);
        }
        let Some(pipeline) = self.source.pipeline() else { return Advance::Nothing };
        // SAFETY: `publish` requires that the source stays valid, and dropping it ends the device's
        // access.
        let now = unsafe { pipeline.fill(self.lines.emptied().get()) };
        if now == *filled {
            return Advance::Nothing;
        }
        *filled = now;
        self.lines.filled().set(now);
        Advance::Some
    }

    /// Offers the slots that the receiver wants.
    fn offer(&mut self, segment: &Segment, bounces: &mut OutBounces, place: SlotsPlace) -> Advance {
        let (_, length) = self.lines.lent();
        assert!(length <= self.source.length(), "{DAMAGED}");
        let offered = match place {
            SlotsPlace::Device => self.slots_on_device(length),
            SlotsPlace::Host => self.slots_on_host(segment, bounces, length),
        };
        self.stage = PushStage::Filling { place, filled: 0 };
        self.lines.offer_slots(&offered.unwrap_or(SlotsOffer::None(place)));
        Advance::Some
    }

    fn slots_on_device(&mut self, length: usize) -> Option<SlotsOffer> {
        let pipeline = self.source.pipeline()?;
        let export = pipeline.slots_on_device(length)?;
        // SAFETY: slots on the device belong to the source.
        unsafe { pipeline.begin(None, length) };
        Some(SlotsOffer::Device(Box::new(export)))
    }

    fn slots_on_host(
        &mut self,
        segment: &Segment,
        bounces: &mut OutBounces,
        length: usize,
    ) -> Option<SlotsOffer> {
        let (index, slots) = bounces.take_slots(segment, &mut self.source)?;
        self.slots = Some(index);
        // SAFETY: this message holds the bounce buffer until it ends.
        unsafe { self.source.pipeline()?.begin(Some(slots), length) };
        Some(SlotsOffer::Host(index))
    }
}

const DAMAGED: &str = "a receiver wants too much: the segment is damaged";

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
    /// This side has asked for slots.
    Asking(SlotsPlace),
    /// This side empties slots, by its device or, if its buffer is in host memory, its processor.
    Emptying { host: Option<HostDrain>, emptied: u64 },
}

/// How far a pull got in one step.
pub(super) enum PullStep {
    /// As far as this says.
    Advance(Advance),
    /// Neither side can open the other's memory, and there are no slots.
    Refused,
}

/// The slots in other ranks' bounce buffers that this process has pinned, by rank and number.
#[derive(Default)]
pub(super) struct PinnedSlots(HashMap<(u32, u32), PinnedMemory>);

impl PinnedSlots {
    /// Forgets the slots of a rank.
    pub(super) fn drop_peer(&mut self, rank: u32) {
        self.0.retain(|&(owner, _), _| owner != rank);
    }

    /// The slots in a bounce buffer, pinned for the device of `target`; `None` if that cannot be.
    fn pinned(
        &mut self,
        segment: &Segment,
        at: (u32, u32),
        target: &mut Target,
    ) -> Option<*mut u8> {
        let slots = slots_in(segment, at.0, at.1);
        if let Entry::Vacant(entry) = self.0.entry(at) {
            // SAFETY: the slots are in the segment, which the wire holds longer than this object.
            entry.insert(unsafe { target.pipeline()?.pin(slots, PIPELINE_BYTES)? });
        }
        Some(slots)
    }
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

    /// Makes one step of a message from rank `from`.
    pub(super) fn step(
        &mut self,
        segment: &Segment,
        from: u32,
        pinned: &mut PinnedSlots,
    ) -> PullStep {
        // Must be read first: once the message is complete, its lines may be those of another one.
        let returned = self.lines.is_returned();
        match self.stage {
            PullStage::Begun { lent } => {
                self.stage = if lent { PullStage::Lent } else { PullStage::Reading };
                PullStep::Advance(Advance::Some)
            }
            PullStage::Lent if self.claims.is_complete() => PullStep::Advance(Advance::Done),
            PullStage::Lent if !returned => PullStep::Advance(Advance::Nothing),
            PullStage::Lent | PullStage::Reading => self.read(),
            PullStage::Asking(place) => match self.lines.offered_slots(place) {
                None => PullStep::Advance(Advance::Nothing),
                Some(offer) => self.take_offer(segment, (from, pinned), &offer),
            },
            PullStage::Emptying { .. } => PullStep::Advance(self.empty()),
        }
    }

    /// Lets the device read the bytes.
    fn read(&mut self) -> PullStep {
        self.stage = PullStage::Reading;
        // SAFETY: the sender's bytes stay valid until the unit is copied, the target is valid
        // (contract of `Shm::pull`), and both hold the bytes that are wanted.
        match unsafe { self.target.read_from(&self.from) } {
            Some(Step::Pending) => PullStep::Advance(Advance::Nothing),
            Some(Step::Done(_)) => PullStep::Advance(self.end()),
            None if self.target.length() < SHORTEST_IN_SLOTS => PullStep::Refused,
            None => {
                let from = &self.from;
                let may_open = |side: &mut dyn DrainSlots| side.may_open(from);
                let on_device = self.target.pipeline().is_some_and(may_open);
                self.ask(if on_device { SlotsPlace::Device } else { SlotsPlace::Host })
            }
        }
    }

    fn ask(&mut self, place: SlotsPlace) -> PullStep {
        self.stage = PullStage::Asking(place);
        self.lines.want_slots(place);
        PullStep::Advance(Advance::Some)
    }

    /// Begins to empty the slots that the sender offers, or asks for others.
    fn take_offer(
        &mut self,
        segment: &Segment,
        (from, pinned): (u32, &mut PinnedSlots),
        offer: &SlotsOffer,
    ) -> PullStep {
        let length = self.target.length();
        let target = &mut self.target;
        let mut host = None;
        let begun = match offer {
            SlotsOffer::None(_) => false,
            SlotsOffer::Host(index) if target.space() == MemorySpace::Host => {
                host = Some(HostDrain::new(slots_in(segment, from, *index), length));
                true
            }
            SlotsOffer::Host(index) => {
                let slots = pinned.pinned(segment, (from, *index), target);
                slots.is_some_and(|slots| begin(target, PipelineSlots::Host(slots), length))
            }
            SlotsOffer::Device(slots) => begin(target, PipelineSlots::Device(slots), length),
        };
        match (begun, offer) {
            (true, _) => {
                self.stage = PullStage::Emptying { host, emptied: 0 };
                PullStep::Advance(Advance::Some)
            }
            (false, SlotsOffer::Device(_) | SlotsOffer::None(SlotsPlace::Device)) => {
                self.ask(SlotsPlace::Host)
            }
            (false, _) => PullStep::Refused,
        }
    }

    /// Empties the slots that are filled.
    fn empty(&mut self) -> Advance {
        let PullStage::Emptying { host, emptied } = &mut self.stage else {
            return Advance::Nothing;
        };
        let filled = self.lines.filled().get();
        // SAFETY: the slots are filled so far, and the target is valid (contract of `Shm::pull`).
        let now = unsafe {
            match (host, self.target.pipeline()) {
                (Some(host), _) => host.drain(&mut self.target, filled),
                (None, Some(pipeline)) => pipeline.drain(filled),
                (None, None) => return Advance::Nothing,
            }
        };
        if now.is_all {
            return self.end();
        }
        if now.pieces == *emptied {
            return Advance::Nothing;
        }
        *emptied = now.pieces;
        self.lines.emptied().set(now.pieces);
        Advance::Some
    }

    /// All bytes are in place.
    fn end(&mut self) -> Advance {
        self.claims.claim();
        self.claims.finish();
        Advance::Done
    }
}

/// Lets the device of `target` begin to empty slots; false if it cannot open them.
fn begin(target: &mut Target, slots: PipelineSlots<'_>, length: usize) -> bool {
    // SAFETY: slots in a bounce buffer stay mapped as long as the segment, which the wire holds
    // longer than its transfers.
    target.pipeline().is_some_and(|pipeline| unsafe { pipeline.begin(slots, length) })
}
