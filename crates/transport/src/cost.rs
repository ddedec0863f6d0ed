//! What a message to a peer costs.

/// What a message to a peer costs, as its wire estimates it: good enough to compare peers, and
/// routes to the same peer, but not to predict a time. The terms are those of the LogGP model
/// (Alexandrov et al., 1995), with latency and overhead in one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Half the round trip of an empty message, in nanoseconds.
    pub latency_ns: u32,
    /// Bandwidth of a large message, in bytes per microsecond (MB/s).
    pub bandwidth: u32,
    /// Largest message that needs no rendezvous now, in bytes.
    pub eager_limit: usize,
}

impl Cost {
    /// The time that a message of `bytes` bytes takes, in nanoseconds.
    pub fn time_ns(&self, bytes: usize) -> u64 {
        let transfer = bytes as u64 * 1000 / u64::from(self.bandwidth.max(1));
        u64::from(self.latency_ns) + transfer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_decides_for_small_messages_and_bandwidth_for_large_ones() {
        let near = Cost { latency_ns: 200, bandwidth: 1000, eager_limit: 0 };
        let far = Cost { latency_ns: 2000, bandwidth: 10_000, eager_limit: 0 };
        assert!(near.time_ns(8) < far.time_ns(8));
        assert!(near.time_ns(1 << 20) > far.time_ns(1 << 20));
        assert_eq!(near.time_ns(1000), 1200);
    }
}
