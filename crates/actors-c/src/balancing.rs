//! Load balancing, as C sees it.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};

use towpath_actors::balance::NORMAL_SPEED;
use towpath_actors::{Balancer, BalancerOptions, CollectionId};
use towpath_base::config;

use crate::current::{PLACE, with_runtime};
use crate::failure::status;
use crate::types::CChareId;

/// The seed of the balancer `random`.
const SEED: u64 = 1;
const BALANCERS: [(&str, Balancer); 6] = [
    ("none", Balancer::None),
    ("greedy", Balancer::Greedy),
    ("refine", Balancer::Refine),
    ("hierarchical", Balancer::Hierarchical),
    ("rotate", Balancer::Rotate),
    ("random", Balancer::Random(SEED)),
];
const SETTING: &str = "TOWPATH_CHARES_BALANCER";

thread_local! {
    /// What the program has chosen.
    static CHOSEN: Cell<Balancer> = const { Cell::new(Balancer::None) };
}

fn named(name: &str) -> Result<Balancer, String> {
    let found = BALANCERS.iter().find(|(known, _)| *known == name);
    found.map(|(_, balancer)| *balancer).ok_or_else(|| {
        let names = BALANCERS.map(|(name, _)| name).join(", ");
        format!("there is no balancer {name}; balancers are {names}")
    })
}

/// What the user has chosen, else the program.
///
/// # Errors
/// There is no balancer of this name.
pub(crate) fn options() -> Result<BalancerOptions, String> {
    let balancer = match config::setting(SETTING) {
        Some(name) => named(&name).map_err(|sentence| format!("{SETTING}: {sentence}"))?,
        None => CHOSEN.get(),
    };
    Ok(BalancerOptions { balancer, speed: NORMAL_SPEED })
}

/// Says who balances loads, before the job starts.
///
/// # Safety
/// The name is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_set_balancer(name: *const c_char) -> c_int {
    // SAFETY: it is a C string, as the caller says.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    status(named(&name).and_then(|balancer| {
        if PLACE.get().is_some() {
            return Err("towpath_set_balancer was called after towpath_start".into());
        }
        CHOSEN.set(balancer);
        Ok(())
    }))
}

/// Elements of an array will be ready for load balancing.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_join_balancing(collection: u64) {
    status(with_runtime(|runtime| {
        runtime.join_balancing(CollectionId(collection));
        Ok(())
    }));
}

/// An element of an array is ready for load balancing.
///
/// # Safety
/// The pointer is as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_at_sync(id: *const CChareId) -> c_int {
    // SAFETY: the caller has such a name.
    let id = unsafe { &*id };
    status(with_runtime(|runtime| {
        runtime.at_sync(id.id()?).map(|_| ()).map_err(|error| error.to_string())
    }))
}
