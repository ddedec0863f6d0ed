//! Tool information interface (15.3).
//!
//! Written by `cargo run -p xtask -- codegen` from api/functions.toml; do not edit.

#![allow(unused_imports, unused_variables, unused_unsafe, clippy::useless_conversion)]

use crate::prelude::*;

export! {
    PMPI_T_category_changed, MPI_T_category_changed(update_number: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(437, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_categories, MPI_T_category_get_categories(
        cat_index: c_int,
        len: c_int,
        indices: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(438, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_cvars, MPI_T_category_get_cvars(
        cat_index: c_int,
        len: c_int,
        indices: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(439, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_events, MPI_T_category_get_events(
        cat_index: c_int,
        len: c_int,
        indices: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(440, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_index, MPI_T_category_get_index(
        name: *const c_char,
        cat_index: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(441, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_info, MPI_T_category_get_info(
        cat_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        num_cvars: *mut c_int,
        num_pvars: *mut c_int,
        num_categories: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(442, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_num, MPI_T_category_get_num(num_cat: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(443, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_num_events, MPI_T_category_get_num_events(
        cat_index: c_int,
        num_events: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(444, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_category_get_pvars, MPI_T_category_get_pvars(
        cat_index: c_int,
        len: c_int,
        indices: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(445, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_get_index, MPI_T_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(446, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_get_info, MPI_T_cvar_get_info(
        cvar_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        datatype: *mut MPI_Datatype,
        enumtype: *mut *mut c_void,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
        scope: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(447, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_get_num, MPI_T_cvar_get_num(num_cvar: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(448, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_handle_alloc, MPI_T_cvar_handle_alloc(
        cvar_index: c_int,
        obj_handle: *mut c_void,
        handle: *mut *mut c_void,
        count: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(449, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_handle_free, MPI_T_cvar_handle_free(handle: *mut *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(450, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_read, MPI_T_cvar_read(handle: *mut c_void, buf: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(451, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_cvar_write, MPI_T_cvar_write(handle: *mut c_void, buf: *const c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(452, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_enum_get_info, MPI_T_enum_get_info(
        enumtype: *mut c_void,
        num: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(453, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_enum_get_item, MPI_T_enum_get_item(
        enumtype: *mut c_void,
        indx: c_int,
        value: *mut c_int,
        name: *mut c_char,
        name_len: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(454, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_callback_get_info, MPI_T_event_callback_get_info(
        event_registration: *mut c_void,
        cb_safety: c_int,
        info_used: *mut MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(455, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_callback_set_info, MPI_T_event_callback_set_info(
        event_registration: *mut c_void,
        cb_safety: c_int,
        info: MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(456, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_copy, MPI_T_event_copy(event_instance: *mut c_void, buffer: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(457, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_get_index, MPI_T_event_get_index(name: *const c_char, event_index: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(458, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_get_info, MPI_T_event_get_info(
        event_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        array_of_datatypes: *mut MPI_Datatype,
        array_of_displacements: *mut i64,
        num_elements: *mut c_int,
        enumtype: *mut *mut c_void,
        info: *mut MPI_Info,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(459, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_get_num, MPI_T_event_get_num(num_events: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(460, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_get_source, MPI_T_event_get_source(
        event_instance: *mut c_void,
        source_index: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(461, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_get_timestamp, MPI_T_event_get_timestamp(
        event_instance: *mut c_void,
        event_timestamp: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(462, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_handle_alloc, MPI_T_event_handle_alloc(
        event_index: c_int,
        obj_handle: *mut c_void,
        info: MPI_Info,
        event_registration: *mut *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(463, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_handle_free, MPI_T_event_handle_free(
        event_registration: *mut c_void,
        user_data: *mut c_void,
        free_cb_function: *const c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(464, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_handle_get_info, MPI_T_event_handle_get_info(
        event_registration: *mut c_void,
        info_used: *mut MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(465, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_handle_set_info, MPI_T_event_handle_set_info(
        event_registration: *mut c_void,
        info: MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(466, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_read, MPI_T_event_read(
        event_instance: *mut c_void,
        element_index: c_int,
        buffer: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(467, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_register_callback, MPI_T_event_register_callback(
        event_registration: *mut c_void,
        cb_safety: c_int,
        info: MPI_Info,
        user_data: *mut c_void,
        event_cb_function: *const c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(468, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_event_set_dropped_handler, MPI_T_event_set_dropped_handler(
        event_registration: *mut c_void,
        dropped_cb_function: *const c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(469, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_finalize, MPI_T_finalize() {
        let owner = || ErrhandlerOwner::None;
        call_any_time(470, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_init_thread, MPI_T_init_thread(required: c_int, provided: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(471, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_get_index, MPI_T_pvar_get_index(
        name: *const c_char,
        var_class: c_int,
        pvar_index: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(472, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_get_info, MPI_T_pvar_get_info(
        pvar_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        verbosity: *mut c_int,
        var_class: *mut c_int,
        datatype: *mut MPI_Datatype,
        enumtype: *mut *mut c_void,
        desc: *mut c_char,
        desc_len: *mut c_int,
        bind: *mut c_int,
        readonly: *mut c_int,
        continuous: *mut c_int,
        atomic: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(473, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_get_num, MPI_T_pvar_get_num(num_pvar: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(474, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_handle_alloc, MPI_T_pvar_handle_alloc(
        session: *mut c_void,
        pvar_index: c_int,
        obj_handle: *mut c_void,
        handle: *mut *mut c_void,
        count: *mut c_int,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(475, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_handle_free, MPI_T_pvar_handle_free(
        session: *mut c_void,
        handle: *mut *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(476, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_read, MPI_T_pvar_read(
        session: *mut c_void,
        handle: *mut c_void,
        buf: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(477, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_readreset, MPI_T_pvar_readreset(
        session: *mut c_void,
        handle: *mut c_void,
        buf: *mut c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(478, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_reset, MPI_T_pvar_reset(session: *mut c_void, handle: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(479, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_session_create, MPI_T_pvar_session_create(session: *mut *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(480, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_session_free, MPI_T_pvar_session_free(session: *mut *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(481, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_start, MPI_T_pvar_start(session: *mut c_void, handle: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(482, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_stop, MPI_T_pvar_stop(session: *mut c_void, handle: *mut c_void) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(483, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_pvar_write, MPI_T_pvar_write(
        session: *mut c_void,
        handle: *mut c_void,
        buf: *const c_void,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(484, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_source_get_info, MPI_T_source_get_info(
        source_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        ordering: *mut c_int,
        ticks_per_second: *mut i64,
        max_ticks: *mut i64,
        info: *mut MPI_Info,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(485, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_source_get_num, MPI_T_source_get_num(num_sources: *mut c_int) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(486, owner, || Err(not_built()))
    }
}

export! {
    PMPI_T_source_get_timestamp, MPI_T_source_get_timestamp(
        source_index: c_int,
        timestamp: *mut i64,
    ) {
        let owner = || ErrhandlerOwner::None;
        call_any_time(487, owner, || Err(not_built()))
    }
}
