//! The clock that all processes of a host share.

use rustix::time::{ClockId, clock_gettime};

/// Seconds since the host started, to the nanosecond; never runs backwards. No system call on common machines (vDSO).
#[inline]
pub fn seconds() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_passes() {
        let before = super::seconds();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(super::seconds() - before >= 0.002);
    }
}
