//! The placements by which the collectives of a communicator are planned: what its members assume
//! about the links between their hosts changes when they have measured these.
//!
//! All members must plan a call by the same placement. Blocking calls are in the same order on all
//! of them, and so is the measurement, which is part of such a call. Whether a nonblocking or
//! persistent call comes before or after it is also the same if a program keeps to the standard,
//! but many do not, and most libraries accept that. So the members also agree on the first
//! nonblocking and persistent call that none of them has begun.

use std::sync::Arc;

use towpath_schedule::Placement;

use crate::numbers::CallForm;

/// Rates of the links of a job's hosts in bytes per second, by number of the host; 0 if unknown.
pub type AgreedRates = Arc<[u64]>;

/// A placement, and the calls from which it counts.
#[derive(Clone, Debug)]
struct Version {
    placement: Arc<Placement>,
    /// The rates for communicators that are made from this one.
    rates: Option<AgreedRates>,
    /// Number of the first call, by form.
    since: [u32; 3],
}

/// The placements of a communicator, other than the one that its group has by itself.
#[derive(Debug, Default)]
pub struct Placements {
    /// In the order in which they were agreed on.
    versions: Vec<Version>,
    /// Nothing is to be measured: that has been done, or a hint describes the links.
    is_settled: bool,
}

impl Placements {
    /// Sets what a hint says, before the first call. It replaces what was inherited.
    pub fn describe(&mut self, placement: Arc<Placement>) {
        self.versions = vec![Version { placement, rates: None, since: [0; 3] }];
        self.is_settled = true;
    }

    /// Sets what the members of another communicator have agreed on, before the first call.
    pub fn inherit(&mut self, placement: Arc<Placement>, rates: AgreedRates) {
        self.versions = vec![Version { placement, rates: Some(rates), since: [0; 3] }];
        self.is_settled = true;
    }

    /// Sets what the members have agreed on in a blocking call. `begun` are the numbers of calls of
    /// each form that a member has begun, for the member that has begun most.
    pub fn adopt(&mut self, placement: Arc<Placement>, rates: AgreedRates, begun: [u32; 3]) {
        self.versions.push(Version { placement, rates: Some(rates), since: begun });
    }

    /// True the first time, unless the members know the rates already.
    pub fn is_first_need(&mut self) -> bool {
        !std::mem::replace(&mut self.is_settled, true)
    }

    /// The version for a call before which this process has begun `begun` others of its form.
    fn version(&self, form: CallForm, begun: u32) -> Option<&Version> {
        // Numbers wrap around.
        let counts = |since: u32| begun.wrapping_sub(since) as i32 >= 0;
        self.versions.iter().rfind(|version| counts(version.since[form as usize]))
    }

    /// The placement for such a call; `None` if it is that of the group.
    pub fn of(&self, form: CallForm, begun: u32) -> Option<&Arc<Placement>> {
        self.version(form, begun).map(|version| &version.placement)
    }

    /// The rates for a communicator that such a call makes; `None` if none are agreed on.
    pub fn rates(&self, form: CallForm, begun: u32) -> Option<&AgreedRates> {
        self.version(form, begun)?.rates.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(rate: u64) -> Arc<Placement> {
        Placement::new([0, 1]).with_rates(|host| if host == 0 { rate } else { 100 }).into()
    }

    fn is_slow(placements: &Placements, form: CallForm, begun: u32) -> Option<bool> {
        placements.of(form, begun).map(|placement| placement.is_slow(0))
    }

    #[test]
    fn calls_that_a_member_has_begun_keep_the_old_placement() {
        let mut placements = Placements::default();
        assert_eq!(is_slow(&placements, CallForm::Blocking, 7), None);
        assert!(placements.is_first_need() && !placements.is_first_need());
        placements.adopt(placement(1), Arc::new([1, 100]), [8, 3, u32::MAX]);
        for (form, before, after) in [
            (CallForm::Blocking, 7, 8),
            (CallForm::Nonblocking, 2, 3),
            (CallForm::Persistent, u32::MAX - 1, 0),
        ] {
            assert_eq!(is_slow(&placements, form, before), None);
            assert_eq!(placements.rates(form, before), None);
            assert_eq!(is_slow(&placements, form, after), Some(true));
            assert_eq!(placements.rates(form, after).unwrap()[0], 1);
        }
        placements.adopt(placement(99), Arc::new([99, 100]), [20, 3, 0]);
        assert_eq!(is_slow(&placements, CallForm::Blocking, 19), Some(true));
        assert_eq!(is_slow(&placements, CallForm::Nonblocking, 3), Some(false));
    }

    #[test]
    fn a_hint_replaces_what_was_inherited() {
        let mut placements = Placements::default();
        placements.inherit(placement(1), Arc::new([1, 100]));
        assert!(!placements.is_first_need());
        placements.describe(placement(100));
        assert_eq!(is_slow(&placements, CallForm::Blocking, 0), Some(false));
        assert_eq!(placements.rates(CallForm::Blocking, 0), None);
    }
}
