//! The objects of MPI as values, and the tables of handles that name them. The C functions that use
//! them are in `chapters`.

pub(crate) mod attribute;
pub(crate) mod buffer;
pub(crate) mod claim;
pub(crate) mod coll_state;
pub(crate) mod comm;
pub(crate) mod datatype;
pub(crate) mod elements;
pub(crate) mod errhandler;
pub(crate) mod generalized;
pub(crate) mod group;
pub(crate) mod message;
pub(crate) mod operation;
pub(crate) mod persistent;
pub(crate) mod registry;
