//! Start, end and surroundings of a process (MPI 5.0, chapters 9 and 11).

use std::sync::OnceLock;
use std::time::Instant;

static START: OnceLock<Instant> = OnceLock::new();

/// Seconds since a moment in the past (MPI_Wtime).
pub fn wtime() -> f64 {
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Seconds between two ticks of [`wtime`] (MPI_Wtick).
pub fn wtick() -> f64 {
    1e-9
}
