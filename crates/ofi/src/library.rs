//! libfabric, opened at run time: the functions that are used, behind safe methods, and what
//! providers offer.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use towpath_machine::library::{self, loader_error};

use super::abi::{
    ADDRESSES_TABLE, DuplicateInfo, ENDPOINT_RDM, ErrorText, FreeInfo, GetInfo, GetVersion, Info, ORDER_SENDS,
    OpenFabric, PROGRESS_MANUAL, RESOURCES_MANAGED, THREAD_DOMAIN, VERSION, cap, memory, mode,
};

/// As the loader finds it.
const USUAL_NAME: &str = "libfabric.so.1";

/// The functions of an opened library. It stays open for ever: providers have threads and handlers
/// of their own.
#[derive(Clone, Copy)]
pub(super) struct Library {
    get_info: GetInfo,
    free_info: FreeInfo,
    duplicate_info: DuplicateInfo,
    pub(super) open_fabric: OpenFabric,
    error_text: ErrorText,
    version: GetVersion,
}

impl Library {
    /// Opens the library with this path, or the one that the loader finds.
    ///
    /// # Errors
    /// The loader's words, or which function is missing.
    pub(super) fn open(path: Option<&str>) -> Result<Library, String> {
        let name = path.unwrap_or(USUAL_NAME);
        let name = CString::new(name).map_err(|_| "its name holds a zero byte".to_owned())?;
        // SAFETY: the name ends with a zero byte; what the library does when it is loaded is its
        // maker's business.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(loader_error());
        }
        // SAFETY: each function has the type that libfabric's headers give it in that version.
        unsafe {
            Ok(Library {
                get_info: std::mem::transmute::<*mut c_void, GetInfo>(symbol(handle, c"fi_getinfo", c"FABRIC_1.3")?),
                free_info: std::mem::transmute::<*mut c_void, FreeInfo>(symbol(handle, c"fi_freeinfo", c"FABRIC_1.3")?),
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
                version: std::mem::transmute::<*mut c_void, GetVersion>(symbol(handle, c"fi_version", c"FABRIC_1.0")?),
            })
        }
    }

    /// The library's version.
    pub(super) fn version(&self) -> (u32, u32) {
        // SAFETY: takes nothing.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }

    /// The file that it was loaded from, where the loader knows.
    pub(super) fn path(&self) -> Option<String> {
        let mut place = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: an address of the library; the loader fills in what it knows, and zeros are valid
        // for the rest.
        let place = unsafe {
            libc::dladdr(self.version as *const c_void, place.as_mut_ptr());
            place.assume_init()
        };
        Some(text(place.dli_fname)).filter(|path| !path.is_empty())
    }

    /// What an error number (without its sign) means.
    pub(super) fn error(&self, code: c_int) -> String {
        // SAFETY: takes any number and gives a text that is never freed.
        let text = unsafe { (self.error_text)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: a text of the library, ended by a zero byte.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Everything that can carry this wire, in the library's order of preference; of one provider
    /// where it is named.
    ///
    /// # Errors
    /// The library's words.
    pub(super) fn offers(&self, provider: Option<&str>) -> Result<Vec<Offer>, String> {
        let provider = provider.map(|name| CString::new(name).map_err(|_| "the name holds a zero byte".to_owned()));
        let provider = provider.transpose()?;
        // SAFETY: without a model the library makes a structure whose parts are all there and zero.
        let hints = unsafe { (self.duplicate_info)(std::ptr::null()) };
        if hints.is_null() {
            return Err("no memory".to_owned());
        }
        let hints = Offer { library: *self, info: hints };
        // SAFETY: the structure and its parts are as the library made them, and ours.
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
            domain.mr_mode =
                memory::LOCAL | memory::VIRTUAL_ADDRESS | memory::ALLOCATED | memory::PROVIDER_KEY | memory::ENDPOINT;
            if let Some(name) = &provider {
                // The library frees it with the rest.
                (*info.fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
        }
        // SAFETY: the hints are whole.
        unsafe { self.list(hints.info) }
    }

    /// Everything that the library has, in its order of preference, whatever it is good for.
    ///
    /// # Errors
    /// The library's words.
    pub(super) fn everything(&self) -> Result<Vec<Offer>, String> {
        // SAFETY: no hints ask for everything.
        unsafe { self.list(std::ptr::null_mut()) }
    }

    /// What the library has by these hints.
    ///
    /// # Safety
    /// None, or whole ones.
    unsafe fn list(&self, hints: *mut Info) -> Result<Vec<Offer>, String> {
        let mut list: *mut Info = std::ptr::null_mut();
        // SAFETY: the caller vouches for the hints; the library writes a list of its own.
        let code = unsafe { (self.get_info)(VERSION, std::ptr::null(), std::ptr::null(), 0, hints, &mut list) };
        if code == -libc::ENODATA {
            return Ok(Vec::new());
        }
        if code != 0 {
            return Err(self.error(-code));
        }
        let mut offers = Vec::new();
        let mut next = list;
        while !next.is_null() {
            // SAFETY: an element of the library's list; a copy is whole and ours.
            let info = unsafe { (self.duplicate_info)(next) };
            if !info.is_null() {
                offers.push(Offer { library: *self, info });
            }
            // SAFETY: as above.
            next = unsafe { (*next).next };
        }
        // SAFETY: the library's list, used no more.
        unsafe { (self.free_info)(list) };
        Ok(offers)
    }
}

/// One way through a fabric, as a provider describes it.
pub(super) struct Offer {
    pub(super) library: Library,
    pub(super) info: *mut Info,
}

impl Offer {
    fn info(&self) -> &Info {
        // SAFETY: made by the library, whole, and ours until it is dropped.
        unsafe { &*self.info }
    }

    /// The provider's name, as `tcp` or `verbs;ofi_rxm`.
    pub(super) fn provider(&self) -> String {
        // SAFETY: a part of the structure.
        text(unsafe { (*self.info().fabric_attr).prov_name })
    }

    /// The fabric's name.
    pub(super) fn fabric(&self) -> String {
        // SAFETY: a part of the structure.
        text(unsafe { (*self.info().fabric_attr).name })
    }

    /// The domain's name: mostly that of a device.
    pub(super) fn domain(&self) -> String {
        // SAFETY: a part of the structure.
        text(unsafe { (*self.info().domain_attr).name })
    }

    /// The address of the own side where it is one of the Internet's.
    pub(super) fn address(&self) -> Option<std::net::IpAddr> {
        let info = self.info();
        if info.src_addr.is_null() {
            return None;
        }
        match info.addr_format {
            super::abi::ADDRESS_IPV4 if info.src_addrlen >= size_of::<libc::sockaddr_in>() => {
                // SAFETY: the format and the length say so; the address may lie anywhere.
                let address = unsafe { info.src_addr.cast::<libc::sockaddr_in>().read_unaligned() };
                Some(std::net::Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
            }
            super::abi::ADDRESS_IPV6 if info.src_addrlen >= size_of::<libc::sockaddr_in6>() => {
                // SAFETY: as above.
                let address = unsafe { info.src_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
                Some(std::net::Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { (self.library.free_info)(self.info) }
    }
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: a text of a structure that the library has filled, ended by a zero byte.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// A function in the version whose structures are declared here; in the usual one where the library
/// has no versions.
///
/// # Safety
/// An open library.
unsafe fn symbol(handle: *mut c_void, name: &CStr, version: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is open by the caller's word; the names end with a zero byte.
    let found = unsafe { libc::dlvsym(handle, name.as_ptr(), version.as_ptr()) };
    // SAFETY: as above.
    if found.is_null() { unsafe { library::symbol(handle, name) } } else { Ok(found) }
}
