//! The strict mode: its wire takes the place of shared memory for the processes of this host.

use towpath_base::ids::PeerIndex;
use towpath_shm::{Segment, Settings};
use towpath_strict::{Settings as StrictSettings, Strict};
use towpath_transport::error::Error;

use super::{Route, Wires};

impl Wires {
    /// Like [`Wires::of_host`], with the strict mode.
    pub(super) fn strict_of_host(
        segment: Segment,
        near: Vec<PeerIndex>,
        settings: &StrictSettings,
    ) -> Result<Wires, Error> {
        // Nothing travels through shared memory, so no memory is provided for it.
        let unused =
            Settings { bounce_buffers: false, staging_bytes: Some(0), ..Settings::default() };
        let mut wires = Wires::of_host(segment.clone(), near.clone(), unused);
        wires.strict = Some(Box::new(Strict::new(segment, near, settings)?));
        for route in &mut wires.routes {
            if let Route::Shm { rank } = *route {
                *route = Route::Strict { rank };
            }
        }
        wires.further = true;
        Ok(wires)
    }

    /// Like [`Wires::single_host`], with the strict mode.
    pub fn strict(segment: Segment, settings: &StrictSettings) -> Result<Wires, Error> {
        let everybody = (0..segment.ranks() as u32).map(PeerIndex).collect();
        Wires::strict_of_host(segment, everybody, settings)
    }

    /// The wire of the strict mode, if it is in use.
    pub fn strictness(&self) -> Option<&Strict> {
        self.strict.as_deref()
    }
}
