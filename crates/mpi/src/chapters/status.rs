//! Status accessors (MPI 5.0, sections 3.2.5, 5.1.11 and 13.3).

use towpath_datatype::Datatype;
use towpath_neutral::abi::{Handle, Status};
use towpath_neutral::constants::UNDEFINED;
use towpath_neutral::error::{Result, fail};

use super::datatypes::{lookup, type_size};

/// MPI_Get_count: MPI_UNDEFINED if the bytes are not a whole number of elements.
pub fn get_count(status: Status, datatype: Handle) -> Result<i64> {
    Ok(match type_size(datatype)? {
        0 if status.bytes == 0 => 0,
        0 => i64::from(UNDEFINED),
        size if status.bytes % size != 0 => i64::from(UNDEFINED),
        size => status.bytes / size,
    })
}

/// MPI_Get_elements: the number of basic elements.
pub fn get_elements(status: Status, datatype: Handle) -> Result<i64> {
    let kind = lookup(datatype, "datatype")?;
    Ok(kind.datatype.elements_in(status.bytes).unwrap_or(i64::from(UNDEFINED)))
}

/// MPI_Test_cancelled.
pub fn test_cancelled(status: Status) -> Result<bool> {
    Ok(status.cancelled)
}

/// MPI_Status_get_source (4.1).
pub fn status_get_source(status: Status) -> Result<i32> {
    Ok(status.source)
}
/// MPI_Status_get_tag (4.1).
pub fn status_get_tag(status: Status) -> Result<i32> {
    Ok(status.tag)
}
/// MPI_Status_get_error (4.1).
pub fn status_get_error(status: Status) -> Result<i32> {
    Ok(status.error)
}
/// MPI_Status_set_source (4.1).
pub fn status_set_source(status: &mut Status, source: i32) -> Result<()> {
    status.source = source;
    Ok(())
}
/// MPI_Status_set_tag (4.1).
pub fn status_set_tag(status: &mut Status, tag: i32) -> Result<()> {
    status.tag = tag;
    Ok(())
}
/// MPI_Status_set_error (4.1).
pub fn status_set_error(status: &mut Status, error: i32) -> Result<()> {
    status.error = error;
    Ok(())
}
/// MPI_Status_set_cancelled.
pub fn status_set_cancelled(status: &mut Status, flag: bool) -> Result<()> {
    status.cancelled = flag;
    Ok(())
}

/// The size of `count` basic elements in bytes; `None` if it exceeds 63 bits.
fn bytes_of(datatype: &Datatype, count: i64) -> Option<i64> {
    let elements = datatype.elements();
    if elements == 0 {
        return Some(0);
    }
    let (mut rest, mut part) = (count % elements, 0);
    datatype.for_each_run(1, &mut |basic, length| {
        let taken = rest.min(length);
        part += taken * basic.size() as i64;
        rest -= taken;
    });
    datatype.size().checked_mul(count / elements)?.checked_add(part)
}

/// MPI_Status_set_elements.
pub fn status_set_elements(status: &mut Status, datatype: Handle, count: i64) -> Result<()> {
    let kind = lookup(datatype, "datatype")?;
    if count < 0 {
        fail!(ERR_COUNT, "argument count is {count}; it must not be negative");
    }
    match bytes_of(&kind.datatype, count) {
        Some(bytes) => {
            status.bytes = bytes;
            Ok(())
        }
        None => fail!(ERR_COUNT, "argument count is {count}; that many elements exceed 2^63 bytes"),
    }
}
