//! The parts of the two headers that no table contains: types, callbacks, versions.

/// Beginning of the standard header.
pub const STANDARD_HEAD: &str = r#"/* mpi.h of the standard ABI (MPI 5.0, chapter 20), for libmpi_abi.so.1.
 *
 * Written by `cargo run -p xtask -- codegen` from the tables in api/; do not edit.
 */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1
#define MPI_ABI_SUBVERSION 0

#define TOWPATH 1

#ifdef __cplusplus
extern "C" {
#endif

/* Integers */
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef MPI_Offset MPI_Count;

/* Handles */
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_File *MPI_File;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Win *MPI_Win;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct MPI_T_enum_t *MPI_T_enum;
typedef struct MPI_T_cvar_handle_t *MPI_T_cvar_handle;
typedef struct MPI_T_pvar_handle_t *MPI_T_pvar_handle;
typedef struct MPI_T_pvar_session_t *MPI_T_pvar_session;
typedef struct MPI_T_event_registration_t *MPI_T_event_registration;
typedef struct MPI_T_event_instance_t *MPI_T_event_instance;

typedef struct {
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
    int MPI_internal[5];
} MPI_Status;
"#;

/// Types of the standard ABI that follow the constants in the header.
pub const STANDARD_TYPES: &str = r#"typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE = 0,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED = 3,
    MPI_T_CB_REQUIRE_THREAD_SAFE = 15,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 63
} MPI_T_cb_safety;
typedef enum MPI_T_source_order { MPI_T_SOURCE_ORDERED = 1, MPI_T_SOURCE_UNORDERED = 2 } MPI_T_source_order;
"#;

/// Types of callbacks, the same in both ABIs.
pub const CALLBACKS: &str = r#"
/* Functions that programs hand over */
typedef void(MPI_User_function)(void *input, void *inout, int *count, MPI_Datatype *datatype);
typedef void(MPI_User_function_c)(void *input, void *inout, MPI_Count *count, MPI_Datatype *datatype);
typedef int(MPI_Comm_copy_attr_function)(MPI_Comm comm, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
typedef int(MPI_Comm_delete_attr_function)(MPI_Comm comm, int keyval, void *value, void *extra_state);
typedef int(MPI_Type_copy_attr_function)(MPI_Datatype datatype, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
typedef int(MPI_Type_delete_attr_function)(MPI_Datatype datatype, int keyval, void *value, void *extra_state);
typedef int(MPI_Win_copy_attr_function)(MPI_Win win, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
typedef int(MPI_Win_delete_attr_function)(MPI_Win win, int keyval, void *value, void *extra_state);
typedef MPI_Comm_copy_attr_function MPI_Copy_function;
typedef MPI_Comm_delete_attr_function MPI_Delete_function;
typedef void(MPI_Comm_errhandler_function)(MPI_Comm *comm, int *error_code, ...);
typedef void(MPI_File_errhandler_function)(MPI_File *file, int *error_code, ...);
typedef void(MPI_Win_errhandler_function)(MPI_Win *win, int *error_code, ...);
typedef void(MPI_Session_errhandler_function)(MPI_Session *session, int *error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Comm_errhandler_fn;
typedef MPI_File_errhandler_function MPI_File_errhandler_fn;
typedef MPI_Win_errhandler_function MPI_Win_errhandler_fn;
typedef MPI_Session_errhandler_function MPI_Session_errhandler_fn;
typedef int(MPI_Grequest_query_function)(void *extra_state, MPI_Status *status);
typedef int(MPI_Grequest_free_function)(void *extra_state);
typedef int(MPI_Grequest_cancel_function)(void *extra_state, int complete);
typedef int(MPI_Datarep_extent_function)(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);
typedef int(MPI_Datarep_conversion_function)(void *buffer, MPI_Datatype datatype, int count, void *file_buffer, MPI_Offset position, void *extra_state);
typedef int(MPI_Datarep_conversion_function_c)(void *buffer, MPI_Datatype datatype, MPI_Count count, void *file_buffer, MPI_Offset position, void *extra_state);
typedef void(MPI_T_event_cb_function)(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data);
typedef void(MPI_T_event_free_cb_function)(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *user_data);
typedef void(MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration registration, int source_index, MPI_T_cb_safety safety, void *user_data);

/* Predefined functions of that kind */
#define MPI_NULL_COPY_FN ((MPI_Copy_function *)0)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function *)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_COMM_NULL_DELETE_FN ((MPI_Comm_delete_attr_function *)0)
#define MPI_TYPE_NULL_COPY_FN ((MPI_Type_copy_attr_function *)0)
#define MPI_TYPE_NULL_DELETE_FN ((MPI_Type_delete_attr_function *)0)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)
#define MPI_WIN_NULL_DELETE_FN ((MPI_Win_delete_attr_function *)0)
#define MPI_CONVERSION_FN_NULL ((MPI_Datarep_conversion_function *)0)
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *)0)
"#;

/// Predefined functions of the standard ABI.
pub const STANDARD_FUNCTIONS: &str = r#"#define MPI_DUP_FN ((MPI_Copy_function *)1)
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)1)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function *)1)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)1)
"#;

/// End of the standard header.
pub const STANDARD_TAIL: &str = r#"
#ifdef __cplusplus
}
#endif

#endif
"#;

/// Beginning of the MPICH header.
pub const MPICH_HEAD: &str = r#"/* mpi.h of the MPICH ABI, for libmpi.so.12. With MPI_ABI defined it is the header of the standard ABI instead.
 *
 * Written by `cargo run -p xtask -- codegen` from the tables in api/; do not edit.
 */
#ifdef MPI_ABI
#include "mpi_abi.h"
#else
#ifndef MPI_INCLUDED
#define MPI_INCLUDED

#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0

#define TOWPATH 1

/* The MPICH release whose interface this is */
#define MPICH 1
#define MPICH_NAME 5
#define MPICH_HAS_C2F 1
#define MPICH_VERSION "5.0.2"
#define MPICH_NUMVERSION 50002300
#define MPICH_RELEASE_TYPE_ALPHA 0
#define MPICH_RELEASE_TYPE_BETA 1
#define MPICH_RELEASE_TYPE_RC 2
#define MPICH_RELEASE_TYPE_PATCH 3
#define MPICH_CALC_VERSION(major, minor, revision, type, patch) \
    ((major)*10000000 + (minor)*100000 + (revision)*1000 + (type)*100 + (patch))

#ifdef __cplusplus
extern "C" {
#endif

/* Integers */
typedef long MPI_Aint;
typedef int MPI_Fint;
typedef long long MPI_Count;
typedef long long MPI_Offset;
#define MPI_AINT_FMT_DEC_SPEC "%ld"
#define MPI_AINT_FMT_HEX_SPEC "%lx"

/* Handles */
typedef int MPI_Comm;
typedef int MPI_Group;
typedef int MPI_Datatype;
typedef struct ADIOI_FileD *MPI_File;
typedef int MPI_Errhandler;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Win;
typedef int MPI_Request;
typedef int MPI_Message;
typedef int MPI_Session;
typedef int MPIX_Stream;
typedef int MPIX_Grequest_class;
typedef struct MPIR_Async_thing *MPIX_Async_thing;
typedef struct MPIR_T_enum_s *MPI_T_enum;
typedef struct MPIR_T_cvar_handle_s *MPI_T_cvar_handle;
typedef struct MPIR_T_pvar_handle_s *MPI_T_pvar_handle;
typedef struct MPIR_T_pvar_session_s *MPI_T_pvar_session;
typedef struct MPIR_T_event_registration_s *MPI_T_event_registration;
typedef struct MPIR_T_event_instance_s *MPI_T_event_instance;

typedef struct MPI_Status {
    int count_lo;
    int count_hi_and_cancelled;
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
} MPI_Status;

typedef struct {
    MPI_Fint count_lo;
    MPI_Fint count_hi_and_cancelled;
    MPI_Fint MPI_SOURCE;
    MPI_Fint MPI_TAG;
    MPI_Fint MPI_ERROR;
} MPI_F08_status;

typedef struct MPIX_Iov {
    void *iov_base;
    MPI_Aint iov_len;
} MPIX_Iov;
"#;

/// Types of the MPICH ABI that follow the constants in the header.
pub const MPICH_TYPES: &str = r#"typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE = 0,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE
} MPI_T_cb_safety;
typedef enum MPI_T_source_order { MPI_T_SOURCE_ORDERED = 0, MPI_T_SOURCE_UNORDERED } MPI_T_source_order;

/* Fortran's MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE */
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;
"#;

/// Predefined functions and extensions of the MPICH ABI.
pub const MPICH_FUNCTIONS: &str = r#"int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
#define MPI_DUP_FN MPIR_Dup_fn
#define MPI_COMM_DUP_FN ((MPI_Comm_copy_attr_function *)MPIR_Dup_fn)
#define MPI_TYPE_DUP_FN ((MPI_Type_copy_attr_function *)MPIR_Dup_fn)
#define MPI_WIN_DUP_FN ((MPI_Win_copy_attr_function *)MPIR_Dup_fn)

/* Functions of the MPI-1 interface and of MPICH's extensions */
typedef void(MPI_Handler_function)(MPI_Comm *comm, int *error_code, ...);
typedef void(MPIX_User_function_x)(void *input, void *inout, MPI_Count count, MPI_Datatype datatype, void *extra_state);
typedef void(MPIX_Destructor_function)(void *extra_state);
typedef void(MPIX_Comm_errhandler_function_x)(MPI_Comm comm, int error_code, void *extra_state);
typedef void(MPIX_File_errhandler_function_x)(MPI_File file, int error_code, void *extra_state);
typedef void(MPIX_Win_errhandler_function_x)(MPI_Win win, int error_code, void *extra_state);
typedef void(MPIX_Session_errhandler_function_x)(MPI_Session session, int error_code, void *extra_state);
typedef int(MPIX_Grequest_poll_function)(void *extra_state, MPI_Status *status);
typedef int(MPIX_Grequest_wait_function)(int count, void **states, double timeout, MPI_Status *status);
typedef int(MPIX_Async_poll_function)(MPIX_Async_thing thing);
"#;

/// End of the MPICH header.
pub const MPICH_TAIL: &str = r#"
#ifdef __cplusplus
}
#endif

#endif
#endif
"#;
