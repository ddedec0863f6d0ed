//! How the members of a team get a board: member 0 makes it, and tells the others in one word where
//! it is.

use towpath_schedule::select::Subscription;

/// Flags of an offer: the board exists; ranks share cores; the latter is uncertain, because not all
/// ranks have announced their affinity; the host has devices with memory of their own.
const MADE: u64 = 1;
const OVERSUBSCRIBED: u64 = 2;
const UNCERTAIN: u64 = 4;
const DEVICES: u64 = 8;
const LOCATION_SHIFT: u32 = 4;

/// What member 0 tells the others: whether there is a board, its location in the segment, whether
/// the ranks share cores, and whether some may have vectors in the memory of devices.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoardOffer(u64);

impl BoardOffer {
    /// No board.
    pub const NOTHING: BoardOffer = BoardOffer(0);

    /// The board at `location`. A rank that starts later may add cores, so only
    /// [`Subscription::Over`] can be uncertain.
    pub fn new(location: usize, subscription: Subscription, is_certain: bool) -> BoardOffer {
        let flags = match (subscription, is_certain) {
            (Subscription::Full, _) => MADE,
            (Subscription::Over, true) => MADE | OVERSUBSCRIBED,
            (Subscription::Over, false) => MADE | OVERSUBSCRIBED | UNCERTAIN,
        };
        BoardOffer((location as u64) << LOCATION_SHIFT | flags)
    }

    /// The same on a host that has devices, or not.
    pub fn with_devices(self, has_devices: bool) -> BoardOffer {
        BoardOffer(self.0 & !DEVICES | if has_devices { DEVICES } else { 0 })
    }

    /// True if the host has devices with memory of their own.
    pub fn has_devices(self) -> bool {
        self.0 & DEVICES != 0
    }

    /// The offer from the word that member 0 has sent.
    pub fn from_word(word: u64) -> BoardOffer {
        BoardOffer(word)
    }

    /// The word to send.
    pub fn word(self) -> u64 {
        self.0
    }

    /// False if there is no board.
    pub fn is_made(self) -> bool {
        self.0 & MADE != 0
    }

    /// True if member 0 must look again whether ranks share cores, after all members have reached
    /// this call and so have announced their affinity.
    pub fn is_uncertain(self) -> bool {
        self.0 & UNCERTAIN != 0
    }

    /// Where the board is.
    pub fn location(self) -> usize {
        (self.0 >> LOCATION_SHIFT) as usize
    }

    /// Whether the ranks share cores.
    pub fn subscription(self) -> Subscription {
        if self.0 & OVERSUBSCRIBED == 0 { Subscription::Full } else { Subscription::Over }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_read_back() {
        for (subscription, is_certain, is_uncertain) in [
            (Subscription::Full, true, false),
            (Subscription::Full, false, false),
            (Subscription::Over, true, false),
            (Subscription::Over, false, true),
        ] {
            let offer = BoardOffer::new(0x12_3000, subscription, is_certain);
            for has_devices in [true, false] {
                let word = offer.with_devices(has_devices).word();
                assert_eq!(BoardOffer::from_word(word).has_devices(), has_devices);
            }
            let read = BoardOffer::from_word(offer.with_devices(true).word());
            assert!(read.is_made());
            assert_eq!((read.location(), read.subscription()), (0x12_3000, subscription));
            assert_eq!(read.is_uncertain(), is_uncertain);
        }
        assert!(!BoardOffer::from_word(BoardOffer::NOTHING.word()).is_made());
    }
}
