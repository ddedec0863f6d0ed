//! Fortran conversions. Handles are ints in both C and Fortran and need no conversion; files and
//! statuses do.
//!
//! Source: MPI 5.0, 19.3 (c2f, f2c) and 20.4 (toint, fromint).

use crate::prelude::*;

macro_rules! same {
    ($($kind:ty, $pto:ident, $to:ident, $pfrom:ident, $from:ident;)*) => {
        $(
            export! {
                /// Converts a handle to its Fortran integer.
                $pto, $to(handle: $kind) -> c_int {
                    handle
                }
            }
            export! {
                /// Converts a Fortran integer to a handle.
                $pfrom, $from(number: c_int) -> $kind {
                    number
                }
            }
        )*
    };
}

same! {
    MPI_Comm, PMPI_Comm_c2f, MPI_Comm_c2f, PMPI_Comm_f2c, MPI_Comm_f2c;
    MPI_Comm, PMPI_Comm_toint, MPI_Comm_toint, PMPI_Comm_fromint, MPI_Comm_fromint;
    MPI_Group, PMPI_Group_c2f, MPI_Group_c2f, PMPI_Group_f2c, MPI_Group_f2c;
    MPI_Group, PMPI_Group_toint, MPI_Group_toint, PMPI_Group_fromint, MPI_Group_fromint;
    MPI_Datatype, PMPI_Type_c2f, MPI_Type_c2f, PMPI_Type_f2c, MPI_Type_f2c;
    MPI_Datatype, PMPI_Type_toint, MPI_Type_toint, PMPI_Type_fromint, MPI_Type_fromint;
    MPI_Errhandler, PMPI_Errhandler_c2f, MPI_Errhandler_c2f, PMPI_Errhandler_f2c, MPI_Errhandler_f2c;
    MPI_Errhandler, PMPI_Errhandler_toint, MPI_Errhandler_toint, PMPI_Errhandler_fromint, MPI_Errhandler_fromint;
    MPI_Op, PMPI_Op_c2f, MPI_Op_c2f, PMPI_Op_f2c, MPI_Op_f2c;
    MPI_Op, PMPI_Op_toint, MPI_Op_toint, PMPI_Op_fromint, MPI_Op_fromint;
    MPI_Info, PMPI_Info_c2f, MPI_Info_c2f, PMPI_Info_f2c, MPI_Info_f2c;
    MPI_Info, PMPI_Info_toint, MPI_Info_toint, PMPI_Info_fromint, MPI_Info_fromint;
    MPI_Win, PMPI_Win_c2f, MPI_Win_c2f, PMPI_Win_f2c, MPI_Win_f2c;
    MPI_Win, PMPI_Win_toint, MPI_Win_toint, PMPI_Win_fromint, MPI_Win_fromint;
    MPI_Request, PMPI_Request_c2f, MPI_Request_c2f, PMPI_Request_f2c, MPI_Request_f2c;
    MPI_Request, PMPI_Request_toint, MPI_Request_toint, PMPI_Request_fromint, MPI_Request_fromint;
    MPI_Message, PMPI_Message_c2f, MPI_Message_c2f, PMPI_Message_f2c, MPI_Message_f2c;
    MPI_Message, PMPI_Message_toint, MPI_Message_toint, PMPI_Message_fromint, MPI_Message_fromint;
    MPI_Session, PMPI_Session_c2f, MPI_Session_c2f, PMPI_Session_f2c, MPI_Session_f2c;
    MPI_Session, PMPI_Session_toint, MPI_Session_toint, PMPI_Session_fromint, MPI_Session_fromint;
}

macro_rules! file {
    ($($pto:ident, $to:ident, $pfrom:ident, $from:ident;)*) => {
        $(
            export! {
                /// Converts a file to its Fortran integer.
                $pto, $to(file: MPI_File) -> c_int {
                    file as c_int
                }
            }
            export! {
                /// Converts a Fortran integer to a file.
                $pfrom, $from(number: c_int) -> MPI_File {
                    number as u32 as usize
                }
            }
        )*
    };
}

file! {
    PMPI_File_c2f, MPI_File_c2f, PMPI_File_f2c, MPI_File_f2c;
    PMPI_File_toint, MPI_File_toint, PMPI_File_fromint, MPI_File_fromint;
}

/// A status consists of the same five ints in C and in both Fortran bindings.
type Ints = [c_int; 5];

macro_rules! statuses {
    ($($pmpi:ident, $mpi:ident;)*) => {
        $(
            export! {
                /// Copies a status between the forms of two languages.
                $pmpi, $mpi(from: *const Ints, to: *mut Ints) {
                    if from.is_null() || to.is_null() || from as usize == 1 {
                        return error_code_out(towpath_mpi::constants::ERR_ARG);
                    }
                    // SAFETY: neither pointer is NULL or MPI_STATUS_IGNORE, so `from` points to a
                    // status and `to` to a writable one.
                    unsafe { to.write_unaligned(from.read_unaligned()) };
                    0
                }
            }
        )*
    };
}

statuses! {
    PMPI_Status_c2f, MPI_Status_c2f;
    PMPI_Status_f2c, MPI_Status_f2c;
    PMPI_Status_c2f08, MPI_Status_c2f08;
    PMPI_Status_f082c, MPI_Status_f082c;
    PMPI_Status_f082f, MPI_Status_f082f;
    PMPI_Status_f2f08, MPI_Status_f2f08;
}
