//! Memory allocation kinds (MPI 5.0, section 11.4.3, and the side document "Memory Allocation
//! Kinds" of MPI 4.1): which are known, which a list names, which were requested when the program
//! was started, and which are supported.

use std::sync::OnceLock;

use towpath_base::config;

/// The kinds that every program has without a request.
const DEFAULT: &str = "system,mpi";
/// The further kinds where the program can pass CUDA memory.
const CUDA: &str = "cuda:device,cuda:host,cuda:managed";

/// Each kind with its restrictors, which may follow it in a request.
const KINDS: [(&str, &[&str]); 3] =
    [("system", &[]), ("mpi", &["alloc_mem"]), ("cuda", &["device", "host", "managed"])];

/// The kinds that were requested, by `mpiexec -memory-alloc-kinds` or a setting.
pub fn requested() -> String {
    config::setting("TOWPATH_MEMORY_ALLOC_KINDS").unwrap_or_else(|| DEFAULT.to_owned())
}

/// The kinds that are supported. Determined once, since the answer must not change while MPI runs.
pub fn supported() -> &'static str {
    static SUPPORTED: OnceLock<String> = OnceLock::new();
    SUPPORTED.get_or_init(|| supported_of(&requested(), crate::cuda_is_supported()))
}

/// True if each kind in a list is supported.
pub fn are_supported(list: &str) -> bool {
    are_among(list, supported())
}

/// True if all kinds of a list are among the supported ones, or are those in other words.
fn are_among(list: &str, supported: &str) -> bool {
    let cuda = kinds_of(supported).any(|kind| kind.starts_with("cuda:"));
    kinds_of(list).all(|kind| is_supported(kind, cuda))
}

fn kinds_of(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|kind| !kind.is_empty())
}

/// The kinds that need no request, and those of the request that are supported and written in
/// another way. `cuda`: whether the program can pass CUDA memory.
fn supported_of(requested: &str, cuda: bool) -> String {
    let mut all: Vec<&str> = kinds_of(DEFAULT).collect();
    if cuda {
        all.extend(kinds_of(CUDA));
    }
    for kind in kinds_of(requested).filter(|kind| is_supported(kind, cuda)) {
        if !all.contains(&kind) {
            all.push(kind);
        }
    }
    all.join(",")
}

fn is_supported(kind: &str, cuda: bool) -> bool {
    let mut words = kind.split(':');
    let name = words.next().unwrap_or_default();
    let Some((_, restrictors)) = KINDS.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    (cuda || name != "cuda") && words.all(|word| restrictors.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_no_request_is_always_there() {
        assert_eq!(supported_of("", false), "system,mpi");
        assert_eq!(supported_of("mpi", true), "system,mpi,cuda:device,cuda:host,cuda:managed");
    }

    #[test]
    fn a_request_is_answered_in_its_own_words() {
        let request = "cuda, mpi:alloc_mem,cuda:device,rocm,cuda:texture,mpi:win_allocate";
        let answer = supported_of(request, true);
        assert_eq!(answer, "system,mpi,cuda:device,cuda:host,cuda:managed,cuda,mpi:alloc_mem");
        assert_eq!(supported_of("cuda,cuda:host,system:fast", false), "system,mpi");
    }
}
