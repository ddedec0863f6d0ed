//! Towpath: datatype.
