//! Random datatypes and a naive interpreter of their type maps, written from the definitions of MPI
//! 5.0, chapter 5, without the library's optimizations: a list of (basic type, displacement) pairs
//! and four bounds.

// Each test program uses only a part of this module.
#![allow(dead_code)]

use proptest::prelude::*;
use towpath_datatype::{Basic, Darray, Datatype, Form, constants};

/// A datatype as a tree of constructors.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Named(Basic),
    Dup(Box<Tree>),
    Contiguous(i64, Box<Tree>),
    Vector(i64, i64, i64, Box<Tree>),
    Hvector(i64, i64, i64, Box<Tree>),
    Indexed(Vec<(i64, i64)>, Box<Tree>),
    Hindexed(Vec<(i64, i64)>, Box<Tree>),
    IndexedBlock(i64, Vec<i64>, Box<Tree>),
    HindexedBlock(i64, Vec<i64>, Box<Tree>),
    Struct(Vec<(i64, i64, Tree)>),
    Resized(i64, i64, Box<Tree>),
    /// Size, subsize and start of each dimension; true if the last one is innermost.
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Tree>),
    /// Size, processes, own position and block size of each dimension, all distributed round-robin;
    /// true if the last one is innermost.
    Darray(Vec<(i64, i64, i64, i64)>, bool, Box<Tree>),
}

/// A type map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) entries: Vec<(Basic, i64)>,
    pub(crate) bounds: Option<(i64, i64)>,
    pub(crate) marked: bool,
    pub(crate) alignment: i64,
}

impl Map {
    pub(crate) fn extent(&self) -> i64 {
        self.bounds.map_or(0, |(lb, ub)| ub - lb)
    }

    fn append(&mut self, other: &Map, displacement: i64) {
        let Some((lb, ub)) = other.bounds else { return };
        self.entries.extend(other.entries.iter().map(|&(basic, offset)| (basic, offset + displacement)));
        self.alignment = self.alignment.max(other.alignment);
        if self.marked && !other.marked {
            return;
        }
        let fresh = other.marked && !self.marked;
        self.marked |= other.marked;
        let (lb, ub) = (lb + displacement, ub + displacement);
        self.bounds = match self.bounds {
            Some((low, high)) if !fresh => Some((low.min(lb), high.max(ub))),
            _ => Some((lb, ub)),
        };
    }

    fn blocks(child: &Map, blocks: impl IntoIterator<Item = (i64, i64)>) -> Map {
        let mut map = Map::default();
        for (length, displacement) in blocks {
            for index in 0..length {
                map.append(child, displacement + index * child.extent());
            }
        }
        map
    }

    /// The elements of an array at the indices that `picked` lists for each dimension, innermost
    /// dimension first.
    fn array(child: &Map, sizes: &[i64], picked: &[Vec<i64>]) -> Map {
        let mut places = vec![0];
        let mut step = 1;
        for (size, picked) in sizes.iter().zip(picked) {
            places = picked.iter().flat_map(|at| places.iter().map(move |place| place + at * step)).collect();
            step *= size;
        }
        let map = Map::blocks(child, places.iter().map(|place| (1, place * child.extent())));
        Map { bounds: Some((0, step * child.extent())), marked: true, ..map }
    }

    /// Displacement of every byte, in packed order.
    pub(crate) fn bytes(&self) -> Vec<i64> {
        let mut bytes = Vec::new();
        for &(basic, offset) in &self.entries {
            match basic.pair() {
                Some((value, index, at)) => {
                    bytes.extend((0..value.size()).map(|byte| offset + byte as i64));
                    bytes.extend((0..index.size()).map(|byte| offset + (at + byte) as i64));
                }
                None => bytes.extend((0..basic.size()).map(|byte| offset + byte as i64)),
            }
        }
        bytes
    }
}

impl Tree {
    /// Number of entries; an upper bound for distributed arrays.
    fn entries(&self) -> i64 {
        let blocks = |blocks: &[(i64, i64)]| blocks.iter().map(|block| block.0).sum::<i64>();
        match self {
            Tree::Named(_) => 1,
            Tree::Dup(child) | Tree::Resized(_, _, child) => child.entries(),
            Tree::Contiguous(count, child) => count * child.entries(),
            Tree::Vector(count, length, _, child) | Tree::Hvector(count, length, _, child) => {
                count * length * child.entries()
            }
            Tree::Indexed(list, child) | Tree::Hindexed(list, child) => blocks(list) * child.entries(),
            Tree::IndexedBlock(length, list, child) | Tree::HindexedBlock(length, list, child) => {
                length * list.len() as i64 * child.entries()
            }
            Tree::Struct(parts) => parts.iter().map(|(length, _, child)| length * child.entries()).sum(),
            Tree::Subarray(sizes, _, child) => sizes.iter().map(|size| size.1).product::<i64>() * child.entries(),
            Tree::Darray(sizes, _, child) => sizes.iter().map(|size| size.0).product::<i64>() * child.entries(),
        }
    }

    /// The type map that the constructors define.
    pub(crate) fn map(&self) -> Map {
        match self {
            Tree::Named(basic) => Map {
                entries: vec![(*basic, 0)],
                bounds: Some((0, basic.extent() as i64)),
                marked: false,
                alignment: basic.alignment() as i64,
            },
            Tree::Dup(child) => child.map(),
            Tree::Contiguous(count, child) => Map::blocks(&child.map(), [(*count, 0)]),
            Tree::Vector(count, length, stride, child) => {
                let child = child.map();
                Map::blocks(&child, (0..*count).map(|index| (*length, index * stride * child.extent())))
            }
            Tree::Hvector(count, length, stride, child) => {
                Map::blocks(&child.map(), (0..*count).map(|index| (*length, index * stride)))
            }
            Tree::Indexed(list, child) => {
                let child = child.map();
                Map::blocks(&child, list.iter().map(|&(length, at)| (length, at * child.extent())))
            }
            Tree::Hindexed(list, child) => Map::blocks(&child.map(), list.iter().copied()),
            Tree::IndexedBlock(length, list, child) => {
                let child = child.map();
                Map::blocks(&child, list.iter().map(|&at| (*length, at * child.extent())))
            }
            Tree::HindexedBlock(length, list, child) => Map::blocks(&child.map(), list.iter().map(|&at| (*length, at))),
            Tree::Struct(parts) => {
                let mut map = Map::default();
                for (length, at, child) in parts {
                    map.append(&Map::blocks(&child.map(), [(*length, 0)]), *at);
                }
                if let (false, Some((lb, ub))) = (map.marked, map.bounds) {
                    let alignment = map.alignment.max(1);
                    map.bounds = Some((lb, lb + (ub - lb + alignment - 1).div_euclid(alignment) * alignment));
                }
                map
            }
            Tree::Subarray(sizes, last_inside, child) => {
                let sizes = inside_first(sizes, *last_inside);
                let picked: Vec<Vec<i64>> = sizes.iter().map(|size| (size.2..size.2 + size.1).collect()).collect();
                Map::array(&child.map(), &sizes.iter().map(|size| size.0).collect::<Vec<_>>(), &picked)
            }
            Tree::Darray(sizes, last_inside, child) => {
                let sizes = inside_first(sizes, *last_inside);
                let held = |&(size, processes, mine, block): &(i64, i64, i64, i64)| {
                    (0..size).filter(|at| at / block % processes == mine).collect()
                };
                let picked: Vec<Vec<i64>> = sizes.iter().map(held).collect();
                Map::array(&child.map(), &sizes.iter().map(|size| size.0).collect::<Vec<_>>(), &picked)
            }
            Tree::Resized(lb, extent, child) => Map { bounds: Some((*lb, lb + extent)), marked: true, ..child.map() },
        }
    }

    /// The library's datatype for the tree.
    pub(crate) fn datatype(&self) -> Datatype {
        let form = Form::Small;
        let split = |list: &[(i64, i64)]| list.iter().copied().unzip::<i64, i64, Vec<_>, Vec<_>>();
        let made = match self {
            Tree::Named(basic) => Ok(Datatype::named(*basic)),
            Tree::Dup(child) => Ok(child.datatype().dup()),
            Tree::Contiguous(count, child) => Datatype::contiguous(*count, &child.datatype(), form),
            Tree::Vector(count, length, stride, child) => {
                Datatype::vector(*count, *length, *stride, &child.datatype(), form)
            }
            Tree::Hvector(count, length, stride, child) => {
                Datatype::hvector(*count, *length, *stride, &child.datatype(), form)
            }
            Tree::Indexed(list, child) => {
                let (lengths, displacements) = split(list);
                Datatype::indexed(&lengths, &displacements, &child.datatype(), form)
            }
            Tree::Hindexed(list, child) => {
                let (lengths, displacements) = split(list);
                Datatype::hindexed(&lengths, &displacements, &child.datatype(), form)
            }
            Tree::IndexedBlock(length, list, child) => Datatype::indexed_block(*length, list, &child.datatype(), form),
            Tree::HindexedBlock(length, list, child) => {
                Datatype::hindexed_block(*length, list, &child.datatype(), form)
            }
            Tree::Struct(parts) => {
                let lengths: Vec<i64> = parts.iter().map(|part| part.0).collect();
                let displacements: Vec<i64> = parts.iter().map(|part| part.1).collect();
                let children: Vec<Datatype> = parts.iter().map(|part| part.2.datatype()).collect();
                Datatype::structure(&lengths, &displacements, &children, form)
            }
            Tree::Resized(lb, extent, child) => Datatype::resized(*lb, *extent, &child.datatype(), form),
            Tree::Subarray(dimensions, last_inside, child) => {
                let column = |pick: fn(&(i64, i64, i64)) -> i64| dimensions.iter().map(pick).collect::<Vec<_>>();
                let (sizes, subsizes, starts) = (column(|d| d.0), column(|d| d.1), column(|d| d.2));
                Datatype::subarray(&sizes, &subsizes, &starts, order(*last_inside), &child.datatype(), form)
            }
            Tree::Darray(dimensions, last_inside, child) => {
                let column = |pick: fn(&(i64, i64, i64, i64)) -> i64| dimensions.iter().map(pick).collect::<Vec<_>>();
                let processes = column(|d| d.1);
                let arguments = Darray {
                    size: processes.iter().product(),
                    rank: dimensions.iter().fold(0, |rank, dimension| rank * dimension.1 + dimension.2),
                    gsizes: column(|d| d.0),
                    distributions: vec![constants::DISTRIBUTE_CYCLIC; dimensions.len()],
                    arguments: column(|d| d.3),
                    processes,
                    order: order(*last_inside),
                };
                Datatype::darray(arguments, &child.datatype(), form)
            }
        };
        made.expect("a valid constructor")
    }
}

fn order(last_inside: bool) -> i64 {
    if last_inside { constants::ORDER_C } else { constants::ORDER_FORTRAN }
}

fn inside_first<T: Copy>(dimensions: &[T], last_inside: bool) -> Vec<T> {
    let mut dimensions = dimensions.to_vec();
    if last_inside {
        dimensions.reverse();
    }
    dimensions
}

/// Any basic type that holds data.
pub(crate) fn any_basic() -> impl Strategy<Value = Basic> {
    let all = towpath_datatype::basic::ALL.iter().copied();
    prop::sample::select(all.filter(|basic| basic.size() > 0).collect::<Vec<_>>())
}

/// Trees up to four constructors deep with at most `limit` basic elements.
pub(crate) fn any_tree(limit: i64) -> impl Strategy<Value = Tree> {
    let leaf = any_basic().prop_map(Tree::Named);
    let tree = leaf.prop_recursive(4, 24, 3, |inner| {
        let child = inner.clone().prop_map(Box::new);
        let (count, bytes) =
            (|| 0..4i64, || prop_oneof![-40..40i64, Just(0), -3..3i64, (-5..6i64).prop_map(|x| x * 8)]);
        let far = || prop_oneof![3 => bytes(), 1 => -3000..3000i64];
        let list = || prop_oneof![4 => prop::collection::vec((count(), bytes()), 0..6), 1 => prop::collection::vec((count(), far()), 30..90)];
        let offsets = || prop_oneof![4 => prop::collection::vec(bytes(), 0..20), 1 => prop::collection::vec(far(), 30..90)];
        let part = (1..7i64)
            .prop_flat_map(|size| (Just(size), 1..=size))
            .prop_flat_map(|(size, part)| (Just(size), Just(part), 0..=size - part));
        let dealt = (1..12i64, 1..4i64, 1..5i64)
            .prop_flat_map(|(size, processes, block)| (Just(size), Just(processes), 0..processes, Just(block)));
        let subarray = (prop::collection::vec(part, 1..4), any::<bool>(), child.clone());
        let darray = (prop::collection::vec(dealt, 1..4), any::<bool>(), child.clone());
        prop_oneof![
            subarray.prop_map(|(sizes, order, child)| Tree::Subarray(sizes, order, child)),
            darray.prop_map(|(sizes, order, child)| Tree::Darray(sizes, order, child)),
            child.clone().prop_map(Tree::Dup),
            (0..40i64, child.clone()).prop_map(|(count, child)| Tree::Contiguous(count, child)),
            (0..9i64, count(), bytes(), child.clone()).prop_map(|(c, l, s, child)| Tree::Vector(c, l, s, child)),
            (0..9i64, count(), bytes(), child.clone()).prop_map(|(c, l, s, child)| Tree::Hvector(c, l, s, child)),
            (list(), child.clone()).prop_map(|(list, child)| Tree::Indexed(list, child)),
            (list(), child.clone()).prop_map(|(list, child)| Tree::Hindexed(list, child)),
            (count(), offsets(), child.clone()).prop_map(|(l, list, child)| Tree::IndexedBlock(l, list, child)),
            (count(), offsets(), child.clone()).prop_map(|(l, list, child)| Tree::HindexedBlock(l, list, child)),
            prop::collection::vec((count(), bytes(), inner), 0..4).prop_map(Tree::Struct),
            (bytes(), -20..120i64, child).prop_map(|(lb, extent, child)| Tree::Resized(lb, extent, child)),
        ]
    });
    tree.prop_filter("too many elements", move |tree| tree.entries() <= limit)
}
