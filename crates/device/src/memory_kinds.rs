//! Memory allocation kinds (MPI 5.0, section 11.4.3, and the side document "Memory Allocation
//! Kinds" of MPI 4.1): which are known, which a list names, which were requested when the program
//! was started, and which are supported.

use std::sync::OnceLock;

use towpath_base::config;

use crate::api::Api;

/// The kinds that every program has without a request.
const DEFAULT: &str = "system,mpi";
/// The restrictors of memory of devices.
const OF_DEVICES: &[&str] = &["device", "host", "managed"];

/// Each kind with its restrictors, which may follow it in a request, and the API that a program
/// must be able to use for it.
const KINDS: [(&str, &[&str], Option<Api>); 4] = [
    ("system", &[], None),
    ("mpi", &["alloc_mem"], None),
    ("cuda", OF_DEVICES, Some(Api::Cuda)),
    ("rocm", OF_DEVICES, Some(Api::Hip)),
];

/// The kinds that were requested, by `mpiexec -memory-alloc-kinds` or a setting.
pub fn requested() -> String {
    config::setting("TOWPATH_MEMORY_ALLOC_KINDS").unwrap_or_else(|| DEFAULT.to_owned())
}

/// The kinds that are supported. Determined once, since the answer must not change while MPI runs.
pub fn supported() -> &'static str {
    static SUPPORTED: OnceLock<String> = OnceLock::new();
    SUPPORTED.get_or_init(|| supported_of(&requested(), &usable()))
}

/// The APIs whose memory the program can pass.
fn usable() -> Vec<Api> {
    [Api::Cuda, Api::Hip].into_iter().filter(|&api| crate::is_supported(api)).collect()
}

/// True if each kind in a list is supported.
pub fn are_supported(list: &str) -> bool {
    are_among(list, supported())
}

/// True if all kinds of a list are among the supported ones, or are those in other words.
fn are_among(list: &str, supported: &str) -> bool {
    let is_there =
        |name: &str| kinds_of(supported).any(|kind| kind.split(':').next() == Some(name));
    let usable = KINDS.iter().filter(|kind| is_there(kind.0)).filter_map(|kind| kind.2);
    let usable: Vec<Api> = usable.collect();
    kinds_of(list).all(|kind| is_supported(kind, &usable))
}

fn kinds_of(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

/// The kinds that need no request, and those of the request that are supported and written in
/// another way. `usable` are the APIs whose memory the program can pass.
fn supported_of(requested: &str, usable: &[Api]) -> String {
    let mut all: Vec<String> = kinds_of(DEFAULT).map(str::to_owned).collect();
    for (name, restrictors, api) in KINDS {
        if api.is_some_and(|api| usable.contains(&api)) {
            all.extend(restrictors.iter().map(|restrictor| format!("{name}:{restrictor}")));
        }
    }
    for kind in kinds_of(requested).filter(|kind| is_supported(kind, usable)) {
        if !all.iter().any(|known| known == kind) {
            all.push(kind.to_owned());
        }
    }
    all.join(",")
}

fn is_supported(kind: &str, usable: &[Api]) -> bool {
    let mut words = kind.split(':');
    let name = words.next().unwrap_or_default();
    let Some((_, restrictors, api)) = KINDS.iter().find(|(known, ..)| *known == name) else {
        return false;
    };
    api.is_none_or(|api| usable.contains(&api)) && words.all(|word| restrictors.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_request_is_always_there() {
        assert_eq!(supported_of("", &[]), "system,mpi");
        let cuda = "system,mpi,cuda:device,cuda:host,cuda:managed";
        assert_eq!(supported_of("mpi", &[Api::Cuda]), cuda);
        let rocm = "system,mpi,rocm:device,rocm:host,rocm:managed";
        assert_eq!(supported_of("cuda", &[Api::Hip]), rocm);
    }

    #[test]
    fn a_request_is_answered_in_its_own_words() {
        let request = "cuda, mpi:alloc_mem,cuda:device,rocm,cuda:texture,mpi:win_allocate";
        let answer = supported_of(request, &[Api::Cuda]);
        assert_eq!(answer, "system,mpi,cuda:device,cuda:host,cuda:managed,cuda,mpi:alloc_mem");
        assert_eq!(supported_of("cuda,cuda:host,system:fast", &[]), "system,mpi");
    }
}
