//! Translation between the numbers of this interface and Towpath's own, and the
//! sizes of its strings.
//!
//! Written by `cargo run -p xtask -- codegen` from api/constants.toml; do not edit.

#![allow(dead_code, clippy::manual_range_patterns, clippy::too_many_lines)]

use towpath_mpi::Handle;

/// Stands for a number that this interface does not know but that means something inside.
const UNKNOWN: i32 = i32::MIN;

/// rank: from the program.
#[inline]
pub fn rank_in(value: i32) -> i32 {
    match value {
        -2 => -1, // MPI_ANY_SOURCE
        -1 => -3, // MPI_PROC_NULL
        -3 => -4, // MPI_ROOT
        -4 => UNKNOWN,
        other => other,
    }
}

/// rank: to the program.
#[inline]
pub fn rank_out(value: i32) -> i32 {
    match value {
        -1 => -2,
        -3 => -1,
        -4 => -3,
        other => other,
    }
}

/// tag: from the program.
#[inline]
pub fn tag_in(value: i32) -> i32 {
    match value {
        -1 => -2, // MPI_ANY_TAG
        -2 => UNKNOWN,
        other => other,
    }
}

/// tag: to the program.
#[inline]
pub fn tag_out(value: i32) -> i32 {
    match value {
        -2 => -1,
        other => other,
    }
}

/// comparison: from the program.
#[inline]
pub fn comparison_in(value: i32) -> i32 {
    match value {
        0 => 201, // MPI_IDENT
        1 => 202, // MPI_CONGRUENT
        2 => 203, // MPI_SIMILAR
        3 => 204, // MPI_UNEQUAL
        201 | 202 | 203 | 204 => UNKNOWN,
        other => other,
    }
}

/// comparison: to the program.
#[inline]
pub fn comparison_out(value: i32) -> i32 {
    match value {
        201 => 0,
        202 => 1,
        203 => 2,
        204 => 3,
        other => other,
    }
}

/// topology: from the program.
#[inline]
pub fn topology_in(value: i32) -> i32 {
    match value {
        2 => 211, // MPI_CART
        1 => 212, // MPI_GRAPH
        3 => 213, // MPI_DIST_GRAPH
        211 | 212 | 213 => UNKNOWN,
        other => other,
    }
}

/// topology: to the program.
#[inline]
pub fn topology_out(value: i32) -> i32 {
    match value {
        211 => 2,
        212 => 1,
        213 => 3,
        other => other,
    }
}

/// keyval: from the program.
#[inline]
pub fn keyval_in(value: i32) -> i32 {
    match value {
        603979776 => 0,    // MPI_KEYVAL_INVALID
        1681915905 => 501, // MPI_TAG_UB
        1681915909 => 502, // MPI_IO
        1681915907 => 503, // MPI_HOST
        1681915911 => 504, // MPI_WTIME_IS_GLOBAL
        1681915917 => 505, // MPI_APPNUM
        1681915915 => 506, // MPI_LASTUSEDCODE
        1681915913 => 507, // MPI_UNIVERSE_SIZE
        1711276033 => 601, // MPI_WIN_BASE
        1711276037 => 602, // MPI_WIN_DISP_UNIT
        1711276035 => 603, // MPI_WIN_SIZE
        1711276039 => 604, // MPI_WIN_CREATE_FLAVOR
        1711276041 => 605, // MPI_WIN_MODEL
        0 | 501 | 502 | 503 | 504 | 505 | 506 | 507 | 601 | 602 | 603 | 604 | 605 => UNKNOWN,
        other => other,
    }
}

/// keyval: to the program.
#[inline]
pub fn keyval_out(value: i32) -> i32 {
    match value {
        0 => 603979776,
        501 => 1681915905,
        502 => 1681915909,
        503 => 1681915907,
        504 => 1681915911,
        505 => 1681915917,
        506 => 1681915915,
        507 => 1681915913,
        601 => 1711276033,
        602 => 1711276037,
        603 => 1711276035,
        604 => 1711276039,
        605 => 1711276041,
        other => other,
    }
}

/// split_type: from the program.
#[inline]
pub fn split_type_in(value: i32) -> i32 {
    match value {
        1 => 221, // MPI_COMM_TYPE_SHARED
        3 => 222, // MPI_COMM_TYPE_HW_UNGUIDED
        2 => 223, // MPI_COMM_TYPE_HW_GUIDED
        4 => 224, // MPI_COMM_TYPE_RESOURCE_GUIDED
        5 => 225, // MPIX_COMM_TYPE_NEIGHBORHOOD
        221 | 222 | 223 | 224 | 225 => UNKNOWN,
        other => other,
    }
}

/// split_type: to the program.
#[inline]
pub fn split_type_out(value: i32) -> i32 {
    match value {
        221 => 1,
        222 => 3,
        223 => 2,
        224 => 4,
        225 => 5,
        other => other,
    }
}

/// typeclass: from the program.
#[inline]
pub fn typeclass_in(value: i32) -> i32 {
    match value {
        2 => 192, // MPI_TYPECLASS_INTEGER
        1 => 193, // MPI_TYPECLASS_REAL
        3 => 194, // MPI_TYPECLASS_COMPLEX
        192 | 193 | 194 => UNKNOWN,
        other => other,
    }
}

/// typeclass: to the program.
#[inline]
pub fn typeclass_out(value: i32) -> i32 {
    match value {
        192 => 2,
        193 => 1,
        194 => 3,
        other => other,
    }
}

/// order: from the program.
#[inline]
pub fn order_in(value: i32) -> i32 {
    match value {
        56 => 12, // MPI_ORDER_C
        57 => 15, // MPI_ORDER_FORTRAN
        12 | 15 => UNKNOWN,
        other => other,
    }
}

/// order: to the program.
#[inline]
pub fn order_out(value: i32) -> i32 {
    match value {
        12 => 56,
        15 => 57,
        other => other,
    }
}

/// lock_type: from the program.
#[inline]
pub fn lock_type_in(value: i32) -> i32 {
    match value {
        234 => 301, // MPI_LOCK_EXCLUSIVE
        235 => 302, // MPI_LOCK_SHARED
        301 | 302 => UNKNOWN,
        other => other,
    }
}

/// lock_type: to the program.
#[inline]
pub fn lock_type_out(value: i32) -> i32 {
    match value {
        301 => 234,
        302 => 235,
        other => other,
    }
}

/// whence: from the program.
#[inline]
pub fn whence_in(value: i32) -> i32 {
    match value {
        602 => 401, // MPI_SEEK_CUR
        604 => 402, // MPI_SEEK_END
        600 => 403, // MPI_SEEK_SET
        401 | 402 | 403 => UNKNOWN,
        other => other,
    }
}

/// whence: to the program.
#[inline]
pub fn whence_out(value: i32) -> i32 {
    match value {
        401 => 602,
        402 => 604,
        403 => 600,
        other => other,
    }
}

/// combiner: from the program.
#[inline]
pub fn combiner_in(value: i32) -> i32 {
    match value {
        1 => 101,  // MPI_COMBINER_NAMED
        2 => 102,  // MPI_COMBINER_DUP
        3 => 103,  // MPI_COMBINER_CONTIGUOUS
        4 => 104,  // MPI_COMBINER_VECTOR
        6 => 105,  // MPI_COMBINER_HVECTOR
        7 => 106,  // MPI_COMBINER_INDEXED
        9 => 107,  // MPI_COMBINER_HINDEXED
        10 => 108, // MPI_COMBINER_INDEXED_BLOCK
        19 => 109, // MPI_COMBINER_HINDEXED_BLOCK
        12 => 110, // MPI_COMBINER_STRUCT
        13 => 111, // MPI_COMBINER_SUBARRAY
        14 => 112, // MPI_COMBINER_DARRAY
        15 => 113, // MPI_COMBINER_F90_REAL
        16 => 114, // MPI_COMBINER_F90_COMPLEX
        17 => 115, // MPI_COMBINER_F90_INTEGER
        18 => 116, // MPI_COMBINER_RESIZED
        20 => 117, // MPI_COMBINER_VALUE_INDEX
        101 | 102 | 103 | 104 | 105 | 106 | 107 | 108 | 109 | 110 | 111 | 112 | 113 | 114 | 115
        | 116 | 117 => UNKNOWN,
        other => other,
    }
}

/// combiner: to the program.
#[inline]
pub fn combiner_out(value: i32) -> i32 {
    match value {
        101 => 1,
        102 => 2,
        103 => 3,
        104 => 4,
        105 => 6,
        106 => 7,
        107 => 9,
        108 => 10,
        109 => 19,
        110 => 12,
        111 => 13,
        112 => 14,
        113 => 15,
        114 => 16,
        115 => 17,
        116 => 18,
        117 => 20,
        other => other,
    }
}

/// thread_level: from the program.
#[inline]
pub fn thread_level_in(value: i32) -> i32 {
    match value {
        0 => 0,    // MPI_THREAD_SINGLE
        1 => 1024, // MPI_THREAD_FUNNELED
        2 => 2048, // MPI_THREAD_SERIALIZED
        3 => 4096, // MPI_THREAD_MULTIPLE
        1024 | 2048 | 4096 => UNKNOWN,
        other => other,
    }
}

/// thread_level: to the program.
#[inline]
pub fn thread_level_out(value: i32) -> i32 {
    match value {
        0 => 0,
        1024 => 1,
        2048 => 2,
        4096 => 3,
        other => other,
    }
}

/// verbosity: from the program.
#[inline]
pub fn verbosity_in(value: i32) -> i32 {
    match value {
        221 => 9,  // MPI_T_VERBOSITY_USER_BASIC
        222 => 10, // MPI_T_VERBOSITY_USER_DETAIL
        223 => 12, // MPI_T_VERBOSITY_USER_ALL
        224 => 17, // MPI_T_VERBOSITY_TUNER_BASIC
        225 => 18, // MPI_T_VERBOSITY_TUNER_DETAIL
        226 => 20, // MPI_T_VERBOSITY_TUNER_ALL
        227 => 33, // MPI_T_VERBOSITY_MPIDEV_BASIC
        228 => 34, // MPI_T_VERBOSITY_MPIDEV_DETAIL
        229 => 36, // MPI_T_VERBOSITY_MPIDEV_ALL
        9 | 10 | 12 | 17 | 18 | 20 | 33 | 34 | 36 => UNKNOWN,
        other => other,
    }
}

/// verbosity: to the program.
#[inline]
pub fn verbosity_out(value: i32) -> i32 {
    match value {
        9 => 221,
        10 => 222,
        12 => 223,
        17 => 224,
        18 => 225,
        20 => 226,
        33 => 227,
        34 => 228,
        36 => 229,
        other => other,
    }
}

/// bind: from the program.
#[inline]
pub fn bind_in(value: i32) -> i32 {
    match value {
        9700 => 1,  // MPI_T_BIND_NO_OBJECT
        9701 => 2,  // MPI_T_BIND_MPI_COMM
        9702 => 3,  // MPI_T_BIND_MPI_DATATYPE
        9703 => 4,  // MPI_T_BIND_MPI_ERRHANDLER
        9704 => 5,  // MPI_T_BIND_MPI_FILE
        9705 => 6,  // MPI_T_BIND_MPI_GROUP
        9706 => 7,  // MPI_T_BIND_MPI_OP
        9707 => 8,  // MPI_T_BIND_MPI_REQUEST
        9708 => 9,  // MPI_T_BIND_MPI_WIN
        9709 => 10, // MPI_T_BIND_MPI_MESSAGE
        9710 => 11, // MPI_T_BIND_MPI_INFO
        9711 => 12, // MPI_T_BIND_MPI_SESSION
        1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 => UNKNOWN,
        other => other,
    }
}

/// bind: to the program.
#[inline]
pub fn bind_out(value: i32) -> i32 {
    match value {
        1 => 9700,
        2 => 9701,
        3 => 9702,
        4 => 9703,
        5 => 9704,
        6 => 9705,
        7 => 9706,
        8 => 9707,
        9 => 9708,
        10 => 9709,
        11 => 9710,
        12 => 9711,
        other => other,
    }
}

/// scope: from the program.
#[inline]
pub fn scope_in(value: i32) -> i32 {
    match value {
        60438 => 1, // MPI_T_SCOPE_CONSTANT
        60439 => 2, // MPI_T_SCOPE_READONLY
        60440 => 3, // MPI_T_SCOPE_LOCAL
        60441 => 4, // MPI_T_SCOPE_GROUP
        60442 => 5, // MPI_T_SCOPE_GROUP_EQ
        60443 => 6, // MPI_T_SCOPE_ALL
        60444 => 7, // MPI_T_SCOPE_ALL_EQ
        1 | 2 | 3 | 4 | 5 | 6 | 7 => UNKNOWN,
        other => other,
    }
}

/// scope: to the program.
#[inline]
pub fn scope_out(value: i32) -> i32 {
    match value {
        1 => 60438,
        2 => 60439,
        3 => 60440,
        4 => 60441,
        5 => 60442,
        6 => 60443,
        7 => 60444,
        other => other,
    }
}

/// variable_class: from the program.
#[inline]
pub fn variable_class_in(value: i32) -> i32 {
    match value {
        240 => 1,  // MPI_T_PVAR_CLASS_STATE
        241 => 2,  // MPI_T_PVAR_CLASS_LEVEL
        242 => 3,  // MPI_T_PVAR_CLASS_SIZE
        243 => 4,  // MPI_T_PVAR_CLASS_PERCENTAGE
        244 => 5,  // MPI_T_PVAR_CLASS_HIGHWATERMARK
        245 => 6,  // MPI_T_PVAR_CLASS_LOWWATERMARK
        246 => 7,  // MPI_T_PVAR_CLASS_COUNTER
        247 => 8,  // MPI_T_PVAR_CLASS_AGGREGATE
        248 => 9,  // MPI_T_PVAR_CLASS_TIMER
        249 => 10, // MPI_T_PVAR_CLASS_GENERIC
        1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 => UNKNOWN,
        other => other,
    }
}

/// variable_class: to the program.
#[inline]
pub fn variable_class_out(value: i32) -> i32 {
    match value {
        1 => 240,
        2 => 241,
        3 => 242,
        4 => 243,
        5 => 244,
        6 => 245,
        7 => 246,
        8 => 247,
        9 => 248,
        10 => 249,
        other => other,
    }
}

/// callback_safety: from the program.
#[inline]
pub fn callback_safety_in(value: i32) -> i32 {
    match value {
        0 => 0,  // MPI_T_CB_REQUIRE_NONE
        1 => 3,  // MPI_T_CB_REQUIRE_MPI_RESTRICTED
        2 => 15, // MPI_T_CB_REQUIRE_THREAD_SAFE
        3 => 63, // MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE
        15 | 63 => UNKNOWN,
        other => other,
    }
}

/// callback_safety: to the program.
#[inline]
pub fn callback_safety_out(value: i32) -> i32 {
    match value {
        0 => 0,
        3 => 1,
        15 => 2,
        63 => 3,
        other => other,
    }
}

/// source_order: from the program.
#[inline]
pub fn source_order_in(value: i32) -> i32 {
    match value {
        0 => 1, // MPI_T_SOURCE_ORDERED
        1 => 2, // MPI_T_SOURCE_UNORDERED
        2 => UNKNOWN,
        other => other,
    }
}

/// source_order: to the program.
#[inline]
pub fn source_order_out(value: i32) -> i32 {
    match value {
        1 => 0,
        2 => 1,
        other => other,
    }
}

/// distribution: from the program.
#[inline]
pub fn distribution_in(value: i32) -> i32 {
    match value {
        123 => 16, // MPI_DISTRIBUTE_NONE
        121 => 17, // MPI_DISTRIBUTE_BLOCK
        122 => 18, // MPI_DISTRIBUTE_CYCLIC
        16 | 17 | 18 => UNKNOWN,
        other => other,
    }
}

/// distribution: to the program.
#[inline]
pub fn distribution_out(value: i32) -> i32 {
    match value {
        16 => 123,
        17 => 121,
        18 => 122,
        other => other,
    }
}

/// distribution_argument: from the program.
#[inline]
pub fn distribution_argument_in(value: i32) -> i32 {
    match value {
        -49767 => 19, // MPI_DISTRIBUTE_DFLT_DARG
        19 => UNKNOWN,
        other => other,
    }
}

/// distribution_argument: to the program.
#[inline]
pub fn distribution_argument_out(value: i32) -> i32 {
    match value {
        19 => -49767,
        other => other,
    }
}

/// window_flavor: from the program.
#[inline]
pub fn window_flavor_in(value: i32) -> i32 {
    match value {
        1 => 311, // MPI_WIN_FLAVOR_CREATE
        2 => 312, // MPI_WIN_FLAVOR_ALLOCATE
        3 => 313, // MPI_WIN_FLAVOR_DYNAMIC
        4 => 314, // MPI_WIN_FLAVOR_SHARED
        311 | 312 | 313 | 314 => UNKNOWN,
        other => other,
    }
}

/// window_flavor: to the program.
#[inline]
pub fn window_flavor_out(value: i32) -> i32 {
    match value {
        311 => 1,
        312 => 2,
        313 => 3,
        314 => 4,
        other => other,
    }
}

/// window_model: from the program.
#[inline]
pub fn window_model_in(value: i32) -> i32 {
    match value {
        2 => 321, // MPI_WIN_UNIFIED
        1 => 322, // MPI_WIN_SEPARATE
        321 | 322 => UNKNOWN,
        other => other,
    }
}

/// window_model: to the program.
#[inline]
pub fn window_model_out(value: i32) -> i32 {
    match value {
        321 => 2,
        322 => 1,
        other => other,
    }
}

/// bare_class: from the program.
#[inline]
pub fn bare_class_in(value: i32) -> i32 {
    match value {
        0 => 0,     // MPI_SUCCESS
        1 => 1,     // MPI_ERR_BUFFER
        2 => 2,     // MPI_ERR_COUNT
        3 => 3,     // MPI_ERR_TYPE
        4 => 4,     // MPI_ERR_TAG
        5 => 5,     // MPI_ERR_COMM
        6 => 6,     // MPI_ERR_RANK
        19 => 7,    // MPI_ERR_REQUEST
        7 => 8,     // MPI_ERR_ROOT
        8 => 9,     // MPI_ERR_GROUP
        9 => 10,    // MPI_ERR_OP
        10 => 11,   // MPI_ERR_TOPOLOGY
        11 => 12,   // MPI_ERR_DIMS
        12 => 13,   // MPI_ERR_ARG
        13 => 14,   // MPI_ERR_UNKNOWN
        14 => 15,   // MPI_ERR_TRUNCATE
        15 => 16,   // MPI_ERR_OTHER
        16 => 17,   // MPI_ERR_INTERN
        18 => 18,   // MPI_ERR_PENDING
        17 => 19,   // MPI_ERR_IN_STATUS
        20 => 20,   // MPI_ERR_ACCESS
        21 => 21,   // MPI_ERR_AMODE
        53 => 22,   // MPI_ERR_ASSERT
        22 => 23,   // MPI_ERR_BAD_FILE
        46 => 24,   // MPI_ERR_BASE
        23 => 25,   // MPI_ERR_CONVERSION
        52 => 26,   // MPI_ERR_DISP
        24 => 27,   // MPI_ERR_DUP_DATAREP
        25 => 28,   // MPI_ERR_FILE_EXISTS
        26 => 29,   // MPI_ERR_FILE_IN_USE
        27 => 30,   // MPI_ERR_FILE
        29 => 31,   // MPI_ERR_INFO_KEY
        31 => 32,   // MPI_ERR_INFO_NOKEY
        30 => 33,   // MPI_ERR_INFO_VALUE
        28 => 34,   // MPI_ERR_INFO
        32 => 35,   // MPI_ERR_IO
        48 => 36,   // MPI_ERR_KEYVAL
        47 => 37,   // MPI_ERR_LOCKTYPE
        33 => 38,   // MPI_ERR_NAME
        34 => 39,   // MPI_ERR_NO_MEM
        35 => 40,   // MPI_ERR_NOT_SAME
        36 => 41,   // MPI_ERR_NO_SPACE
        37 => 42,   // MPI_ERR_NO_SUCH_FILE
        38 => 43,   // MPI_ERR_PORT
        39 => 44,   // MPI_ERR_QUOTA
        40 => 45,   // MPI_ERR_READ_ONLY
        56 => 46,   // MPI_ERR_RMA_ATTACH
        49 => 47,   // MPI_ERR_RMA_CONFLICT
        55 => 48,   // MPI_ERR_RMA_RANGE
        57 => 49,   // MPI_ERR_RMA_SHARED
        50 => 50,   // MPI_ERR_RMA_SYNC
        41 => 51,   // MPI_ERR_SERVICE
        51 => 52,   // MPI_ERR_SIZE
        42 => 53,   // MPI_ERR_SPAWN
        43 => 54,   // MPI_ERR_UNSUPPORTED_DATAREP
        44 => 55,   // MPI_ERR_UNSUPPORTED_OPERATION
        45 => 56,   // MPI_ERR_WIN
        58 => 57,   // MPI_ERR_RMA_FLAVOR
        76 => 58,   // MPI_ERR_PROC_ABORTED
        77 => 59,   // MPI_ERR_VALUE_TOO_LARGE
        75 => 60,   // MPI_ERR_SESSION
        80 => 61,   // MPI_ERR_ERRHANDLER
        81 => 62,   // MPI_ERR_ABI
        61 => 1001, // MPI_T_ERR_CANNOT_INIT
        79 => 1002, // MPI_T_ERR_NOT_ACCESSIBLE
        60 => 1003, // MPI_T_ERR_NOT_INITIALIZED
        78 => 1004, // MPI_T_ERR_NOT_SUPPORTED
        59 => 1005, // MPI_T_ERR_MEMORY
        74 => 1006, // MPI_T_ERR_INVALID
        62 => 1007, // MPI_T_ERR_INVALID_INDEX
        63 => 1008, // MPI_T_ERR_INVALID_ITEM
        67 => 1009, // MPI_T_ERR_INVALID_SESSION
        64 => 1010, // MPI_T_ERR_INVALID_HANDLE
        73 => 1011, // MPI_T_ERR_INVALID_NAME
        65 => 1012, // MPI_T_ERR_OUT_OF_HANDLES
        66 => 1013, // MPI_T_ERR_OUT_OF_SESSIONS
        68 => 1014, // MPI_T_ERR_CVAR_SET_NOT_NOW
        69 => 1015, // MPI_T_ERR_CVAR_SET_NEVER
        71 => 1016, // MPI_T_ERR_PVAR_NO_WRITE
        70 => 1017, // MPI_T_ERR_PVAR_NO_STARTSTOP
        72 => 1018, // MPI_T_ERR_PVAR_NO_ATOMIC
        54 | 1001 | 1002 | 1003 | 1004 | 1005 | 1006 | 1007 | 1008 | 1009 | 1010 | 1011 | 1012
        | 1013 | 1014 | 1015 | 1016 | 1017 | 1018 => UNKNOWN,
        other => other,
    }
}

/// bare_class: to the program.
#[inline]
pub fn bare_class_out(value: i32) -> i32 {
    match value {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 3,
        4 => 4,
        5 => 5,
        6 => 6,
        7 => 19,
        8 => 7,
        9 => 8,
        10 => 9,
        11 => 10,
        12 => 11,
        13 => 12,
        14 => 13,
        15 => 14,
        16 => 15,
        17 => 16,
        18 => 18,
        19 => 17,
        20 => 20,
        21 => 21,
        22 => 53,
        23 => 22,
        24 => 46,
        25 => 23,
        26 => 52,
        27 => 24,
        28 => 25,
        29 => 26,
        30 => 27,
        31 => 29,
        32 => 31,
        33 => 30,
        34 => 28,
        35 => 32,
        36 => 48,
        37 => 47,
        38 => 33,
        39 => 34,
        40 => 35,
        41 => 36,
        42 => 37,
        43 => 38,
        44 => 39,
        45 => 40,
        46 => 56,
        47 => 49,
        48 => 55,
        49 => 57,
        50 => 50,
        51 => 41,
        52 => 51,
        53 => 42,
        54 => 43,
        55 => 44,
        56 => 45,
        57 => 58,
        58 => 76,
        59 => 77,
        60 => 75,
        61 => 80,
        62 => 81,
        1001 => 61,
        1002 => 79,
        1003 => 60,
        1004 => 78,
        1005 => 59,
        1006 => 74,
        1007 => 62,
        1008 => 63,
        1009 => 67,
        1010 => 64,
        1011 => 73,
        1012 => 65,
        1013 => 66,
        1014 => 68,
        1015 => 69,
        1016 => 71,
        1017 => 70,
        1018 => 72,
        other => other,
    }
}

/// access_mode: bits from the program; unknown bits stay.
#[inline]
pub fn access_mode_in(value: i32) -> i32 {
    let mut bits = value & !511;
    if value & 128 != 0 {
        bits |= 1;
    }
    if value & 1 != 0 {
        bits |= 2;
    }
    if value & 16 != 0 {
        bits |= 4;
    }
    if value & 64 != 0 {
        bits |= 8;
    }
    if value & 2 != 0 {
        bits |= 16;
    }
    if value & 8 != 0 {
        bits |= 32;
    }
    if value & 256 != 0 {
        bits |= 64;
    }
    if value & 32 != 0 {
        bits |= 128;
    }
    if value & 4 != 0 {
        bits |= 256;
    }
    bits
}

/// access_mode: bits to the program; unknown bits stay.
#[inline]
pub fn access_mode_out(value: i32) -> i32 {
    let mut bits = value & !511;
    if value & 1 != 0 {
        bits |= 128;
    }
    if value & 2 != 0 {
        bits |= 1;
    }
    if value & 4 != 0 {
        bits |= 16;
    }
    if value & 8 != 0 {
        bits |= 64;
    }
    if value & 16 != 0 {
        bits |= 2;
    }
    if value & 32 != 0 {
        bits |= 8;
    }
    if value & 64 != 0 {
        bits |= 256;
    }
    if value & 128 != 0 {
        bits |= 32;
    }
    if value & 256 != 0 {
        bits |= 4;
    }
    bits
}

/// assertion: bits from the program; unknown bits stay.
#[inline]
pub fn assertion_in(value: i32) -> i32 {
    let mut bits = value & !31744;
    if value & 1024 != 0 {
        bits |= 1024;
    }
    if value & 8192 != 0 {
        bits |= 2048;
    }
    if value & 4096 != 0 {
        bits |= 4096;
    }
    if value & 2048 != 0 {
        bits |= 8192;
    }
    if value & 16384 != 0 {
        bits |= 16384;
    }
    bits
}

/// assertion: bits to the program; unknown bits stay.
#[inline]
pub fn assertion_out(value: i32) -> i32 {
    let mut bits = value & !31744;
    if value & 1024 != 0 {
        bits |= 1024;
    }
    if value & 2048 != 0 {
        bits |= 8192;
    }
    if value & 4096 != 0 {
        bits |= 4096;
    }
    if value & 8192 != 0 {
        bits |= 2048;
    }
    if value & 16384 != 0 {
        bits |= 16384;
    }
    bits
}

/// Predefined comm handles: from the program; `None` for all others.
#[inline]
pub fn predefined_comm_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x4000000 => 0x100,  // MPI_COMM_NULL
        0x44000000 => 0x101, // MPI_COMM_WORLD
        0x44000001 => 0x102, // MPI_COMM_SELF
        _ => return None,
    }))
}

/// Predefined comm handles: to the program; `None` for all others.
#[inline]
pub fn predefined_comm_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x100 => 0x4000000,
        0x101 => 0x44000000,
        0x102 => 0x44000001,
        _ => return None,
    })
}

/// Predefined group handles: from the program; `None` for all others.
#[inline]
pub fn predefined_group_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x8000000 => 0x108,  // MPI_GROUP_NULL
        0x48000000 => 0x109, // MPI_GROUP_EMPTY
        _ => return None,
    }))
}

/// Predefined group handles: to the program; `None` for all others.
#[inline]
pub fn predefined_group_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x108 => 0x8000000,
        0x109 => 0x48000000,
        _ => return None,
    })
}

/// Predefined file handles: from the program; `None` for all others.
#[inline]
pub fn predefined_file_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x0 => 0x118, // MPI_FILE_NULL
        _ => return None,
    }))
}

/// Predefined file handles: to the program; `None` for all others.
#[inline]
pub fn predefined_file_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x118 => 0x0,
        _ => return None,
    })
}

/// Predefined errhandler handles: from the program; `None` for all others.
#[inline]
pub fn predefined_errhandler_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x14000000 => 0x140, // MPI_ERRHANDLER_NULL
        0x54000000 => 0x141, // MPI_ERRORS_ARE_FATAL
        0x54000003 => 0x142, // MPI_ERRORS_ABORT
        0x54000001 => 0x143, // MPI_ERRORS_RETURN
        _ => return None,
    }))
}

/// Predefined errhandler handles: to the program; `None` for all others.
#[inline]
pub fn predefined_errhandler_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x140 => 0x14000000,
        0x141 => 0x54000000,
        0x142 => 0x54000003,
        0x143 => 0x54000001,
        _ => return None,
    })
}

/// Predefined op handles: from the program; `None` for all others.
#[inline]
pub fn predefined_op_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x18000000 => 0x20, // MPI_OP_NULL
        0x58000003 => 0x21, // MPI_SUM
        0x58000002 => 0x22, // MPI_MIN
        0x58000001 => 0x23, // MPI_MAX
        0x58000004 => 0x24, // MPI_PROD
        0x58000006 => 0x28, // MPI_BAND
        0x58000008 => 0x29, // MPI_BOR
        0x5800000a => 0x2a, // MPI_BXOR
        0x58000005 => 0x30, // MPI_LAND
        0x58000007 => 0x31, // MPI_LOR
        0x58000009 => 0x32, // MPI_LXOR
        0x5800000b => 0x38, // MPI_MINLOC
        0x5800000c => 0x39, // MPI_MAXLOC
        0x5800000d => 0x3c, // MPI_REPLACE
        0x5800000e => 0x3d, // MPI_NO_OP
        _ => return None,
    }))
}

/// Predefined op handles: to the program; `None` for all others.
#[inline]
pub fn predefined_op_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x20 => 0x18000000,
        0x21 => 0x58000003,
        0x22 => 0x58000002,
        0x23 => 0x58000001,
        0x24 => 0x58000004,
        0x28 => 0x58000006,
        0x29 => 0x58000008,
        0x2a => 0x5800000a,
        0x30 => 0x58000005,
        0x31 => 0x58000007,
        0x32 => 0x58000009,
        0x38 => 0x5800000b,
        0x39 => 0x5800000c,
        0x3c => 0x5800000d,
        0x3d => 0x5800000e,
        _ => return None,
    })
}

/// Predefined info handles: from the program; `None` for all others.
#[inline]
pub fn predefined_info_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x1c000000 => 0x130, // MPI_INFO_NULL
        0x5c000001 => 0x131, // MPI_INFO_ENV
        _ => return None,
    }))
}

/// Predefined info handles: to the program; `None` for all others.
#[inline]
pub fn predefined_info_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x130 => 0x1c000000,
        0x131 => 0x5c000001,
        _ => return None,
    })
}

/// Predefined win handles: from the program; `None` for all others.
#[inline]
pub fn predefined_win_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x20000000 => 0x110, // MPI_WIN_NULL
        _ => return None,
    }))
}

/// Predefined win handles: to the program; `None` for all others.
#[inline]
pub fn predefined_win_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x110 => 0x20000000,
        _ => return None,
    })
}

/// Predefined request handles: from the program; `None` for all others.
#[inline]
pub fn predefined_request_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x2c000000 => 0x180, // MPI_REQUEST_NULL
        _ => return None,
    }))
}

/// Predefined request handles: to the program; `None` for all others.
#[inline]
pub fn predefined_request_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x180 => 0x2c000000,
        _ => return None,
    })
}

/// Predefined message handles: from the program; `None` for all others.
#[inline]
pub fn predefined_message_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x2c000000 => 0x128, // MPI_MESSAGE_NULL
        0x6c000000 => 0x129, // MPI_MESSAGE_NO_PROC
        _ => return None,
    }))
}

/// Predefined message handles: to the program; `None` for all others.
#[inline]
pub fn predefined_message_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x128 => 0x2c000000,
        0x129 => 0x6c000000,
        _ => return None,
    })
}

/// Predefined session handles: from the program; `None` for all others.
#[inline]
pub fn predefined_session_in(value: u32) -> Option<Handle> {
    Some(Handle(match value {
        0x38000000 => 0x120, // MPI_SESSION_NULL
        _ => return None,
    }))
}

/// Predefined session handles: to the program; `None` for all others.
#[inline]
pub fn predefined_session_out(handle: Handle) -> Option<u32> {
    Some(match handle.0 {
        0x120 => 0x38000000,
        _ => return None,
    })
}

/// Builtin datatypes by their low byte: (handle of this interface, neutral number).
pub const BUILTIN_DATATYPES: [(u32, u32); 256] = [
    (0x0, 0x0),
    (0x4c000101, 0x243),
    (0x4c000102, 0x245),
    (0x4c000203, 0x208),
    (0x4c000204, 0x20c),
    (0x4c000405, 0x209),
    (0x4c000406, 0x20d),
    (0x4c000807, 0x20a),
    (0x4c000808, 0x20e),
    (0x4c000809, 0x20b),
    (0x4c00040a, 0x210),
    (0x4c00080b, 0x214),
    (0x4c00100c, 0x220),
    (0x4c00010d, 0x247),
    (0x4c00040e, 0x23c),
    (0x4c00010f, 0x207),
    (0x4c000010, 0x23d),
    (0x4c000011, 0x23e),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x4c000816, 0x22b),
    (0x0, 0x0),
    (0x4c000118, 0x244),
    (0x4c000819, 0x20f),
    (0x4c00011a, 0x21e),
    (0x4c00041b, 0x219),
    (0x4c00041c, 0x21a),
    (0x4c00041d, 0x218),
    (0x4c00081e, 0x21b),
    (0x4c00081f, 0x21c),
    (0x4c000820, 0x232),
    (0x4c000821, 0x230),
    (0x4c001022, 0x21d),
    (0x4c001023, 0x231),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x4c000226, 0x2ca),
    (0x4c000427, 0x2d2),
    (0x4c000828, 0x2db),
    (0x4c000829, 0x2da),
    (0x4c00102a, 0x2e3),
    (0x4c00102b, 0x2e2),
    (0x4c00202c, 0x2eb),
    (0x4c00012d, 0x2c1),
    (0x4c00042e, 0x2d3),
    (0x4c00022f, 0x2c9),
    (0x4c000430, 0x2d1),
    (0x4c000831, 0x2d9),
    (0x4c001032, 0x2e1),
    (0x4c000133, 0x239),
    (0x4c000834, 0x213),
    (0x4c001035, 0x217),
    (0x4c002036, 0x225),
    (0x4c000137, 0x240),
    (0x4c000238, 0x248),
    (0x4c000439, 0x250),
    (0x4c00083a, 0x258),
    (0x4c00013b, 0x241),
    (0x4c00023c, 0x249),
    (0x4c00043d, 0x251),
    (0x4c00083e, 0x259),
    (0x4c00013f, 0x238),
    (0x4c000840, 0x212),
    (0x4c001041, 0x216),
    (0x4c002042, 0x224),
    (0x4c000843, 0x201),
    (0x4c000844, 0x203),
    (0x4c000845, 0x202),
    (0x4c000246, 0x23f),
    (0x4c000147, 0x2c0),
    (0x4c000248, 0x2c8),
    (0x4c000449, 0x2d0),
    (0x4c00084a, 0x2d8),
    (0x4c00104b, 0x2e0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
    (0x0, 0x0),
];

/// Pair types 0x8c00000n by n: neutral numbers.
pub const DIRECT_DATATYPES: [u32; 8] = [0x228, 0x229, 0x22a, 0x22c, 0x22d, 0x0, 0x0, 0x0];

/// Handles of this interface by neutral number less 0x200; 0: none.
pub const DATATYPES: [u32; 256] = [
    0xc000000, 0x4c000843, 0x4c000845, 0x4c000844, 0x0, 0x0, 0x0, 0x4c00010f, 0x4c000203,
    0x4c000405, 0x4c000807, 0x4c000809, 0x4c000204, 0x4c000406, 0x4c000808, 0x4c000819, 0x4c00040a,
    0x0, 0x4c000840, 0x4c000834, 0x4c00080b, 0x0, 0x4c001041, 0x4c001035, 0x4c00041d, 0x4c00041b,
    0x4c00041c, 0x4c00081e, 0x4c00081f, 0x4c001022, 0x4c00011a, 0x0, 0x4c00100c, 0x0, 0x0, 0x0,
    0x4c002042, 0x4c002036, 0x0, 0x0, 0x8c000000, 0x8c000001, 0x8c000002, 0x4c000816, 0x8c000003,
    0x8c000004, 0x0, 0x0, 0x4c000821, 0x4c001023, 0x4c000820, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4c00013f,
    0x4c000133, 0x0, 0x0, 0x4c00040e, 0x4c000010, 0x4c000011, 0x4c000246, 0x4c000137, 0x4c00013b,
    0x0, 0x4c000101, 0x4c000118, 0x4c000102, 0x0, 0x4c00010d, 0x4c000238, 0x4c00023c, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x4c000439, 0x4c00043d, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4c00083a,
    0x4c00083e, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4c000147, 0x4c00012d, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x4c000248, 0x4c00022f, 0x4c000226, 0x0, 0x0, 0x0, 0x0, 0x0, 0x4c000449, 0x4c000430,
    0x4c000427, 0x4c00042e, 0x0, 0x0, 0x0, 0x0, 0x4c00084a, 0x4c000831, 0x4c000829, 0x4c000828,
    0x0, 0x0, 0x0, 0x0, 0x4c00104b, 0x4c001032, 0x4c00102b, 0x4c00102a, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x4c00202c, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
    0x0, 0x0, 0x0, 0x0, 0x0, 0x0,
];

/// Room that programs give to strings, in bytes.
pub mod limits {
    /// MPI_MAX_DATAREP_STRING
    pub const MAX_DATAREP_STRING: usize = 128;
    /// MPI_MAX_ERROR_STRING
    pub const MAX_ERROR_STRING: usize = 512;
    /// MPI_MAX_INFO_KEY
    pub const MAX_INFO_KEY: usize = 255;
    /// MPI_MAX_INFO_VAL
    pub const MAX_INFO_VAL: usize = 1024;
    /// MPI_MAX_LIBRARY_VERSION_STRING
    pub const MAX_LIBRARY_VERSION_STRING: usize = 8192;
    /// MPI_MAX_OBJECT_NAME
    pub const MAX_OBJECT_NAME: usize = 128;
    /// MPI_MAX_PORT_NAME
    pub const MAX_PORT_NAME: usize = 256;
    /// MPI_MAX_PROCESSOR_NAME
    pub const MAX_PROCESSOR_NAME: usize = 128;
    /// MPI_MAX_STRINGTAG_LEN
    pub const MAX_STRINGTAG_LEN: usize = 256;
    /// MPI_MAX_PSET_NAME_LEN
    pub const MAX_PSET_NAME_LEN: usize = 256;
}
