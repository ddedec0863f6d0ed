//! The placements by which the collectives of a communicator are planned: what its members assume
//! about the links between their hosts changes when they have measured these.
//!
//! All members must plan a call by the same placement. Blocking calls are in the same order on all
//! of them, and so is the measurement, which is part of such a call. Whether a nonblocking or
//! persistent call comes before or after it is also the same if a program keeps to the standard,
//! but many do not, and most libraries accept that. So the members also agree on the first
//! nonblocking and persistent call that none of them has begun.

use std::sync::Arc;
use std::time::Duration;

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
    since: [u64; 3],
}

/// What a long blocking call does about links before it moves data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCheck {
    /// Nothing: no rates are agreed on that the call could check.
    Nothing,
    /// It is observed for a later comparison.
    Observe,
    /// The links are to be measured, if that can tell something.
    Measure,
    /// The members compare what they assume with the best rate that this process has observed, in
    /// bytes per second.
    Compare(u64),
}

/// Number of long calls that show the rates of links after which members compare for the first
/// time. Each further time, four times as many have passed.
const FIRST_COMPARISON: u64 = 64;

/// The placements of a communicator, other than the one that its group has by itself.
#[derive(Debug, Default)]
pub struct Placements {
    /// In the order in which they were agreed on.
    versions: Vec<Version>,
    /// Nothing is to be measured: that has been done, or a hint describes the links.
    is_settled: bool,
    /// Long blocking calls so far that show the rates of links, which all members count alike.
    long_calls: u64,
    /// The greatest rate at which one of them has moved its bytes since their number was last a
    /// power of two. What came before may be older than a change of a link.
    observed: u64,
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
    pub fn adopt(&mut self, placement: Arc<Placement>, rates: AgreedRates, begun: [u64; 3]) {
        self.versions.push(Version { placement, rates: Some(rates), since: begun });
    }

    /// What the next long blocking call does, the same on all members. `shows_rates`: its time
    /// tells the rate of each host's link.
    pub fn next_check(&mut self, shows_rates: bool) -> LinkCheck {
        if !std::mem::replace(&mut self.is_settled, true) {
            return LinkCheck::Measure;
        }
        let is_agreed = self.versions.last().is_some_and(|version| version.rates.is_some());
        if !shows_rates || !is_agreed {
            return LinkCheck::Nothing;
        }
        self.long_calls += 1;
        if !self.long_calls.is_power_of_two() {
            return LinkCheck::Observe;
        }
        let observed = std::mem::take(&mut self.observed);
        let is_turn = self.long_calls >= FIRST_COMPARISON
            && (self.long_calls / FIRST_COMPARISON).ilog2().is_multiple_of(2);
        if is_turn { LinkCheck::Compare(observed) } else { LinkCheck::Observe }
    }

    /// Notes that a long blocking call has moved `bytes` bytes.
    pub fn note(&mut self, bytes: i64, took: Duration) {
        let rate = bytes as u128 * 1_000_000_000 / took.as_nanos().max(1);
        self.observed = self.observed.max(rate as u64);
    }

    /// The version for a call before which this process has begun `begun` others of its form.
    fn version(&self, form: CallForm, begun: u64) -> Option<&Version> {
        self.versions.iter().rfind(|version| begun >= version.since[form as usize])
    }

    /// The placement for such a call; `None` if it is that of the group.
    pub fn of(&self, form: CallForm, begun: u64) -> Option<&Arc<Placement>> {
        self.version(form, begun).map(|version| &version.placement)
    }

    /// The rates for a communicator that such a call makes; `None` if none are agreed on.
    pub fn rates(&self, form: CallForm, begun: u64) -> Option<&AgreedRates> {
        self.version(form, begun)?.rates.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(rate: u64) -> Arc<Placement> {
        Placement::new([0, 1]).with_rates(|host| if host == 0 { rate } else { 100 }).into()
    }

    fn is_slow(placements: &Placements, form: CallForm, begun: u64) -> Option<bool> {
        placements.of(form, begun).map(|placement| placement.is_leaf(0))
    }

    #[test]
    fn calls_that_a_member_has_begun_keep_the_old_placement() {
        let mut placements = Placements::default();
        assert_eq!(is_slow(&placements, CallForm::Blocking, 7), None);
        assert_eq!(
            [false, true, false].map(|shows_rates| placements.next_check(shows_rates)),
            [LinkCheck::Measure, LinkCheck::Nothing, LinkCheck::Nothing]
        );
        placements.adopt(placement(1), Arc::new([1, 100]), [8, 3, 5]);
        for (form, before, after) in [
            (CallForm::Blocking, 7, 8),
            (CallForm::Nonblocking, 2, 3),
            (CallForm::Persistent, 4, 5),
        ] {
            assert_eq!(is_slow(&placements, form, before), None);
            assert_eq!(placements.rates(form, before), None);
            assert_eq!(is_slow(&placements, form, after), Some(true));
            assert_eq!(placements.rates(form, after).unwrap()[0], 1);
        }
        placements.adopt(placement(99), Arc::new([99, 100]), [20, 3, 5]);
        assert_eq!(is_slow(&placements, CallForm::Blocking, 19), Some(true));
        assert_eq!(is_slow(&placements, CallForm::Nonblocking, 3), Some(false));
    }

    #[test]
    fn members_compare_ever_more_rarely() {
        let mut placements = Placements::default();
        placements.inherit(placement(1), Arc::new([1, 100]));
        let mut compared = Vec::new();
        for call in 1..5000 {
            if let LinkCheck::Compare(observed) = placements.next_check(true) {
                compared.push((call, observed));
            }
            placements.note(100 * call, Duration::from_millis(100));
            placements.note(1, Duration::from_millis(100));
        }
        assert_eq!(compared, [(64, 63_000), (256, 255_000), (1024, 1_023_000), (4096, 4_095_000)]);
    }

    #[test]
    fn calls_before_the_last_half_do_not_hide_that_a_link_has_become_slow() {
        let mut placements = Placements::default();
        placements.inherit(placement(1), Arc::new([1, 100]));
        let observed: Vec<u64> = (1..=256)
            .filter_map(|call| {
                let check = placements.next_check(true);
                let is_early = call < 32 || (64..128).contains(&call);
                placements.note(if is_early { 1000 } else { 10 }, Duration::from_secs(1));
                if let LinkCheck::Compare(observed) = check { Some(observed) } else { None }
            })
            .collect();
        assert_eq!(observed, [10, 10]);
    }

    #[test]
    fn a_hint_replaces_what_was_inherited() {
        let mut placements = Placements::default();
        placements.inherit(placement(1), Arc::new([1, 100]));
        assert_eq!(placements.next_check(true), LinkCheck::Observe);
        assert_eq!(placements.next_check(false), LinkCheck::Nothing);
        placements.describe(placement(100));
        assert_eq!(placements.next_check(true), LinkCheck::Nothing);
        assert_eq!(is_slow(&placements, CallForm::Blocking, 0), Some(false));
        assert_eq!(placements.rates(CallForm::Blocking, 0), None);
    }
}
