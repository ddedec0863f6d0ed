//! What the two sides of a message tell each other about the slots of a pipeline
//! ([`towpath_base::transfer::pipeline`]), in the lines of the message ([`super::share`]). The
//! receiver wants slots, the sender offers some or none, and each counts its pieces.

use towpath_base::sync::{LongWords, MappedLongWords};
use towpath_base::transfer::Export;

use super::share::{ADDRESS, EMPTIED, EXPORT, EXPORTED, FILLED, ShareLines, WANTED_SLOTS};

/// Answers of the sender, as values of the word `EXPORTED`: it fills slots on a device, or in one
/// of its bounce buffers; it has none on a device, or none in a bounce buffer.
const DEVICE_SLOTS: u64 = 3;
const HOST_SLOTS: u64 = 4;
const NO_DEVICE_SLOTS: u64 = 5;
const NO_HOST_SLOTS: u64 = 6;

/// Where the slots of a pipeline are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotsPlace {
    /// In the memory of a device.
    Device = 1,
    /// In a bounce buffer of the sender.
    Host = 2,
}

/// The sender's answer to the wish for slots.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SlotsOffer {
    /// In the memory of a device.
    Device(Box<Export>),
    /// In the sender's bounce buffer of this number.
    Host(u32),
    /// It has none there.
    None(SlotsPlace),
}

/// A count of pieces, which one side writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceCount(MappedLongWords, usize);

impl PieceCount {
    pub(super) fn get(self) -> u64 {
        self.0.load_acquire(self.1)
    }

    pub(super) fn set(self, pieces: u64) {
        self.0.store_release(self.1, pieces);
    }
}

impl ShareLines {
    /// Receiver: wants the bytes in slots.
    pub(super) fn want_slots(self, place: SlotsPlace) {
        self.words.store_release(WANTED_SLOTS, place as u64);
    }

    /// Sender: the slots that the receiver wants, if any.
    pub(super) fn wanted_slots(self) -> Option<SlotsPlace> {
        let wanted = self.words.load_acquire(WANTED_SLOTS);
        [SlotsPlace::Device, SlotsPlace::Host].into_iter().find(|&place| place as u64 == wanted)
    }

    /// Sender: offers the slots that are wanted, or says that it has none.
    pub(super) fn offer_slots(self, offer: &SlotsOffer) {
        self.words.store_release(FILLED, 0);
        let answer = match offer {
            SlotsOffer::Device(slots) => {
                self.write_export(EXPORT, slots);
                DEVICE_SLOTS
            }
            SlotsOffer::Host(bounce) => {
                self.words.store_release(ADDRESS, u64::from(*bounce));
                HOST_SLOTS
            }
            SlotsOffer::None(SlotsPlace::Device) => NO_DEVICE_SLOTS,
            SlotsOffer::None(SlotsPlace::Host) => NO_HOST_SLOTS,
        };
        self.words.store_release(EXPORTED, answer);
    }

    /// Receiver: the answer of the sender, once it is there, to the wish for slots at this place.
    pub(super) fn offered_slots(self, place: SlotsPlace) -> Option<SlotsOffer> {
        match (self.words.load_acquire(EXPORTED), place) {
            (DEVICE_SLOTS, SlotsPlace::Device) => {
                Some(SlotsOffer::Device(Box::new(self.read_export(EXPORT))))
            }
            (HOST_SLOTS, SlotsPlace::Host) => {
                Some(SlotsOffer::Host(self.words.load_acquire(ADDRESS) as u32))
            }
            (NO_DEVICE_SLOTS, SlotsPlace::Device) | (NO_HOST_SLOTS, SlotsPlace::Host) => {
                Some(SlotsOffer::None(place))
            }
            _ => None,
        }
    }

    /// The number of pieces in slots that the sender has filled.
    pub(super) fn filled(self) -> PieceCount {
        PieceCount(self.words, FILLED)
    }

    /// The number of pieces in slots that the receiver has emptied.
    pub(super) fn emptied(self) -> PieceCount {
        PieceCount(self.words, EMPTIED)
    }
}
