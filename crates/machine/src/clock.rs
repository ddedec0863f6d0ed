//! The monotonic clock that all processes of a host share.

use rustix::time::{ClockId, clock_gettime};

/// Seconds since the host booted, with nanosecond resolution; never runs backwards. No system call
/// on common machines (vDSO).
#[inline]
pub fn seconds() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Nanoseconds since the host booted.
pub fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds for which this thread has had a processor. A system call.
pub fn thread_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_passes() {
        let before = super::seconds();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(super::seconds() - before >= 0.002);
        let again = super::nanoseconds();
        assert!(
            (super::seconds() - again as f64 * 1e-9).abs() < 1.0,
            "both count from the same moment"
        );
    }

    #[test]
    fn a_thread_that_sleeps_does_not_have_the_processor() {
        let before = super::thread_nanoseconds();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let asleep = super::thread_nanoseconds() - before;
        assert!(asleep < 40_000_000, "{asleep}");
        while super::thread_nanoseconds() - before < asleep + 2_000_000 {}
    }
}
