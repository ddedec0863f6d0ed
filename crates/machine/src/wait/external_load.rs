//! External load: processes outside the job that compete for the cores of an oversubscribed host.
//!
//! A yield gives the core to such a process for a whole time slice (up to 4 ms), once per yielding
//! rank, whereas a sleeping rank preempts it when it is woken. So the first rank whose yield takes
//! that long tells all ranks of the host, and for a hold time they sleep instead of yielding. Then
//! they try yielding again, because a wake-up costs several yields. If the load is still present,
//! the hold time doubles.

use std::time::Duration;

use towpath_base::control::SegmentHead;
use towpath_base::sync::Ordering;

/// Hold time for new load, which is usually short, and its upper limit.
const SHORTEST: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(500);
/// Load seen within this time after the end of a hold is the same load: a yield to it takes up to 4
/// ms.
const AGAIN: Duration = Duration::from_millis(10);

/// Clock ticks per microsecond. The time stamp counter advances by 1,000 to 5,000; the difference
/// does not matter here. Reading it touches no memory, unlike the vDSO clock.
#[cfg(target_arch = "x86_64")]
const MICROSECOND: u64 = 2500;
#[cfg(not(target_arch = "x86_64"))]
const MICROSECOND: u64 = 1000;

/// Reads a clock that all processes of the host share.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn now() -> u64 {
    // SAFETY: every x86-64 processor has a time stamp counter.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Reads a clock that all processes of the host share.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn ticks(time: Duration) -> u64 {
    time.as_micros() as u64 * MICROSECOND
}

/// Approximate time since `before`.
#[inline]
pub(super) fn since(before: u64) -> Duration {
    Duration::from_micros(now().saturating_sub(before) / MICROSECOND)
}

/// True if ranks should sleep instead of yielding.
#[inline]
pub(super) fn is_present(head: &SegmentHead) -> bool {
    let until = head.external_load_until.load(Ordering::Relaxed);
    until != 0 && now() < until
}

/// True if load was seen so recently that it may still be present.
pub(super) fn may_be_present(head: &SegmentHead) -> bool {
    let until = head.external_load_until.load(Ordering::Relaxed);
    until != 0 && now() < until + window(head.external_load_hold.load(Ordering::Relaxed))
}

/// Ticks after the end of a hold in which load counts as the same load.
fn window(hold: u64) -> u64 {
    2 * hold + ticks(AGAIN)
}

/// Tells the ranks of the host that external load had a core. With `again`, the hold time doubles
/// if load was also seen shortly before.
#[cold]
pub(super) fn announce(head: &SegmentHead, again: bool) {
    let (now, until) = (now(), head.external_load_until.load(Ordering::Relaxed));
    if now < until {
        return;
    }
    let last = head.external_load_hold.load(Ordering::Relaxed);
    let soon = again && last != 0 && now - until < window(last);
    let hold = if soon { (2 * last).min(ticks(LONGEST)) } else { ticks(SHORTEST) };
    // Ranks that announce it concurrently store nearly the same values.
    head.external_load_hold.store(hold, Ordering::Relaxed);
    head.external_load_until.store(now + hold, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::super::test_pages::TestPages;
    use super::*;

    #[test]
    fn load_that_stays_is_held_for_longer() {
        let pages = TestPages::new();
        let head = pages.head();
        assert!(!is_present(head) && !may_be_present(head), "nothing was announced");
        announce(head, true);
        assert!(is_present(head) && may_be_present(head));
        assert_eq!(head.external_load_hold.load(Ordering::Relaxed), ticks(SHORTEST));
        for times in [2, 4, 8] {
            head.external_load_until.store(now(), Ordering::Relaxed);
            announce(head, true);
            assert_eq!(head.external_load_hold.load(Ordering::Relaxed), times * ticks(SHORTEST));
        }
        announce(head, true);
        assert_eq!(
            head.external_load_hold.load(Ordering::Relaxed),
            8 * ticks(SHORTEST),
            "it is known already"
        );
        head.external_load_until.store(now(), Ordering::Relaxed);
        announce(head, false);
        assert_eq!(head.external_load_hold.load(Ordering::Relaxed), ticks(SHORTEST), "forgotten");
    }
}
