//! Strangers: processes of others on the cores of ranks that share cores.
//!
//! A yield beside a stranger hands it the core for a whole slice (up to 4 ms), once for each rank
//! that yields, while a rank that sleeps and is woken comes before the stranger. So the first rank
//! whose yield takes that long says so to all ranks of the host, and they sleep instead of yielding
//! for a while. Then they try again, because a wake costs several yields; if the stranger is still
//! there, they wait twice as long until the next try.

use std::time::Duration;

use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

/// For how long a stranger is believed to stay when it is new (most stay for a moment), and at
/// most.
const SHORTEST: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(500);
/// A stranger seen so long after that time was over is the same one: a yield to it takes up to 4
/// ms.
const AGAIN: Duration = Duration::from_millis(10);

/// Ticks of the clock in a microsecond. The time stamp counter advances by 1,000 to 5,000; which of
/// them decides nothing here. It is read without touching a page, unlike the clock of the system.
#[cfg(target_arch = "x86_64")]
const MICROSECOND: u64 = 2500;
#[cfg(not(target_arch = "x86_64"))]
const MICROSECOND: u64 = 1000;

/// A clock that all processes of the host share.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn now() -> u64 {
    // SAFETY: every x86-64 processor has a time stamp counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// A clock that all processes of the host share.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn ticks(time: Duration) -> u64 {
    time.as_micros() as u64 * MICROSECOND
}

/// Time since `before`, roughly.
#[inline]
pub(super) fn since(before: u64) -> Duration {
    Duration::from_micros(now().saturating_sub(before) / MICROSECOND)
}

/// Whether yielding is to be avoided.
#[inline]
pub(super) fn is_about(head: &SegmentHead) -> bool {
    let until = head.stranger_until.load(Ordering::Relaxed);
    until != 0 && now() < until
}

/// Whether a stranger was about so lately that it may still be there.
pub(super) fn may_be_about(head: &SegmentHead) -> bool {
    let until = head.stranger_until.load(Ordering::Relaxed);
    until != 0 && now() < until + window(head.stranger_hold.load(Ordering::Relaxed))
}

/// So long after the time of a hold a stranger that is seen counts as the same one.
fn window(hold: u64) -> u64 {
    2 * hold + ticks(AGAIN)
}

/// Tells the ranks of the host that a stranger had a core; `again` when it counts for how long they
/// believe it that this was said before.
#[cold]
pub(super) fn announce(head: &SegmentHead, again: bool) {
    let (now, until) = (now(), head.stranger_until.load(Ordering::Relaxed));
    if now < until {
        return;
    }
    let last = head.stranger_hold.load(Ordering::Relaxed);
    let soon = again && last != 0 && now - until < window(last);
    let hold = if soon { (2 * last).min(ticks(LONGEST)) } else { ticks(SHORTEST) };
    // Two ranks that say it at the same time say the same, nearly.
    head.stranger_hold.store(hold, Ordering::Relaxed);
    head.stranger_until.store(now + hold, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Mapping, create_file};
    use towpath_base::control::PAGE;

    #[test]
    fn a_stranger_that_stays_is_believed_for_longer() {
        let mapping = Mapping::new(create_file("towpath-test").unwrap(), PAGE).unwrap();
        // SAFETY: the mapping is zeroed, a page long and aligned, and lives until the end of this
        // function.
        let head: &SegmentHead = unsafe { &*mapping.pointer().cast() };
        assert!(!is_about(head) && !may_be_about(head), "nobody has said so");
        announce(head, true);
        assert!(is_about(head) && may_be_about(head));
        assert_eq!(head.stranger_hold.load(Ordering::Relaxed), ticks(SHORTEST));
        for times in [2, 4, 8] {
            head.stranger_until.store(now(), Ordering::Relaxed);
            announce(head, true);
            assert_eq!(head.stranger_hold.load(Ordering::Relaxed), times * ticks(SHORTEST));
        }
        announce(head, true);
        assert_eq!(head.stranger_hold.load(Ordering::Relaxed), 8 * ticks(SHORTEST), "it is known already");
        head.stranger_until.store(now(), Ordering::Relaxed);
        announce(head, false);
        assert_eq!(head.stranger_hold.load(Ordering::Relaxed), ticks(SHORTEST), "forgotten");
    }
}
