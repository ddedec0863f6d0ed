//! The resources of this host that processors share, from the package down to the hardware thread,
//! as the kernel lists them under `/sys/devices/system`. Resources that the kernel does not list
//! are treated as absent.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cores::{self, Mask};

const SYSTEM: &str = "/sys/devices/system";

/// A kind of resource; its instances are sets of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The processor package in one socket.
    Package,
    /// Processors and their local memory.
    NumaNode,
    /// A third-level cache.
    L3Cache,
    /// A second-level cache.
    L2Cache,
    /// A core with all its hardware threads.
    Core,
    /// One logical processor.
    HardwareThread,
}

/// All kinds, largest first.
pub const RESOURCES: [Resource; 6] = [
    Resource::Package,
    Resource::NumaNode,
    Resource::L3Cache,
    Resource::L2Cache,
    Resource::Core,
    Resource::HardwareThread,
];

impl Resource {
    /// The name, as one lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Package => "package",
            Resource::NumaNode => "numanode",
            Resource::L3Cache => "l3cache",
            Resource::L2Cache => "l2cache",
            Resource::Core => "core",
            Resource::HardwareThread => "hwthread",
        }
    }

    /// The instance that contains all processors of `mask`, identified by its lowest processor.
    /// `None` if the mask spans several instances or is empty, or if the kernel lists no such
    /// resource. Reads files on each call; [`Instances`] caches the results.
    pub fn instance_of(self, mask: &Mask) -> Option<usize> {
        self.instance_below(Path::new(SYSTEM), mask)
    }

    fn instance_below(self, system: &Path, mask: &Mask) -> Option<usize> {
        let first = *cores::listed(mask).first()?;
        let processors = self.processors(system, first)?;
        let inside =
            mask.iter().zip(&cores::mask_of(&processors)).all(|(mine, all)| mine & !all == 0);
        if inside { processors.iter().min().copied() } else { None }
    }

    /// The processors of the instance that contains `processor`.
    fn processors(self, system: &Path, processor: usize) -> Option<Vec<usize>> {
        let home = system.join(format!("cpu/cpu{processor}"));
        match self {
            Resource::Package => list_of(&home.join("topology/package_cpus_list"))
                .or_else(|| list_of(&home.join("topology/core_siblings_list"))),
            Resource::NumaNode => {
                let entries = fs::read_dir(&home).ok()?.flatten();
                let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
                let node = names.find(|name| {
                    name.strip_prefix("node").is_some_and(|rest| rest.parse::<u32>().is_ok())
                })?;
                list_of(&system.join(format!("node/{node}/cpulist")))
            }
            Resource::L3Cache => list_of(&cache(&home, "3")?.join(SHARED_BY)),
            Resource::L2Cache => list_of(&cache(&home, "2")?.join(SHARED_BY)),
            Resource::Core => list_of(&home.join("topology/core_cpus_list"))
                .or_else(|| list_of(&home.join("topology/thread_siblings_list"))),
            Resource::HardwareThread => Some(vec![processor]),
        }
    }
}

/// Caches the instances of a mask. The kernel's topology does not change, so its files are read
/// only when the mask differs from the previous one.
#[derive(Debug, Default)]
pub struct Instances {
    known: Option<(Mask, OfEach)>,
}

/// The instance of each of [`RESOURCES`], as returned by [`Resource::instance_of`].
pub type OfEach = [Option<usize>; RESOURCES.len()];

impl Instances {
    /// The instances that contain all processors of `mask`.
    pub fn of(&mut self, mask: &Mask) -> OfEach {
        self.of_below(Path::new(SYSTEM), mask)
    }

    fn of_below(&mut self, system: &Path, mask: &Mask) -> OfEach {
        match &self.known {
            Some((known, instances)) if known == mask => *instances,
            _ => {
                let instances = RESOURCES.map(|resource| resource.instance_below(system, mask));
                self.known = Some((*mask, instances));
                instances
            }
        }
    }
}

/// The data caches of the first core, taken as typical for all cores: data that two cores exchange
/// passes through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// Size in bytes of the second-level cache, which is private to a core.
    pub private: usize,
    /// Size in bytes of the third-level cache, divided by the number of second-level
    /// caches that share it.
    pub share: usize,
}

impl Caches {
    /// Reads the sizes from the kernel's files; `None` if a level is missing.
    pub fn of_first_core() -> Option<Caches> {
        Caches::below(Path::new(SYSTEM))
    }

    fn below(system: &Path) -> Option<Caches> {
        let home = system.join("cpu/cpu0");
        let level = |level| {
            let cache = cache(&home, level)?;
            let size = fs::read_to_string(cache.join("size")).ok()?;
            let kibibytes: usize = size.trim().strip_suffix('K')?.parse().ok()?;
            Some((kibibytes.checked_mul(1024)?, list_of(&cache.join(SHARED_BY))?.len()))
        };
        let ((private, threads), (shared, all)) = (level("2")?, level("3")?);
        Some(Caches { private, share: shared / all.div_ceil(threads.max(1)).max(1) })
    }
}

/// File that lists the processors that share a cache.
const SHARED_BY: &str = "shared_cpu_list";

/// The directory of a processor's data cache at a level.
fn cache(home: &Path, level: &str) -> Option<PathBuf> {
    let indices = fs::read_dir(home.join("cache")).ok()?.flatten().map(|entry| entry.path());
    let says = |path: &Path, what: &str| {
        fs::read_to_string(path.join(what)).unwrap_or_default().trim().to_owned()
    };
    let mut wanted =
        indices.filter(|path| says(path, "level") == level && says(path, "type") != "Instruction");
    wanted.next()
}

fn list_of(path: &Path) -> Option<Vec<usize>> {
    parse(fs::read_to_string(path).ok()?.trim())
}

/// A longer range is an error: no machine has that many processors.
const LONGEST_RANGE: usize = 1 << 20;

/// Parses the kernel's list format: "0-3,8".
pub(crate) fn parse(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for range in text.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let (low, high) = (low.parse::<usize>().ok()?, high.parse::<usize>().ok()?);
        if high.saturating_sub(low) > LONGEST_RANGE {
            return None;
        }
        all.extend(low..=high);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two packages of two cores with two threads each; processors n and n + 4 share a core, and
    /// each package has its own cache.
    fn made_up() -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |path: String, text: String| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text + "\n").expect("room");
        };
        for cpu in 0..8 {
            let package = cpu % 4 / 2;
            let all = format!(
                "{}-{},{}-{}",
                package * 2,
                package * 2 + 1,
                package * 2 + 4,
                package * 2 + 5
            );
            write(format!("cpu/cpu{cpu}/topology/package_cpus_list"), all.clone());
            write(
                format!("cpu/cpu{cpu}/topology/thread_siblings_list"),
                format!("{},{}", cpu % 4, cpu % 4 + 4),
            );
            write(format!("cpu/cpu{cpu}/cache/index1/level"), "3".into());
            write(format!("cpu/cpu{cpu}/cache/index1/type"), "Unified".into());
            write(format!("cpu/cpu{cpu}/cache/index1/shared_cpu_list"), all.clone());
            write(format!("cpu/cpu{cpu}/node{package}/x"), String::new());
            write(format!("node/node{package}/cpulist"), all);
        }
        directory
    }

    #[test]
    fn a_mask_is_inside_the_instances_that_hold_all_of_it() {
        let directory = made_up();
        let ask = |cpus: &[usize]| {
            RESOURCES.map(|kind| kind.instance_below(directory.path(), &cores::mask_of(cpus)))
        };
        assert_eq!(ask(&[7]), [Some(2), Some(2), Some(2), None, Some(3), Some(7)]);
        assert_eq!(ask(&[3, 7]), [Some(2), Some(2), Some(2), None, Some(3), None]);
        assert_eq!(ask(&[0, 5]), [Some(0), Some(0), Some(0), None, None, None]);
        assert_eq!(ask(&[0, 2]), [None; 6]);
        assert_eq!(ask(&[]), [None; 6]);
        assert_eq!(ask(&[9]), [None, None, None, None, None, Some(9)]);
    }

    #[test]
    fn caches_are_shared_by_cores_of_several_threads() {
        let directory = made_up();
        assert_eq!(Caches::below(directory.path()), None, "no second level");
        let write = |index: u32, what: &str, text: &str| {
            let cache = directory.path().join(format!("cpu/cpu0/cache/index{index}"));
            fs::create_dir_all(&cache).expect("a directory");
            fs::write(cache.join(what), format!("{text}\n")).expect("room");
        };
        write(1, "size", "32768K");
        for (what, text) in
            [("level", "2"), ("type", "Unified"), ("size", "1024K"), ("shared_cpu_list", "0,4")]
        {
            write(2, what, text);
        }
        let expected = Caches { private: 1 << 20, share: 16 << 20 };
        assert_eq!(Caches::below(directory.path()), Some(expected));
        write(1, "size", "no size");
        assert_eq!(Caches::below(directory.path()), None);
    }

    #[test]
    fn files_are_read_once_for_a_mask() {
        let directory = made_up();
        let mut instances = Instances::default();
        let expected = [Some(2), Some(2), Some(2), None, Some(3), Some(7)];
        assert_eq!(instances.of_below(directory.path(), &cores::mask_of(&[7])), expected);
        fs::remove_dir_all(directory.path().join("cpu")).expect("it is there");
        assert_eq!(instances.of_below(directory.path(), &cores::mask_of(&[7])), expected);
        let unknown = [None, None, None, None, None, Some(6)];
        assert_eq!(instances.of_below(directory.path(), &cores::mask_of(&[6])), unknown);
    }

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(parse("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse("5"), Some(vec![5]));
        assert_eq!((parse(""), parse("x-2")), (None, None));
    }

    #[test]
    fn this_machine_knows_its_hardware_threads() {
        let first = cores::mask_of(&cores::listed(&cores::affinity())[..1]);
        let thread = Resource::HardwareThread.instance_of(&first);
        assert_eq!(thread, cores::listed(&first).first().copied());
    }
}
