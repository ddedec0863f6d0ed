//! Values as bytes, by serde.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value as bytes.
pub(crate) fn written<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    postcard::to_allocvec(value).map_err(|error| format!("serde cannot write it: {error}"))
}

/// A value of these bytes, all of them.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let failed = |error| format!("serde cannot read {} bytes: {error}", bytes.len());
    let (value, rest) = postcard::take_from_bytes(bytes).map_err(failed)?;
    if !rest.is_empty() {
        return Err(format!("{} of {} bytes are left over", rest.len(), bytes.len()));
    }
    Ok(value)
}
