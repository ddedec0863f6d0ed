//! Constants in the neutral numbering, which is that of the standard ABI (MPI 5.0,
//! chapter 20 and appendix A).
//!
//! Written by `cargo run -p xtask -- codegen` from api/constants.toml and
//! api/errors.toml; do not edit.

use crate::abi::Handle;

/// MPI_VERSION
pub const VERSION: i32 = 5;
/// MPI_SUBVERSION
pub const SUBVERSION: i32 = 0;
/// MPI_ABI_VERSION
pub const ABI_VERSION: i32 = 1;
/// MPI_ABI_SUBVERSION
pub const ABI_SUBVERSION: i32 = 0;
/// MPI_MAX_DATAREP_STRING
pub const MAX_DATAREP_STRING: i32 = 128;
/// MPI_MAX_ERROR_STRING
pub const MAX_ERROR_STRING: i32 = 512;
/// MPI_MAX_INFO_KEY
pub const MAX_INFO_KEY: i32 = 256;
/// MPI_MAX_INFO_VAL
pub const MAX_INFO_VAL: i32 = 1024;
/// MPI_MAX_LIBRARY_VERSION_STRING
pub const MAX_LIBRARY_VERSION_STRING: i32 = 8192;
/// MPI_MAX_OBJECT_NAME
pub const MAX_OBJECT_NAME: i32 = 128;
/// MPI_MAX_PORT_NAME
pub const MAX_PORT_NAME: i32 = 1024;
/// MPI_MAX_PROCESSOR_NAME
pub const MAX_PROCESSOR_NAME: i32 = 256;
/// MPI_MAX_STRINGTAG_LEN
pub const MAX_STRINGTAG_LEN: i32 = 1024;
/// MPI_MAX_PSET_NAME_LEN
pub const MAX_PSET_NAME_LEN: i32 = 1024;
/// MPI_BSEND_OVERHEAD
pub const BSEND_OVERHEAD: i32 = 512;
/// MPI_ERR_LASTCODE
pub const ERR_LASTCODE: i32 = 16383;
/// MPI_COMM_NULL
pub const COMM_NULL: Handle = Handle(0x100);
/// MPI_COMM_WORLD
pub const COMM_WORLD: Handle = Handle(0x101);
/// MPI_COMM_SELF
pub const COMM_SELF: Handle = Handle(0x102);
/// MPI_GROUP_NULL
pub const GROUP_NULL: Handle = Handle(0x108);
/// MPI_GROUP_EMPTY
pub const GROUP_EMPTY: Handle = Handle(0x109);
/// MPI_WIN_NULL
pub const WIN_NULL: Handle = Handle(0x110);
/// MPI_FILE_NULL
pub const FILE_NULL: Handle = Handle(0x118);
/// MPI_SESSION_NULL
pub const SESSION_NULL: Handle = Handle(0x120);
/// MPI_MESSAGE_NULL
pub const MESSAGE_NULL: Handle = Handle(0x128);
/// MPI_MESSAGE_NO_PROC
pub const MESSAGE_NO_PROC: Handle = Handle(0x129);
/// MPI_INFO_NULL
pub const INFO_NULL: Handle = Handle(0x130);
/// MPI_INFO_ENV
pub const INFO_ENV: Handle = Handle(0x131);
/// MPI_ERRHANDLER_NULL
pub const ERRHANDLER_NULL: Handle = Handle(0x140);
/// MPI_ERRORS_ARE_FATAL
pub const ERRORS_ARE_FATAL: Handle = Handle(0x141);
/// MPI_ERRORS_ABORT
pub const ERRORS_ABORT: Handle = Handle(0x142);
/// MPI_ERRORS_RETURN
pub const ERRORS_RETURN: Handle = Handle(0x143);
/// MPI_REQUEST_NULL
pub const REQUEST_NULL: Handle = Handle(0x180);
/// MPI_OP_NULL
pub const OP_NULL: Handle = Handle(0x20);
/// MPI_SUM
pub const SUM: Handle = Handle(0x21);
/// MPI_MIN
pub const MIN: Handle = Handle(0x22);
/// MPI_MAX
pub const MAX: Handle = Handle(0x23);
/// MPI_PROD
pub const PROD: Handle = Handle(0x24);
/// MPI_BAND
pub const BAND: Handle = Handle(0x28);
/// MPI_BOR
pub const BOR: Handle = Handle(0x29);
/// MPI_BXOR
pub const BXOR: Handle = Handle(0x2a);
/// MPI_LAND
pub const LAND: Handle = Handle(0x30);
/// MPI_LOR
pub const LOR: Handle = Handle(0x31);
/// MPI_LXOR
pub const LXOR: Handle = Handle(0x32);
/// MPI_MINLOC
pub const MINLOC: Handle = Handle(0x38);
/// MPI_MAXLOC
pub const MAXLOC: Handle = Handle(0x39);
/// MPI_REPLACE
pub const REPLACE: Handle = Handle(0x3c);
/// MPI_NO_OP
pub const NO_OP: Handle = Handle(0x3d);
/// MPI_DATATYPE_NULL
pub const DATATYPE_NULL: Handle = Handle(0x200);
/// MPI_AINT
pub const AINT: Handle = Handle(0x201);
/// MPI_COUNT
pub const COUNT: Handle = Handle(0x202);
/// MPI_OFFSET
pub const OFFSET: Handle = Handle(0x203);
/// MPI_PACKED
pub const PACKED: Handle = Handle(0x207);
/// MPI_SHORT
pub const SHORT: Handle = Handle(0x208);
/// MPI_INT
pub const INT: Handle = Handle(0x209);
/// MPI_LONG
pub const LONG: Handle = Handle(0x20a);
/// MPI_LONG_LONG
pub const LONG_LONG: Handle = Handle(0x20b);
/// MPI_LONG_LONG_INT
pub const LONG_LONG_INT: Handle = Handle(0x20b);
/// MPI_UNSIGNED_SHORT
pub const UNSIGNED_SHORT: Handle = Handle(0x20c);
/// MPI_UNSIGNED
pub const UNSIGNED: Handle = Handle(0x20d);
/// MPI_UNSIGNED_LONG
pub const UNSIGNED_LONG: Handle = Handle(0x20e);
/// MPI_UNSIGNED_LONG_LONG
pub const UNSIGNED_LONG_LONG: Handle = Handle(0x20f);
/// MPI_FLOAT
pub const FLOAT: Handle = Handle(0x210);
/// MPI_C_FLOAT_COMPLEX
pub const C_FLOAT_COMPLEX: Handle = Handle(0x212);
/// MPI_C_COMPLEX
pub const C_COMPLEX: Handle = Handle(0x212);
/// MPI_CXX_FLOAT_COMPLEX
pub const CXX_FLOAT_COMPLEX: Handle = Handle(0x213);
/// MPI_DOUBLE
pub const DOUBLE: Handle = Handle(0x214);
/// MPI_C_DOUBLE_COMPLEX
pub const C_DOUBLE_COMPLEX: Handle = Handle(0x216);
/// MPI_CXX_DOUBLE_COMPLEX
pub const CXX_DOUBLE_COMPLEX: Handle = Handle(0x217);
/// MPI_LOGICAL
pub const LOGICAL: Handle = Handle(0x218);
/// MPI_INTEGER
pub const INTEGER: Handle = Handle(0x219);
/// MPI_REAL
pub const REAL: Handle = Handle(0x21a);
/// MPI_COMPLEX
pub const COMPLEX: Handle = Handle(0x21b);
/// MPI_DOUBLE_PRECISION
pub const DOUBLE_PRECISION: Handle = Handle(0x21c);
/// MPI_DOUBLE_COMPLEX
pub const DOUBLE_COMPLEX: Handle = Handle(0x21d);
/// MPI_CHARACTER
pub const CHARACTER: Handle = Handle(0x21e);
/// MPI_LONG_DOUBLE
pub const LONG_DOUBLE: Handle = Handle(0x220);
/// MPI_C_LONG_DOUBLE_COMPLEX
pub const C_LONG_DOUBLE_COMPLEX: Handle = Handle(0x224);
/// MPI_CXX_LONG_DOUBLE_COMPLEX
pub const CXX_LONG_DOUBLE_COMPLEX: Handle = Handle(0x225);
/// MPI_FLOAT_INT
pub const FLOAT_INT: Handle = Handle(0x228);
/// MPI_DOUBLE_INT
pub const DOUBLE_INT: Handle = Handle(0x229);
/// MPI_LONG_INT
pub const LONG_INT: Handle = Handle(0x22a);
/// MPI_2INT
pub const TWO_INT: Handle = Handle(0x22b);
/// MPI_SHORT_INT
pub const SHORT_INT: Handle = Handle(0x22c);
/// MPI_LONG_DOUBLE_INT
pub const LONG_DOUBLE_INT: Handle = Handle(0x22d);
/// MPI_2REAL
pub const TWO_REAL: Handle = Handle(0x230);
/// MPI_2DOUBLE_PRECISION
pub const TWO_DOUBLE_PRECISION: Handle = Handle(0x231);
/// MPI_2INTEGER
pub const TWO_INTEGER: Handle = Handle(0x232);
/// MPI_C_BOOL
pub const C_BOOL: Handle = Handle(0x238);
/// MPI_CXX_BOOL
pub const CXX_BOOL: Handle = Handle(0x239);
/// MPI_WCHAR
pub const WCHAR: Handle = Handle(0x23c);
/// MPI_INT8_T
pub const INT8_T: Handle = Handle(0x240);
/// MPI_UINT8_T
pub const UINT8_T: Handle = Handle(0x241);
/// MPI_CHAR
pub const CHAR: Handle = Handle(0x243);
/// MPI_SIGNED_CHAR
pub const SIGNED_CHAR: Handle = Handle(0x244);
/// MPI_UNSIGNED_CHAR
pub const UNSIGNED_CHAR: Handle = Handle(0x245);
/// MPI_BYTE
pub const BYTE: Handle = Handle(0x247);
/// MPI_INT16_T
pub const INT16_T: Handle = Handle(0x248);
/// MPI_UINT16_T
pub const UINT16_T: Handle = Handle(0x249);
/// MPI_INT32_T
pub const INT32_T: Handle = Handle(0x250);
/// MPI_UINT32_T
pub const UINT32_T: Handle = Handle(0x251);
/// MPI_INT64_T
pub const INT64_T: Handle = Handle(0x258);
/// MPI_UINT64_T
pub const UINT64_T: Handle = Handle(0x259);
/// MPI_LOGICAL1
pub const LOGICAL1: Handle = Handle(0x2c0);
/// MPI_INTEGER1
pub const INTEGER1: Handle = Handle(0x2c1);
/// MPI_LOGICAL2
pub const LOGICAL2: Handle = Handle(0x2c8);
/// MPI_INTEGER2
pub const INTEGER2: Handle = Handle(0x2c9);
/// MPI_REAL2
pub const REAL2: Handle = Handle(0x2ca);
/// MPI_LOGICAL4
pub const LOGICAL4: Handle = Handle(0x2d0);
/// MPI_INTEGER4
pub const INTEGER4: Handle = Handle(0x2d1);
/// MPI_REAL4
pub const REAL4: Handle = Handle(0x2d2);
/// MPI_COMPLEX4
pub const COMPLEX4: Handle = Handle(0x2d3);
/// MPI_LOGICAL8
pub const LOGICAL8: Handle = Handle(0x2d8);
/// MPI_INTEGER8
pub const INTEGER8: Handle = Handle(0x2d9);
/// MPI_REAL8
pub const REAL8: Handle = Handle(0x2da);
/// MPI_COMPLEX8
pub const COMPLEX8: Handle = Handle(0x2db);
/// MPI_LOGICAL16
pub const LOGICAL16: Handle = Handle(0x2e0);
/// MPI_INTEGER16
pub const INTEGER16: Handle = Handle(0x2e1);
/// MPI_REAL16
pub const REAL16: Handle = Handle(0x2e2);
/// MPI_COMPLEX16
pub const COMPLEX16: Handle = Handle(0x2e3);
/// MPI_COMPLEX32
pub const COMPLEX32: Handle = Handle(0x2eb);
/// MPI_LB
pub const LB: Handle = Handle(0x23d);
/// MPI_UB
pub const UB: Handle = Handle(0x23e);
/// MPIX_C_FLOAT16
pub const MPIX_C_FLOAT16: Handle = Handle(0x23f);
/// MPI_SUCCESS
pub const SUCCESS: i32 = 0;
/// MPI_ERR_BUFFER
pub const ERR_BUFFER: i32 = 1;
/// MPI_ERR_COUNT
pub const ERR_COUNT: i32 = 2;
/// MPI_ERR_TYPE
pub const ERR_TYPE: i32 = 3;
/// MPI_ERR_TAG
pub const ERR_TAG: i32 = 4;
/// MPI_ERR_COMM
pub const ERR_COMM: i32 = 5;
/// MPI_ERR_RANK
pub const ERR_RANK: i32 = 6;
/// MPI_ERR_REQUEST
pub const ERR_REQUEST: i32 = 7;
/// MPI_ERR_ROOT
pub const ERR_ROOT: i32 = 8;
/// MPI_ERR_GROUP
pub const ERR_GROUP: i32 = 9;
/// MPI_ERR_OP
pub const ERR_OP: i32 = 10;
/// MPI_ERR_TOPOLOGY
pub const ERR_TOPOLOGY: i32 = 11;
/// MPI_ERR_DIMS
pub const ERR_DIMS: i32 = 12;
/// MPI_ERR_ARG
pub const ERR_ARG: i32 = 13;
/// MPI_ERR_UNKNOWN
pub const ERR_UNKNOWN: i32 = 14;
/// MPI_ERR_TRUNCATE
pub const ERR_TRUNCATE: i32 = 15;
/// MPI_ERR_OTHER
pub const ERR_OTHER: i32 = 16;
/// MPI_ERR_INTERN
pub const ERR_INTERN: i32 = 17;
/// MPI_ERR_PENDING
pub const ERR_PENDING: i32 = 18;
/// MPI_ERR_IN_STATUS
pub const ERR_IN_STATUS: i32 = 19;
/// MPI_ERR_ACCESS
pub const ERR_ACCESS: i32 = 20;
/// MPI_ERR_AMODE
pub const ERR_AMODE: i32 = 21;
/// MPI_ERR_ASSERT
pub const ERR_ASSERT: i32 = 22;
/// MPI_ERR_BAD_FILE
pub const ERR_BAD_FILE: i32 = 23;
/// MPI_ERR_BASE
pub const ERR_BASE: i32 = 24;
/// MPI_ERR_CONVERSION
pub const ERR_CONVERSION: i32 = 25;
/// MPI_ERR_DISP
pub const ERR_DISP: i32 = 26;
/// MPI_ERR_DUP_DATAREP
pub const ERR_DUP_DATAREP: i32 = 27;
/// MPI_ERR_FILE_EXISTS
pub const ERR_FILE_EXISTS: i32 = 28;
/// MPI_ERR_FILE_IN_USE
pub const ERR_FILE_IN_USE: i32 = 29;
/// MPI_ERR_FILE
pub const ERR_FILE: i32 = 30;
/// MPI_ERR_INFO_KEY
pub const ERR_INFO_KEY: i32 = 31;
/// MPI_ERR_INFO_NOKEY
pub const ERR_INFO_NOKEY: i32 = 32;
/// MPI_ERR_INFO_VALUE
pub const ERR_INFO_VALUE: i32 = 33;
/// MPI_ERR_INFO
pub const ERR_INFO: i32 = 34;
/// MPI_ERR_IO
pub const ERR_IO: i32 = 35;
/// MPI_ERR_KEYVAL
pub const ERR_KEYVAL: i32 = 36;
/// MPI_ERR_LOCKTYPE
pub const ERR_LOCKTYPE: i32 = 37;
/// MPI_ERR_NAME
pub const ERR_NAME: i32 = 38;
/// MPI_ERR_NO_MEM
pub const ERR_NO_MEM: i32 = 39;
/// MPI_ERR_NOT_SAME
pub const ERR_NOT_SAME: i32 = 40;
/// MPI_ERR_NO_SPACE
pub const ERR_NO_SPACE: i32 = 41;
/// MPI_ERR_NO_SUCH_FILE
pub const ERR_NO_SUCH_FILE: i32 = 42;
/// MPI_ERR_PORT
pub const ERR_PORT: i32 = 43;
/// MPI_ERR_QUOTA
pub const ERR_QUOTA: i32 = 44;
/// MPI_ERR_READ_ONLY
pub const ERR_READ_ONLY: i32 = 45;
/// MPI_ERR_RMA_ATTACH
pub const ERR_RMA_ATTACH: i32 = 46;
/// MPI_ERR_RMA_CONFLICT
pub const ERR_RMA_CONFLICT: i32 = 47;
/// MPI_ERR_RMA_RANGE
pub const ERR_RMA_RANGE: i32 = 48;
/// MPI_ERR_RMA_SHARED
pub const ERR_RMA_SHARED: i32 = 49;
/// MPI_ERR_RMA_SYNC
pub const ERR_RMA_SYNC: i32 = 50;
/// MPI_ERR_SERVICE
pub const ERR_SERVICE: i32 = 51;
/// MPI_ERR_SIZE
pub const ERR_SIZE: i32 = 52;
/// MPI_ERR_SPAWN
pub const ERR_SPAWN: i32 = 53;
/// MPI_ERR_UNSUPPORTED_DATAREP
pub const ERR_UNSUPPORTED_DATAREP: i32 = 54;
/// MPI_ERR_UNSUPPORTED_OPERATION
pub const ERR_UNSUPPORTED_OPERATION: i32 = 55;
/// MPI_ERR_WIN
pub const ERR_WIN: i32 = 56;
/// MPI_ERR_RMA_FLAVOR
pub const ERR_RMA_FLAVOR: i32 = 57;
/// MPI_ERR_PROC_ABORTED
pub const ERR_PROC_ABORTED: i32 = 58;
/// MPI_ERR_VALUE_TOO_LARGE
pub const ERR_VALUE_TOO_LARGE: i32 = 59;
/// MPI_ERR_SESSION
pub const ERR_SESSION: i32 = 60;
/// MPI_ERR_ERRHANDLER
pub const ERR_ERRHANDLER: i32 = 61;
/// MPI_ERR_ABI
pub const ERR_ABI: i32 = 62;
/// MPI_T_ERR_CANNOT_INIT
pub const T_ERR_CANNOT_INIT: i32 = 1001;
/// MPI_T_ERR_NOT_ACCESSIBLE
pub const T_ERR_NOT_ACCESSIBLE: i32 = 1002;
/// MPI_T_ERR_NOT_INITIALIZED
pub const T_ERR_NOT_INITIALIZED: i32 = 1003;
/// MPI_T_ERR_NOT_SUPPORTED
pub const T_ERR_NOT_SUPPORTED: i32 = 1004;
/// MPI_T_ERR_MEMORY
pub const T_ERR_MEMORY: i32 = 1005;
/// MPI_T_ERR_INVALID
pub const T_ERR_INVALID: i32 = 1006;
/// MPI_T_ERR_INVALID_INDEX
pub const T_ERR_INVALID_INDEX: i32 = 1007;
/// MPI_T_ERR_INVALID_ITEM
pub const T_ERR_INVALID_ITEM: i32 = 1008;
/// MPI_T_ERR_INVALID_SESSION
pub const T_ERR_INVALID_SESSION: i32 = 1009;
/// MPI_T_ERR_INVALID_HANDLE
pub const T_ERR_INVALID_HANDLE: i32 = 1010;
/// MPI_T_ERR_INVALID_NAME
pub const T_ERR_INVALID_NAME: i32 = 1011;
/// MPI_T_ERR_OUT_OF_HANDLES
pub const T_ERR_OUT_OF_HANDLES: i32 = 1012;
/// MPI_T_ERR_OUT_OF_SESSIONS
pub const T_ERR_OUT_OF_SESSIONS: i32 = 1013;
/// MPI_T_ERR_CVAR_SET_NOT_NOW
pub const T_ERR_CVAR_SET_NOT_NOW: i32 = 1014;
/// MPI_T_ERR_CVAR_SET_NEVER
pub const T_ERR_CVAR_SET_NEVER: i32 = 1015;
/// MPI_T_ERR_PVAR_NO_WRITE
pub const T_ERR_PVAR_NO_WRITE: i32 = 1016;
/// MPI_T_ERR_PVAR_NO_STARTSTOP
pub const T_ERR_PVAR_NO_STARTSTOP: i32 = 1017;
/// MPI_T_ERR_PVAR_NO_ATOMIC
pub const T_ERR_PVAR_NO_ATOMIC: i32 = 1018;
/// MPI_ANY_SOURCE
pub const ANY_SOURCE: i32 = -1;
/// MPI_PROC_NULL
pub const PROC_NULL: i32 = -3;
/// MPI_ROOT
pub const ROOT: i32 = -4;
/// MPI_ANY_TAG
pub const ANY_TAG: i32 = -2;
/// MPI_UNDEFINED
pub const UNDEFINED: i32 = -32766;
/// MPI_BOTTOM
pub const BOTTOM: usize = 0;
/// MPI_IN_PLACE
pub const IN_PLACE: usize = 1;
/// MPI_BUFFER_AUTOMATIC
pub const BUFFER_AUTOMATIC: usize = 2;
/// MPI_ARGV_NULL
pub const ARGV_NULL: usize = 0;
/// MPI_ARGVS_NULL
pub const ARGVS_NULL: usize = 0;
/// MPI_ERRCODES_IGNORE
pub const ERRCODES_IGNORE: usize = 0;
/// MPI_UNWEIGHTED
pub const UNWEIGHTED: usize = 10;
/// MPI_WEIGHTS_EMPTY
pub const WEIGHTS_EMPTY: usize = 11;
/// MPI_STATUS_IGNORE
pub const STATUS_IGNORE: usize = 0;
/// MPI_STATUSES_IGNORE
pub const STATUSES_IGNORE: usize = 0;
/// MPI_DISPLACEMENT_CURRENT
pub const DISPLACEMENT_CURRENT: i64 = -1;
/// MPI_T_ENUM_NULL
pub const T_ENUM_NULL: usize = 0;
/// MPI_T_CVAR_HANDLE_NULL
pub const T_CVAR_HANDLE_NULL: usize = 0;
/// MPI_T_PVAR_SESSION_NULL
pub const T_PVAR_SESSION_NULL: usize = 0;
/// MPI_T_PVAR_HANDLE_NULL
pub const T_PVAR_HANDLE_NULL: usize = 0;
/// MPI_T_PVAR_ALL_HANDLES
pub const T_PVAR_ALL_HANDLES: usize = 1;
/// MPI_F_STATUS_SIZE
pub const F_STATUS_SIZE: i32 = 8;
/// MPI_F_SOURCE
pub const F_SOURCE: i32 = 0;
/// MPI_F_TAG
pub const F_TAG: i32 = 1;
/// MPI_F_ERROR
pub const F_ERROR: i32 = 2;
/// MPI_MODE_APPEND
pub const MODE_APPEND: i32 = 1;
/// MPI_MODE_CREATE
pub const MODE_CREATE: i32 = 2;
/// MPI_MODE_DELETE_ON_CLOSE
pub const MODE_DELETE_ON_CLOSE: i32 = 4;
/// MPI_MODE_EXCL
pub const MODE_EXCL: i32 = 8;
/// MPI_MODE_RDONLY
pub const MODE_RDONLY: i32 = 16;
/// MPI_MODE_RDWR
pub const MODE_RDWR: i32 = 32;
/// MPI_MODE_SEQUENTIAL
pub const MODE_SEQUENTIAL: i32 = 64;
/// MPI_MODE_UNIQUE_OPEN
pub const MODE_UNIQUE_OPEN: i32 = 128;
/// MPI_MODE_WRONLY
pub const MODE_WRONLY: i32 = 256;
/// MPI_MODE_NOCHECK
pub const MODE_NOCHECK: i32 = 1024;
/// MPI_MODE_NOPRECEDE
pub const MODE_NOPRECEDE: i32 = 2048;
/// MPI_MODE_NOPUT
pub const MODE_NOPUT: i32 = 4096;
/// MPI_MODE_NOSTORE
pub const MODE_NOSTORE: i32 = 8192;
/// MPI_MODE_NOSUCCEED
pub const MODE_NOSUCCEED: i32 = 16384;
/// MPI_THREAD_SINGLE
pub const THREAD_SINGLE: i32 = 0;
/// MPI_THREAD_FUNNELED
pub const THREAD_FUNNELED: i32 = 1024;
/// MPI_THREAD_SERIALIZED
pub const THREAD_SERIALIZED: i32 = 2048;
/// MPI_THREAD_MULTIPLE
pub const THREAD_MULTIPLE: i32 = 4096;
/// MPI_ORDER_C
pub const ORDER_C: i32 = 12;
/// MPI_ORDER_FORTRAN
pub const ORDER_FORTRAN: i32 = 15;
/// MPI_DISTRIBUTE_NONE
pub const DISTRIBUTE_NONE: i32 = 16;
/// MPI_DISTRIBUTE_BLOCK
pub const DISTRIBUTE_BLOCK: i32 = 17;
/// MPI_DISTRIBUTE_CYCLIC
pub const DISTRIBUTE_CYCLIC: i32 = 18;
/// MPI_DISTRIBUTE_DFLT_DARG
pub const DISTRIBUTE_DFLT_DARG: i32 = 19;
/// MPI_COMBINER_NAMED
pub const COMBINER_NAMED: i32 = 101;
/// MPI_COMBINER_DUP
pub const COMBINER_DUP: i32 = 102;
/// MPI_COMBINER_CONTIGUOUS
pub const COMBINER_CONTIGUOUS: i32 = 103;
/// MPI_COMBINER_VECTOR
pub const COMBINER_VECTOR: i32 = 104;
/// MPI_COMBINER_HVECTOR
pub const COMBINER_HVECTOR: i32 = 105;
/// MPI_COMBINER_INDEXED
pub const COMBINER_INDEXED: i32 = 106;
/// MPI_COMBINER_HINDEXED
pub const COMBINER_HINDEXED: i32 = 107;
/// MPI_COMBINER_INDEXED_BLOCK
pub const COMBINER_INDEXED_BLOCK: i32 = 108;
/// MPI_COMBINER_HINDEXED_BLOCK
pub const COMBINER_HINDEXED_BLOCK: i32 = 109;
/// MPI_COMBINER_STRUCT
pub const COMBINER_STRUCT: i32 = 110;
/// MPI_COMBINER_SUBARRAY
pub const COMBINER_SUBARRAY: i32 = 111;
/// MPI_COMBINER_DARRAY
pub const COMBINER_DARRAY: i32 = 112;
/// MPI_COMBINER_F90_REAL
pub const COMBINER_F90_REAL: i32 = 113;
/// MPI_COMBINER_F90_COMPLEX
pub const COMBINER_F90_COMPLEX: i32 = 114;
/// MPI_COMBINER_F90_INTEGER
pub const COMBINER_F90_INTEGER: i32 = 115;
/// MPI_COMBINER_RESIZED
pub const COMBINER_RESIZED: i32 = 116;
/// MPI_COMBINER_VALUE_INDEX
pub const COMBINER_VALUE_INDEX: i32 = 117;
/// MPI_TYPECLASS_INTEGER
pub const TYPECLASS_INTEGER: i32 = 192;
/// MPI_TYPECLASS_REAL
pub const TYPECLASS_REAL: i32 = 193;
/// MPI_TYPECLASS_COMPLEX
pub const TYPECLASS_COMPLEX: i32 = 194;
/// MPIX_TYPECLASS_LOGICAL
pub const MPIX_TYPECLASS_LOGICAL: i32 = 191;
/// MPI_IDENT
pub const IDENT: i32 = 201;
/// MPI_CONGRUENT
pub const CONGRUENT: i32 = 202;
/// MPI_SIMILAR
pub const SIMILAR: i32 = 203;
/// MPI_UNEQUAL
pub const UNEQUAL: i32 = 204;
/// MPI_CART
pub const CART: i32 = 211;
/// MPI_GRAPH
pub const GRAPH: i32 = 212;
/// MPI_DIST_GRAPH
pub const DIST_GRAPH: i32 = 213;
/// MPI_COMM_TYPE_SHARED
pub const COMM_TYPE_SHARED: i32 = 221;
/// MPI_COMM_TYPE_HW_UNGUIDED
pub const COMM_TYPE_HW_UNGUIDED: i32 = 222;
/// MPI_COMM_TYPE_HW_GUIDED
pub const COMM_TYPE_HW_GUIDED: i32 = 223;
/// MPI_COMM_TYPE_RESOURCE_GUIDED
pub const COMM_TYPE_RESOURCE_GUIDED: i32 = 224;
/// MPIX_COMM_TYPE_NEIGHBORHOOD
pub const MPIX_COMM_TYPE_NEIGHBORHOOD: i32 = 225;
/// MPI_LOCK_EXCLUSIVE
pub const LOCK_EXCLUSIVE: i32 = 301;
/// MPI_LOCK_SHARED
pub const LOCK_SHARED: i32 = 302;
/// MPI_WIN_FLAVOR_CREATE
pub const WIN_FLAVOR_CREATE: i32 = 311;
/// MPI_WIN_FLAVOR_ALLOCATE
pub const WIN_FLAVOR_ALLOCATE: i32 = 312;
/// MPI_WIN_FLAVOR_DYNAMIC
pub const WIN_FLAVOR_DYNAMIC: i32 = 313;
/// MPI_WIN_FLAVOR_SHARED
pub const WIN_FLAVOR_SHARED: i32 = 314;
/// MPI_WIN_UNIFIED
pub const WIN_UNIFIED: i32 = 321;
/// MPI_WIN_SEPARATE
pub const WIN_SEPARATE: i32 = 322;
/// MPI_SEEK_CUR
pub const SEEK_CUR: i32 = 401;
/// MPI_SEEK_END
pub const SEEK_END: i32 = 402;
/// MPI_SEEK_SET
pub const SEEK_SET: i32 = 403;
/// MPI_KEYVAL_INVALID
pub const KEYVAL_INVALID: i32 = 0;
/// MPI_TAG_UB
pub const TAG_UB: i32 = 501;
/// MPI_IO
pub const IO: i32 = 502;
/// MPI_HOST
pub const HOST: i32 = 503;
/// MPI_WTIME_IS_GLOBAL
pub const WTIME_IS_GLOBAL: i32 = 504;
/// MPI_APPNUM
pub const APPNUM: i32 = 505;
/// MPI_LASTUSEDCODE
pub const LASTUSEDCODE: i32 = 506;
/// MPI_UNIVERSE_SIZE
pub const UNIVERSE_SIZE: i32 = 507;
/// MPI_WIN_BASE
pub const WIN_BASE: i32 = 601;
/// MPI_WIN_DISP_UNIT
pub const WIN_DISP_UNIT: i32 = 602;
/// MPI_WIN_SIZE
pub const WIN_SIZE: i32 = 603;
/// MPI_WIN_CREATE_FLAVOR
pub const WIN_CREATE_FLAVOR: i32 = 604;
/// MPI_WIN_MODEL
pub const WIN_MODEL: i32 = 605;
/// MPI_T_CB_REQUIRE_NONE
pub const T_CB_REQUIRE_NONE: i32 = 0;
/// MPI_T_CB_REQUIRE_MPI_RESTRICTED
pub const T_CB_REQUIRE_MPI_RESTRICTED: i32 = 3;
/// MPI_T_CB_REQUIRE_THREAD_SAFE
pub const T_CB_REQUIRE_THREAD_SAFE: i32 = 15;
/// MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE
pub const T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: i32 = 63;
/// MPI_T_SOURCE_ORDERED
pub const T_SOURCE_ORDERED: i32 = 1;
/// MPI_T_SOURCE_UNORDERED
pub const T_SOURCE_UNORDERED: i32 = 2;
/// MPI_T_VERBOSITY_USER_BASIC
pub const T_VERBOSITY_USER_BASIC: i32 = 9;
/// MPI_T_VERBOSITY_USER_DETAIL
pub const T_VERBOSITY_USER_DETAIL: i32 = 10;
/// MPI_T_VERBOSITY_USER_ALL
pub const T_VERBOSITY_USER_ALL: i32 = 12;
/// MPI_T_VERBOSITY_TUNER_BASIC
pub const T_VERBOSITY_TUNER_BASIC: i32 = 17;
/// MPI_T_VERBOSITY_TUNER_DETAIL
pub const T_VERBOSITY_TUNER_DETAIL: i32 = 18;
/// MPI_T_VERBOSITY_TUNER_ALL
pub const T_VERBOSITY_TUNER_ALL: i32 = 20;
/// MPI_T_VERBOSITY_MPIDEV_BASIC
pub const T_VERBOSITY_MPIDEV_BASIC: i32 = 33;
/// MPI_T_VERBOSITY_MPIDEV_DETAIL
pub const T_VERBOSITY_MPIDEV_DETAIL: i32 = 34;
/// MPI_T_VERBOSITY_MPIDEV_ALL
pub const T_VERBOSITY_MPIDEV_ALL: i32 = 36;
/// MPI_T_BIND_NO_OBJECT
pub const T_BIND_NO_OBJECT: i32 = 1;
/// MPI_T_BIND_MPI_COMM
pub const T_BIND_MPI_COMM: i32 = 2;
/// MPI_T_BIND_MPI_DATATYPE
pub const T_BIND_MPI_DATATYPE: i32 = 3;
/// MPI_T_BIND_MPI_ERRHANDLER
pub const T_BIND_MPI_ERRHANDLER: i32 = 4;
/// MPI_T_BIND_MPI_FILE
pub const T_BIND_MPI_FILE: i32 = 5;
/// MPI_T_BIND_MPI_GROUP
pub const T_BIND_MPI_GROUP: i32 = 6;
/// MPI_T_BIND_MPI_OP
pub const T_BIND_MPI_OP: i32 = 7;
/// MPI_T_BIND_MPI_REQUEST
pub const T_BIND_MPI_REQUEST: i32 = 8;
/// MPI_T_BIND_MPI_WIN
pub const T_BIND_MPI_WIN: i32 = 9;
/// MPI_T_BIND_MPI_MESSAGE
pub const T_BIND_MPI_MESSAGE: i32 = 10;
/// MPI_T_BIND_MPI_INFO
pub const T_BIND_MPI_INFO: i32 = 11;
/// MPI_T_BIND_MPI_SESSION
pub const T_BIND_MPI_SESSION: i32 = 12;
/// MPI_T_SCOPE_CONSTANT
pub const T_SCOPE_CONSTANT: i32 = 1;
/// MPI_T_SCOPE_READONLY
pub const T_SCOPE_READONLY: i32 = 2;
/// MPI_T_SCOPE_LOCAL
pub const T_SCOPE_LOCAL: i32 = 3;
/// MPI_T_SCOPE_GROUP
pub const T_SCOPE_GROUP: i32 = 4;
/// MPI_T_SCOPE_GROUP_EQ
pub const T_SCOPE_GROUP_EQ: i32 = 5;
/// MPI_T_SCOPE_ALL
pub const T_SCOPE_ALL: i32 = 6;
/// MPI_T_SCOPE_ALL_EQ
pub const T_SCOPE_ALL_EQ: i32 = 7;
/// MPI_T_PVAR_CLASS_STATE
pub const T_PVAR_CLASS_STATE: i32 = 1;
/// MPI_T_PVAR_CLASS_LEVEL
pub const T_PVAR_CLASS_LEVEL: i32 = 2;
/// MPI_T_PVAR_CLASS_SIZE
pub const T_PVAR_CLASS_SIZE: i32 = 3;
/// MPI_T_PVAR_CLASS_PERCENTAGE
pub const T_PVAR_CLASS_PERCENTAGE: i32 = 4;
/// MPI_T_PVAR_CLASS_HIGHWATERMARK
pub const T_PVAR_CLASS_HIGHWATERMARK: i32 = 5;
/// MPI_T_PVAR_CLASS_LOWWATERMARK
pub const T_PVAR_CLASS_LOWWATERMARK: i32 = 6;
/// MPI_T_PVAR_CLASS_COUNTER
pub const T_PVAR_CLASS_COUNTER: i32 = 7;
/// MPI_T_PVAR_CLASS_AGGREGATE
pub const T_PVAR_CLASS_AGGREGATE: i32 = 8;
/// MPI_T_PVAR_CLASS_TIMER
pub const T_PVAR_CLASS_TIMER: i32 = 9;
/// MPI_T_PVAR_CLASS_GENERIC
pub const T_PVAR_CLASS_GENERIC: i32 = 10;

/// The sentence for an error of which only the class is known.
#[allow(clippy::too_many_lines)]
pub fn class_sentence(class: i32) -> &'static str {
    match class {
        0 => "MPI_SUCCESS: no error",
        1 => "MPI_ERR_BUFFER: a buffer address is not valid",
        2 => "MPI_ERR_COUNT: a count is not valid",
        3 => "MPI_ERR_TYPE: a datatype is not valid, or was not committed",
        4 => "MPI_ERR_TAG: a tag is not valid",
        5 => "MPI_ERR_COMM: a communicator is not valid",
        6 => "MPI_ERR_RANK: a rank is not valid",
        7 => "MPI_ERR_REQUEST: a request is not valid",
        8 => "MPI_ERR_ROOT: a root is not valid",
        9 => "MPI_ERR_GROUP: a group is not valid",
        10 => "MPI_ERR_OP: a reduction operation is not valid",
        11 => "MPI_ERR_TOPOLOGY: a virtual topology is not valid",
        12 => "MPI_ERR_DIMS: a dimension is not valid",
        13 => "MPI_ERR_ARG: an argument is not valid",
        14 => "MPI_ERR_UNKNOWN: an error of unknown kind",
        15 => "MPI_ERR_TRUNCATE: a message was longer than the receive buffer",
        16 => "MPI_ERR_OTHER: an error that no other class describes",
        17 => "MPI_ERR_INTERN: an internal error of the library",
        18 => "MPI_ERR_PENDING: the operation has neither failed nor finished",
        19 => "MPI_ERR_IN_STATUS: the error codes are in the statuses",
        20 => "MPI_ERR_ACCESS: permission to the file was denied",
        21 => {
            "MPI_ERR_AMODE: the access mode of the file is not valid or differs between the ranks"
        }
        22 => "MPI_ERR_ASSERT: an assertion argument is not valid",
        23 => "MPI_ERR_BAD_FILE: a file name is not valid",
        24 => "MPI_ERR_BASE: a base address is not valid",
        25 => "MPI_ERR_CONVERSION: a data conversion function failed",
        26 => "MPI_ERR_DISP: a displacement is not valid",
        27 => "MPI_ERR_DUP_DATAREP: a data representation of this name exists already",
        28 => "MPI_ERR_FILE_EXISTS: the file exists already",
        29 => "MPI_ERR_FILE_IN_USE: the file is in use",
        30 => "MPI_ERR_FILE: a file handle is not valid",
        31 => "MPI_ERR_INFO_KEY: an info key is too long or empty",
        32 => "MPI_ERR_INFO_NOKEY: the info object has no such key",
        33 => "MPI_ERR_INFO_VALUE: an info value is too long",
        34 => "MPI_ERR_INFO: an info object is not valid",
        35 => "MPI_ERR_IO: reading or writing the file failed",
        36 => "MPI_ERR_KEYVAL: an attribute key is not valid",
        37 => "MPI_ERR_LOCKTYPE: a lock type is not valid",
        38 => "MPI_ERR_NAME: no service of this name was published",
        39 => "MPI_ERR_NO_MEM: memory is exhausted",
        40 => "MPI_ERR_NOT_SAME: an argument must be the same on all ranks and is not",
        41 => "MPI_ERR_NO_SPACE: no space is left on the device",
        42 => "MPI_ERR_NO_SUCH_FILE: the file does not exist",
        43 => "MPI_ERR_PORT: a port name is not valid",
        44 => "MPI_ERR_QUOTA: the quota is exceeded",
        45 => "MPI_ERR_READ_ONLY: the file or file system is read-only",
        46 => "MPI_ERR_RMA_ATTACH: memory cannot be attached to the window",
        47 => "MPI_ERR_RMA_CONFLICT: accesses to the window conflict",
        48 => "MPI_ERR_RMA_RANGE: the target memory is not part of the window",
        49 => "MPI_ERR_RMA_SHARED: memory cannot be shared",
        50 => "MPI_ERR_RMA_SYNC: calls that synchronize the window are missing or out of order",
        51 => "MPI_ERR_SERVICE: the service was not published by this name",
        52 => "MPI_ERR_SIZE: a size is not valid",
        53 => "MPI_ERR_SPAWN: processes could not be started",
        54 => "MPI_ERR_UNSUPPORTED_DATAREP: the data representation is not supported",
        55 => "MPI_ERR_UNSUPPORTED_OPERATION: the operation is not supported",
        56 => "MPI_ERR_WIN: a window is not valid",
        57 => "MPI_ERR_RMA_FLAVOR: the window has the wrong flavor for this call",
        58 => "MPI_ERR_PROC_ABORTED: a process that takes part has ended early",
        59 => "MPI_ERR_VALUE_TOO_LARGE: a value is too large for the variable",
        60 => "MPI_ERR_SESSION: a session is not valid",
        61 => "MPI_ERR_ERRHANDLER: an error handler is not valid",
        62 => "MPI_ERR_ABI: the Fortran properties of the ABI are set already",
        1001 => "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialized now",
        1002 => "MPI_T_ERR_NOT_ACCESSIBLE: the functionality is not accessible",
        1003 => "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialized",
        1004 => "MPI_T_ERR_NOT_SUPPORTED: the functionality is not supported",
        1005 => "MPI_T_ERR_MEMORY: memory is exhausted",
        1006 => "MPI_T_ERR_INVALID: an argument of the tool interface is not valid",
        1007 => "MPI_T_ERR_INVALID_INDEX: an index of the tool interface is not valid",
        1008 => "MPI_T_ERR_INVALID_ITEM: an item index is out of range",
        1009 => "MPI_T_ERR_INVALID_SESSION: a performance session is not valid",
        1010 => "MPI_T_ERR_INVALID_HANDLE: a handle of the tool interface is not valid",
        1011 => "MPI_T_ERR_INVALID_NAME: no item has this name",
        1012 => "MPI_T_ERR_OUT_OF_HANDLES: no handle is left",
        1013 => "MPI_T_ERR_OUT_OF_SESSIONS: no performance session is left",
        1014 => "MPI_T_ERR_CVAR_SET_NOT_NOW: the control variable cannot be set at this time",
        1015 => "MPI_T_ERR_CVAR_SET_NEVER: the control variable cannot be set",
        1016 => "MPI_T_ERR_PVAR_NO_WRITE: the performance variable cannot be written",
        1017 => {
            "MPI_T_ERR_PVAR_NO_STARTSTOP: the performance variable cannot be started or stopped"
        }
        1018 => {
            "MPI_T_ERR_PVAR_NO_ATOMIC: the performance variable cannot be read and reset at once"
        }
        _ => "an error class that this library does not know",
    }
}

/// Name of a predefined datatype by its number; empty for all others.
#[allow(clippy::too_many_lines)]
pub fn datatype_name(datatype: Handle) -> &'static str {
    match datatype.0 {
        0x200 => "MPI_DATATYPE_NULL",
        0x201 => "MPI_AINT",
        0x202 => "MPI_COUNT",
        0x203 => "MPI_OFFSET",
        0x207 => "MPI_PACKED",
        0x208 => "MPI_SHORT",
        0x209 => "MPI_INT",
        0x20a => "MPI_LONG",
        0x20b => "MPI_LONG_LONG",
        0x20c => "MPI_UNSIGNED_SHORT",
        0x20d => "MPI_UNSIGNED",
        0x20e => "MPI_UNSIGNED_LONG",
        0x20f => "MPI_UNSIGNED_LONG_LONG",
        0x210 => "MPI_FLOAT",
        0x212 => "MPI_C_FLOAT_COMPLEX",
        0x213 => "MPI_CXX_FLOAT_COMPLEX",
        0x214 => "MPI_DOUBLE",
        0x216 => "MPI_C_DOUBLE_COMPLEX",
        0x217 => "MPI_CXX_DOUBLE_COMPLEX",
        0x218 => "MPI_LOGICAL",
        0x219 => "MPI_INTEGER",
        0x21a => "MPI_REAL",
        0x21b => "MPI_COMPLEX",
        0x21c => "MPI_DOUBLE_PRECISION",
        0x21d => "MPI_DOUBLE_COMPLEX",
        0x21e => "MPI_CHARACTER",
        0x220 => "MPI_LONG_DOUBLE",
        0x224 => "MPI_C_LONG_DOUBLE_COMPLEX",
        0x225 => "MPI_CXX_LONG_DOUBLE_COMPLEX",
        0x228 => "MPI_FLOAT_INT",
        0x229 => "MPI_DOUBLE_INT",
        0x22a => "MPI_LONG_INT",
        0x22b => "MPI_2INT",
        0x22c => "MPI_SHORT_INT",
        0x22d => "MPI_LONG_DOUBLE_INT",
        0x230 => "MPI_2REAL",
        0x231 => "MPI_2DOUBLE_PRECISION",
        0x232 => "MPI_2INTEGER",
        0x238 => "MPI_C_BOOL",
        0x239 => "MPI_CXX_BOOL",
        0x23c => "MPI_WCHAR",
        0x240 => "MPI_INT8_T",
        0x241 => "MPI_UINT8_T",
        0x243 => "MPI_CHAR",
        0x244 => "MPI_SIGNED_CHAR",
        0x245 => "MPI_UNSIGNED_CHAR",
        0x247 => "MPI_BYTE",
        0x248 => "MPI_INT16_T",
        0x249 => "MPI_UINT16_T",
        0x250 => "MPI_INT32_T",
        0x251 => "MPI_UINT32_T",
        0x258 => "MPI_INT64_T",
        0x259 => "MPI_UINT64_T",
        0x2c0 => "MPI_LOGICAL1",
        0x2c1 => "MPI_INTEGER1",
        0x2c8 => "MPI_LOGICAL2",
        0x2c9 => "MPI_INTEGER2",
        0x2ca => "MPI_REAL2",
        0x2d0 => "MPI_LOGICAL4",
        0x2d1 => "MPI_INTEGER4",
        0x2d2 => "MPI_REAL4",
        0x2d3 => "MPI_COMPLEX4",
        0x2d8 => "MPI_LOGICAL8",
        0x2d9 => "MPI_INTEGER8",
        0x2da => "MPI_REAL8",
        0x2db => "MPI_COMPLEX8",
        0x2e0 => "MPI_LOGICAL16",
        0x2e1 => "MPI_INTEGER16",
        0x2e2 => "MPI_REAL16",
        0x2e3 => "MPI_COMPLEX16",
        0x2eb => "MPI_COMPLEX32",
        0x23d => "MPI_LB",
        0x23e => "MPI_UB",
        0x23f => "MPIX_C_FLOAT16",
        _ => "",
    }
}
