//! Distances between processes, from the levels of the machine: host, package, cache, core.
//!
//! The distance between two processes is that of the coarsest level at which they are in different
//! instances. Levels that separate only processes that a coarser level also separates are ignored
//! (for example a package with one cache). The finest remaining level has distance 1, and each
//! coarser one twice the next finer: an approximation of what moving a cache line costs between
//! neighbours, across a cache, a package, a network. A level can be a mesh of tiles, whose distance
//! applies to each hop (Manhattan distance). A level is also ignored if one of the processes is not
//! restricted to a single instance, since its location is unknown then, or if it is a mesh on some
//! hosts and another one or none elsewhere.

mod description;

use std::collections::BTreeMap;

use crate::resources::{OfEach, RESOURCES, Resource};

pub use description::MachineDescription;

/// Maximum number of levels of a location, including the host.
pub const MOST_LEVELS: usize = 8;

/// The levels below the host that the kernel reports. Hardware threads of one core have distance 0.
pub const KERNEL_LEVELS: [Resource; 5] =
    [Resource::Package, Resource::NumaNode, Resource::L3Cache, Resource::L2Cache, Resource::Core];

/// The level does not exist, or the process is not restricted to one instance of it.
const UNKNOWN: u64 = u64::MAX;

/// Where a process runs: its instance of each level, coarsest first. Plain words, so it can be sent
/// between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessPlace(
    /// An instance in the lower half and the columns of its mesh in the upper half (0: no mesh), or
    /// [`UNKNOWN`].
    [u64; MOST_LEVELS],
);

impl ProcessPlace {
    /// Creates a location from the (instance, columns) pairs of the levels below a host.
    fn below(host: u32, levels: impl Iterator<Item = Option<(u32, u32)>>) -> ProcessPlace {
        let mut words = [UNKNOWN; MOST_LEVELS];
        words[0] = u64::from(host);
        for (word, level) in words[1..].iter_mut().zip(levels) {
            *word = level.map_or(UNKNOWN, |(instance, columns)| {
                u64::from(columns) << 32 | u64::from(instance)
            });
        }
        ProcessPlace(words)
    }

    /// The location of a process in these `instances`, as the kernel reports them.
    pub fn of_instances(host: u32, instances: &OfEach) -> ProcessPlace {
        let found = |level: &Resource| RESOURCES.iter().position(|resource| resource == level);
        let instance = |level| Some((instances[found(level)?]? as u32, 0));
        ProcessPlace::below(host, KERNEL_LEVELS.iter().map(instance))
    }

    /// The location as words.
    pub fn words(&self) -> [u64; MOST_LEVELS] {
        self.0
    }

    /// Reads locations from consecutive words, as written by [`ProcessPlace::words`].
    pub fn read(words: &[u64]) -> Vec<ProcessPlace> {
        words
            .chunks_exact(MOST_LEVELS)
            .map(|chunk| ProcessPlace(chunk.try_into().expect("chunks of this length")))
            .collect()
    }

    fn instance(&self, level: usize) -> Option<u32> {
        Some(self.0[level]).filter(|&word| word != UNKNOWN).map(|word| word as u32)
    }

    fn columns(&self, level: usize) -> u32 {
        if self.0[level] == UNKNOWN { 0 } else { (self.0[level] >> 32) as u32 }
    }
}

/// A level that separates some places.
#[derive(Debug)]
struct Level {
    /// Distance between two instances, or of one hop in the mesh.
    cost: u64,
    /// Columns of the mesh of instances; 0 if all are equally far apart.
    columns: u32,
}

impl Level {
    fn position(&self, instance: u32) -> (u32, u32) {
        (instance % self.columns, instance / self.columns)
    }

    fn steps(&self, from: u32, to: u32) -> u64 {
        if self.columns == 0 {
            return 1;
        }
        let ((x, y), (other_x, other_y)) = (self.position(from), self.position(to));
        u64::from(x.abs_diff(other_x) + y.abs_diff(other_y))
    }
}

/// Which side of a mesh to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshSide {
    /// The longer one, for nearly square parts.
    Longer,
    /// The shorter one, for stripes.
    Shorter,
}

/// The distances between places, identified by their index.
#[derive(Debug)]
pub struct Distances {
    levels: Vec<Level>,
    /// Instances of `levels`, place by place.
    instances: Vec<u32>,
    places: usize,
}

impl Distances {
    /// Computes the distances between `places`; the first place determines which levels are meshes.
    pub fn among(places: &[ProcessPlace]) -> Distances {
        let mut chosen = Vec::new();
        let mut part_of = vec![0usize; places.len()];
        let mut parts = 1;
        for level in 0..MOST_LEVELS {
            let columns = |place: &ProcessPlace| place.columns(level);
            let is_alike = places.iter().all(|place| columns(place) == columns(&places[0]));
            let instances = places.iter().map(|place| place.instance(level));
            let Some(instances) = instances.collect::<Option<Vec<u32>>>().filter(|_| is_alike)
            else {
                continue;
            };
            let finer = refined(&part_of, &instances);
            let count = finer.iter().max().map_or(0, |last| last + 1);
            if count > parts {
                (part_of, parts) = (finer, count);
                chosen.push(level);
            }
        }
        let level = |(i, &level): (usize, &usize)| Level {
            cost: 1 << (chosen.len() - 1 - i),
            columns: places[0].columns(level),
        };
        let instances = places
            .iter()
            .flat_map(|place| chosen.iter().filter_map(|&level| place.instance(level)))
            .collect();
        Distances {
            levels: chosen.iter().enumerate().map(level).collect(),
            instances,
            places: places.len(),
        }
    }

    /// Number of places.
    pub fn places(&self) -> usize {
        self.places
    }

    /// The distance between two places; 0 if no level separates them.
    pub fn between(&self, from: usize, to: usize) -> u64 {
        let (from, to) = (self.path(from), self.path(to));
        let parted = self.levels.iter().zip(from.iter().zip(to)).find(|(_, (from, to))| from != to);
        parted.map_or(0, |(level, (&from, &to))| level.cost * level.steps(from, to))
    }

    /// Whether some pairs of places may be farther apart than others.
    pub fn differ(&self) -> bool {
        match &self.levels[..] {
            [] => false,
            [only] if only.columns == 0 => {
                let mut instances = self.instances.clone();
                instances.sort_unstable();
                instances.windows(2).any(|pair| pair[0] == pair[1])
            }
            _ => true,
        }
    }

    /// Splits `places` at the coarsest level that separates them, as evenly as that level allows.
    /// Sorts them so that the first part comes first, in a deterministic order, and returns its
    /// length; 0 if nothing separates them.
    pub fn halve(&self, places: &mut [usize], side: MeshSide) -> usize {
        let Some(&first) = places.first() else { return 0 };
        let first = self.path(first);
        let Some(at) = (0..self.levels.len())
            .find(|&i| places.iter().any(|&place| self.path(place)[i] != first[i]))
        else {
            return 0;
        };
        let level = &self.levels[at];
        let position = |place: usize| {
            let instance = self.path(place)[at];
            if level.columns == 0 { (instance, 0) } else { level.position(instance) }
        };
        let extent = |along: &dyn Fn((u32, u32)) -> u32| {
            let all = || places.iter().map(|&place| along(position(place)));
            all().max().unwrap_or(0) - all().min().unwrap_or(0)
        };
        let (width, height) = (extent(&|(x, _)| x), extent(&|(_, y)| y));
        let wide = height == 0 || width > 0 && (width >= height) == (side == MeshSide::Longer);
        let key = |place: usize| {
            if wide { position(place) } else { (position(place).1, position(place).0) }
        };
        // Sort by both coordinates, so that the middle place of each part of a mesh is central.
        places.sort_by_key(|&place| (key(place), place));
        let axis = |place: usize| key(place).0;
        let cuts = (1..places.len()).filter(|&i| axis(places[i - 1]) != axis(places[i]));
        cuts.min_by_key(|&cut| cut.abs_diff(places.len() - cut)).unwrap_or(0)
    }

    /// Whether some level is a mesh, so that adjacency matters.
    pub fn have_mesh(&self) -> bool {
        self.levels.iter().any(|level| level.columns > 0)
    }

    fn path(&self, place: usize) -> &[u32] {
        let length = self.levels.len();
        &self.instances[place * length..(place + 1) * length]
    }
}

/// Splits each part by instance; returns new part numbers, counted from 0.
fn refined(part_of: &[usize], instances: &[u32]) -> Vec<usize> {
    let mut numbers = BTreeMap::new();
    let pairs = part_of.iter().zip(instances);
    pairs
        .map(|pair| {
            let next = numbers.len();
            *numbers.entry(pair).or_insert(next)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(text: &str, processes: usize) -> Distances {
        let description = MachineDescription::parse(text).unwrap();
        Distances::among(
            &(0..processes).map(|process| description.place(0, process)).collect::<Vec<_>>(),
        )
    }

    #[test]
    fn distances_double_from_level_to_level_that_parts() {
        let distances = described("package 2\nl3cache 4\nl2cache 1\ncore 8", 64);
        let from_the_first = [0, 1, 7, 8, 31, 32, 63].map(|place| distances.between(0, place));
        assert_eq!(from_the_first, [0, 1, 1, 2, 2, 4, 4]);
        assert!(distances.differ());
    }

    #[test]
    fn a_mesh_on_some_hosts_only_does_not_count() {
        let mesh = MachineDescription::parse("tile 6x4\ncore 2").unwrap();
        let flat = MachineDescription::parse("package 2\ncore 4").unwrap();
        let mut places: Vec<ProcessPlace> = (0..4).map(|process| mesh.place(0, process)).collect();
        places.extend((0..8).map(|process| flat.place(1, process)));
        let distances = Distances::among(&places);
        let between = |from, to| distances.between(from, to);
        assert_eq!([between(0, 1), between(4, 5), between(4, 8), between(0, 4)], [1, 1, 0, 2]);
    }

    #[test]
    fn a_mesh_counts_its_steps() {
        let distances = described("tile 6x4\ncore 2", 48);
        let from_the_first = [0, 1, 2, 11, 12, 47].map(|place| distances.between(0, place));
        assert_eq!(from_the_first, [0, 1, 2, 10, 2, 16]);
    }

    #[test]
    fn equal_distances_do_not_differ() {
        assert!(!described("core 8", 8).differ());
        assert!(!described("package 2; core 1", 2).differ());
        assert!(described("package 2; core 2", 4).differ());
        assert!(described("core 4", 8).differ(), "two processes on each core");
        assert!(!described("core 1", 8).differ());
        assert!(!Distances::among(&[]).differ());
    }

    #[test]
    fn a_level_counts_only_when_all_are_restricted_to_an_instance() {
        let place = |package, core: Option<u32>| {
            ProcessPlace::below(0, [Some((package, 0)), core.map(|core| (core, 0))].into_iter())
        };
        let bound = Distances::among(&[place(0, Some(0)), place(0, Some(1)), place(1, Some(2))]);
        assert_eq!((bound.between(0, 1), bound.between(0, 2)), (1, 2));
        let loose = Distances::among(&[place(0, Some(0)), place(0, None), place(1, Some(2))]);
        assert_eq!((loose.between(0, 1), loose.between(0, 2)), (0, 1));
    }

    #[test]
    fn hosts_are_the_coarsest_level() {
        let description = MachineDescription::parse("core 2").unwrap();
        let places: Vec<ProcessPlace> =
            (0..4).map(|process| description.place(process / 2, process as usize % 2)).collect();
        let distances = Distances::among(&places);
        assert_eq!((distances.between(0, 1), distances.between(0, 2)), (1, 2));
    }

    #[test]
    fn places_travel_as_words() {
        let description = MachineDescription::parse("tile 3x2; core 2").unwrap();
        let places = [description.place(7, 0), description.place(1, 11)];
        assert_eq!(ProcessPlace::read(&places.map(|place| place.words()).concat()), places);
    }

    #[test]
    fn halves_are_cut_where_places_are_farthest_apart() {
        let distances = described("package 2; core 4", 8);
        let mut places = vec![7, 0, 5, 2, 1, 6];
        assert_eq!(distances.halve(&mut places, MeshSide::Longer), 3);
        assert_eq!(places, [0, 1, 2, 5, 6, 7]);
        assert!([1, 2].contains(&distances.halve(&mut places[..3], MeshSide::Longer)));
        let mesh = described("tile 6x4; core 2", 48);
        let mut all: Vec<usize> = (0..48).collect();
        assert_eq!(mesh.halve(&mut all, MeshSide::Longer), 24);
        assert!(all[..24].iter().all(|place| place / 2 % 6 < 3), "{all:?}");
        assert_eq!(mesh.halve(&mut all, MeshSide::Shorter), 24);
        assert!(all[..24].iter().all(|place| place / 12 < 2), "{all:?}");
        assert_eq!(described("core 1", 3).halve(&mut [0, 1, 2], MeshSide::Longer), 0);
    }

    #[test]
    fn this_process_has_a_place() {
        let instances = crate::resources::Instances::default().of(&crate::cores::affinity());
        let place = ProcessPlace::of_instances(3, &instances);
        assert_eq!(place.instance(0), Some(3));
        assert!(!Distances::among(&[place, place]).differ());
    }
}
