//! libfabric, loaded at run time: the functions in use, behind safe methods, and what its providers
//! offer.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use towpath_machine::library::{self, loader_error};

use super::abi::{
    ADDRESSES_TABLE, DuplicateInfo, ENDPOINT_RDM, ErrorText, FreeInfo, GetInfo, GetVersion, Info,
    ORDER_SENDS, OpenFabric, PROGRESS_MANUAL, RESOURCES_MANAGED, THREAD_DOMAIN, VERSION, cap,
    memory, mode,
};

/// The name that the dynamic loader searches for.
const USUAL_NAME: &str = "libfabric.so.1";

/// The functions of a loaded library. It is never unloaded, because providers have their own
/// threads and handlers.
#[derive(Clone, Copy)]
pub(super) struct Libfabric {
    get_info: GetInfo,
    free_info: FreeInfo,
    duplicate_info: DuplicateInfo,
    pub(super) open_fabric: OpenFabric,
    error_text: ErrorText,
    version: GetVersion,
}

impl Libfabric {
    /// Loads the library at `path`, or the one that the dynamic loader finds.
    ///
    /// # Errors
    /// The loader's message, or which function is missing.
    pub(super) fn open(path: Option<&str>) -> Result<Libfabric, String> {
        let name = path.unwrap_or(USUAL_NAME);
        let name = CString::new(name).map_err(|_| "its name contains a zero byte".to_owned())?;
        // SAFETY: `name` is a C string. Loading runs the library's initializers, which are trusted.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loader_error());
        }
        // SAFETY: `handle` is an open library, and each function has the type that libfabric's
        // headers declare for that symbol version.
        unsafe {
            Ok(Libfabric {
                get_info: std::mem::transmute::<*mut c_void, GetInfo>(symbol(
                    handle,
                    c"fi_getinfo",
                    c"FABRIC_1.3",
                )?),
                free_info: std::mem::transmute::<*mut c_void, FreeInfo>(symbol(
                    handle,
                    c"fi_freeinfo",
                    c"FABRIC_1.3",
                )?),
                duplicate_info: std::mem::transmute::<*mut c_void, DuplicateInfo>(symbol(
                    handle,
                    c"fi_dupinfo",
                    c"FABRIC_1.3",
                )?),
                open_fabric: std::mem::transmute::<*mut c_void, OpenFabric>(symbol(
                    handle,
                    c"fi_fabric",
                    c"FABRIC_1.1",
                )?),
                error_text: std::mem::transmute::<*mut c_void, ErrorText>(symbol(
                    handle,
                    c"fi_strerror",
                    c"FABRIC_1.0",
                )?),
                version: std::mem::transmute::<*mut c_void, GetVersion>(symbol(
                    handle,
                    c"fi_version",
                    c"FABRIC_1.0",
                )?),
            })
        }
    }

    /// The library's version: major and minor number.
    pub(super) fn version(&self) -> (u32, u32) {
        // SAFETY: `fi_version` takes no arguments.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    /// The file that it was loaded from, if the loader knows.
    pub(super) fn path(&self) -> Option<String> {
        let mut place = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: `dladdr` accepts any address, and writes one `Dl_info` at most. An all-zero
        // `Dl_info` is valid, in case it writes nothing.
        let place = unsafe {
            libc::dladdr(self.version as *const c_void, place.as_mut_ptr());
            place.assume_init()
        };
        Some(text(place.dli_fname)).filter(|path| !path.is_empty())
    }

    /// The text of an error number (without its sign).
    pub(super) fn error(&self, code: c_int) -> String {
        // SAFETY: `fi_strerror` accepts any number and returns a static string.
        let text = unsafe { (self.error_text)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: `text` is not null, so it is a static C string of the library.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// All offers that can carry this wire, in the library's order of preference; only those of
    /// `provider`, if it is given.
    ///
    /// # Errors
    /// The library's message.
    pub(super) fn offers(&self, provider: Option<&str>) -> Result<Vec<Offer>, String> {
        let provider = provider
            .map(|name| CString::new(name).map_err(|_| "the name contains a zero byte".to_owned()));
        let provider = provider.transpose()?;
        // SAFETY: without a model `fi_dupinfo` allocates a structure with all its parts, all zero.
        let hints = unsafe { (self.duplicate_info)(std::ptr::null()) };
        if hints.is_null() {
            return Err("no memory".to_owned());
        }
        let hints = Offer { library: *self, info: hints };
        // SAFETY: `hints.info` is not null, complete, and used by nothing else.
        unsafe {
            let info = &mut *hints.info;
            (info.caps, info.mode) = (cap::MSG | cap::RMA, mode::CONTEXT | mode::CONTEXT2);
            (*info.ep_attr).kind = ENDPOINT_RDM;
            (*info.tx_attr).msg_order = ORDER_SENDS;
            (*info.rx_attr).msg_order = ORDER_SENDS;
            let domain = &mut *info.domain_attr;
            domain.threading = THREAD_DOMAIN;
            (domain.control_progress, domain.data_progress) = (PROGRESS_MANUAL, PROGRESS_MANUAL);
            (domain.resource_mgmt, domain.av_type) = (RESOURCES_MANAGED, ADDRESSES_TABLE);
            domain.mr_mode = memory::LOCAL
                | memory::VIRTUAL_ADDRESS
                | memory::ALLOCATED
                | memory::PROVIDER_KEY
                | memory::ENDPOINT;
            if let Some(name) = &provider {
                // `fi_freeinfo` frees it with the rest.
                (*info.fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
        }
        // SAFETY: `hints.info` is a complete structure.
        unsafe { self.list(hints.info) }
    }

    /// All offers of the library, in its order of preference, whatever they support.
    ///
    /// # Errors
    /// The library's message.
    pub(super) fn everything(&self) -> Result<Vec<Offer>, String> {
        // SAFETY: null hints are allowed.
        unsafe { self.list(std::ptr::null_mut()) }
    }

    /// The offers that match `hints`.
    ///
    /// # Safety
    /// `hints` must be null or a complete structure.
    unsafe fn list(&self, hints: *mut Info) -> Result<Vec<Offer>, String> {
        let mut list: *mut Info = std::ptr::null_mut();
        // SAFETY: `hints` is null or complete (this function's contract), and the library stores a
        // list of its own in `list`.
        let code = unsafe {
            (self.get_info)(VERSION, std::ptr::null(), std::ptr::null(), 0, hints, &mut list)
        };
        if code == -libc::ENODATA {
            return Ok(Vec::new());
        }
        if code != 0 {
            return Err(self.error(-code));
        }
        let mut offers = Vec::new();
        let mut next = list;
        while !next.is_null() {
            // SAFETY: `next` is an element of the library's list; `fi_dupinfo` makes a complete
            // copy.
            let info = unsafe { (self.duplicate_info)(next) };
            if !info.is_null() {
                offers.push(Offer { library: *self, info });
            }
            // SAFETY: `next` is an element of the library's list.
            next = unsafe { (*next).next };
        }
        // SAFETY: `list` is the library's list, and is not used any more.
        unsafe { (self.free_info)(list) };
        Ok(offers)
    }
}

/// A provider's description of one way to use a fabric.
pub(super) struct Offer {
    pub(super) library: Libfabric,
    pub(super) info: *mut Info,
}

impl Offer {
    fn info(&self) -> &Info {
        // SAFETY: `info` is a complete structure that `fi_dupinfo` has allocated, freed only in
        // `drop`.
        unsafe { &*self.info }
    }

    /// The provider's name, for example `tcp` or `verbs;ofi_rxm`.
    pub(super) fn provider(&self) -> String {
        // SAFETY: the library allocates `fabric_attr` with every `fi_info`.
        text(unsafe { (*self.info().fabric_attr).prov_name })
    }

    /// The fabric's name.
    pub(super) fn fabric(&self) -> String {
        // SAFETY: the library allocates `fabric_attr` with every `fi_info`.
        text(unsafe { (*self.info().fabric_attr).name })
    }

    /// The domain's name: usually that of a device.
    pub(super) fn domain(&self) -> String {
        // SAFETY: the library allocates `domain_attr` with every `fi_info`.
        text(unsafe { (*self.info().domain_attr).name })
    }

    /// The local address, if it is an IP address.
    pub(super) fn address(&self) -> Option<std::net::IpAddr> {
        let info = self.info();
        if info.src_addr.is_null() {
            return None;
        }
        match info.addr_format {
            super::abi::ADDRESS_IPV4 if info.src_addrlen >= size_of::<libc::sockaddr_in>() => {
                // SAFETY: `src_addr` points to a `sockaddr_in` (its format and length), which may
                // be unaligned.
                let address = unsafe { info.src_addr.cast::<libc::sockaddr_in>().read_unaligned() };
                Some(std::net::Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
            }
            super::abi::ADDRESS_IPV6 if info.src_addrlen >= size_of::<libc::sockaddr_in6>() => {
                // SAFETY: `src_addr` points to a `sockaddr_in6` (its format and length), which may
                // be unaligned.
                let address =
                    unsafe { info.src_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
                Some(std::net::Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: `info` was allocated by `fi_dupinfo` and is freed only here.
        unsafe { (self.library.free_info)(self.info) }
    }
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: `pointer` is not null; all callers pass a C string of a structure that the library
    // has filled in.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A function in the symbol version whose structures are declared here, or in the default version
/// if the library has no symbol versions.
///
/// # Safety
/// `handle` must be an open library.
unsafe fn symbol(handle: *mut c_void, name: &CStr, version: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: `handle` is an open library (this function's contract), and the names are C strings.
    let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    // SAFETY: `handle` is an open library (this function's contract).
    if found.is_null() { unsafe { library::symbol(handle, name) } } else { Ok(found) }
}
