//! The rows of the table: how each transport is reached. A new transport adds a field to
//! [`Wires`], a [`Route`], and a row to each of these two macros.
//!
//! [`Wires`]: super::Wires
//! [`Route`]: super::Route

/// Evaluates an expression with the wire of a route, and the peer's number on that wire. `else` is
/// for a peer without a route. With `&mut` the wire is borrowed mutably.
macro_rules! on_route {
    (& $wires:expr, $route:expr, |$wire:ident, $peer:ident| $use:expr, else $unreachable:expr) => {
        $crate::rows::on_route!(@ as_deref, (&) $wires, $route, |$wire, $peer| $use, else $unreachable)
    };
    (&mut $wires:expr, $route:expr, |$wire:ident, $peer:ident| $use:expr, else $unreachable:expr) => {
        $crate::rows::on_route!(@ as_deref_mut, (&mut) $wires, $route, |$wire, $peer| $use, else $unreachable)
    };
    (@ $as_deref:ident, ($($borrow:tt)+) $wires:expr, $route:expr, |$wire:ident, $peer:ident| $use:expr,
     else $unreachable:expr) => {
        $crate::rows::on_route!(@@ $route, |$wire, $peer| $use, else $unreachable,
            Route::Shm { rank } => $($borrow)+ $wires.shm, rank;
            Route::Loopback => $($borrow)+ $wires.loopback, 0;
            #[cfg(feature = "strict")]
            Route::Strict { rank } => $wires.strict.$as_deref().expect("a route of the strict mode"), rank;
            Route::Tcp { index } => $wires.tcp.$as_deref().expect("a route over TCP"), index;
            Route::Clic { index, .. } => $wires.clic.$as_deref().expect("a route over CLIC"), index;
            Route::Ofi { index } => $wires.ofi.$as_deref().expect("a route over libfabric"), index;
        )
    };
    (@@ $route:expr, |$wire:ident, $peer:ident| $use:expr, else $unreachable:expr,
     $($(#[$present:meta])? $pattern:pat => $found:expr, $number:expr;)+) => {
        match $route {
            $($(#[$present])? $pattern => {
                let ($wire, $peer) = ($found, $number as usize);
                $use
            })+
            Route::None => $unreachable,
        }
    };
}

/// Evaluates an expression for each existing wire to processes of other hosts.
macro_rules! each_remote {
    ($wires:expr, $as_deref:ident, |$wire:ident| $use:expr) => {
        $crate::rows::each_remote!(@ |$wire| $use, $wires.tcp.$as_deref(), $wires.clic.$as_deref(), $wires.ofi.$as_deref())
    };
    (@ |$wire:ident| $use:expr, $($found:expr),+) => {
        $(if let Some($wire) = $found {
            $use
        })+
    };
}

pub(crate) use {each_remote, on_route};
