//! Collections of chares: arrays, groups, and the single chares of all ranks.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use slab::Slab;

use crate::broadcast::Broadcasts;
use crate::callback::ChareCallback;
use crate::index::Index;
use crate::location::{HomeMap, Location, Lookup};
use crate::message::MessageHandle;
use crate::places::ElementPlaces;
use crate::reduction::Reductions;
use crate::section::{Membership, SectionId, SectionPart};
use crate::sync_rounds::SyncRounds;
use crate::tree::SpanningTree;

/// Names a collection in the whole job: who made it, and which one of that rank it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CollectionId(pub u64);

impl CollectionId {
    /// The single chares of all ranks. An index is the rank where the chare is made, the rank that
    /// makes it, and which one of that rank it is.
    pub const SINGLE_CHARES: CollectionId = CollectionId(u64::MAX);

    /// The collection of this number that a rank has made.
    #[must_use]
    pub fn new(root: u32, number: u32) -> CollectionId {
        CollectionId(u64::from(root) << 32 | u64::from(number))
    }

    /// The root of its tree among so many ranks: the rank that has made it, unless it comes from a
    /// checkpoint of more ranks.
    #[must_use]
    pub fn root(self, ranks: u32) -> u32 {
        if self == CollectionId::SINGLE_CHARES { 0 } else { (self.0 >> 32) as u32 % ranks }
    }
}

/// What a collection is, as all ranks are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionOptions {
    /// The type of its chares, as the program numbers types ([`NO_TYPE`]: of the single chares).
    pub chare: u32,
    /// The constructor of the elements that it begins with.
    pub constructor: u32,
    /// Where elements begin.
    pub map: HomeMap,
    /// Whether it begins with an element for every index of the map, and reductions may begin.
    pub filled: bool,
    /// What the constructor gets.
    pub parameters: Vec<u8>,
}

/// Type of the single chares, which may be of several.
pub const NO_TYPE: u32 = u32::MAX;

/// What the program calls an object of its own.
pub type ObjectId = u64;

/// A chare on this rank.
#[derive(Debug)]
pub(crate) struct ArrayElement {
    pub(crate) index: Index,
    /// Its type.
    pub(crate) chare: u32,
    /// Nothing while its constructor runs.
    pub(crate) object: Option<ObjectId>,
    /// Number of its next reduction.
    pub(crate) reduction: u32,
    /// It gets broadcasts with greater numbers from this rank.
    pub(crate) since: u32,
    /// How often elements of this index have migrated.
    pub(crate) migrations: u32,
    /// How often they had when this one was constructed.
    pub(crate) created: u32,
    /// Whether a method of it is running.
    pub(crate) is_running: bool,
    /// The round for which it gets ready next, to balance loads, and whether it is ready for the
    /// one before.
    pub(crate) round: u32,
    pub(crate) is_ready: bool,
    /// Nanoseconds that its methods have run since the last balancing.
    pub(crate) load: u64,
    /// How many methods of it are suspended: it cannot leave.
    pub(crate) pinned: u32,
    /// What happens once none is.
    pub(crate) deferred: Deferred,
    /// The sections to which it belongs.
    pub(crate) memberships: Vec<Membership>,
}

impl ArrayElement {
    /// An element whose constructor is about to run.
    pub(crate) fn new(
        index: Index,
        chare: u32,
        reduction: u32,
        since: u32,
        migrations: u32,
    ) -> ArrayElement {
        ArrayElement {
            index,
            chare,
            object: None,
            reduction,
            since,
            migrations,
            created: migrations,
            is_running: true,
            round: 0,
            is_ready: false,
            load: 0,
            pinned: 0,
            deferred: Deferred::Nothing,
            memberships: Vec::new(),
        }
    }

    /// Whether it belongs to a section and knows it.
    pub(crate) fn is_member(&self, section: SectionId) -> bool {
        self.memberships.iter().any(|membership| membership.section == section)
    }
}

/// What happens to an element when its entry method has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Deferred {
    #[default]
    Nothing,
    Migrate(u32),
    Delete,
}

/// One rank's part of a collection.
#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) chare: u32,
    pub(crate) tree: SpanningTree,
    pub(crate) location: Location,
    pub(crate) elements: Slab<ArrayElement>,
    pub(crate) places: ElementPlaces,
    pub(crate) broadcasts: Broadcasts,
    pub(crate) reductions: Reductions,
    /// At the root: who is told of results if contributions name nobody.
    pub(crate) client: Option<ChareCallback>,
    pub(crate) syncs: SyncRounds,
    /// Messages for elements that do not exist yet.
    pub(crate) waiting: FxHashMap<Index, Vec<MessageHandle>>,
    /// Messages that wait until the elements with which it begins are here.
    pub(crate) unfilled: Vec<MessageHandle>,
    /// At the home: requests to make an element while there is still one of its index.
    pub(crate) inserting: FxHashMap<Index, Vec<MessageHandle>>,
    /// Elements that are about to arrive here, or to be asked for. Messages for them wait.
    pub(crate) expected: FxHashMap<Index, u32>,
    /// Whether the elements with which it begins are here.
    pub(crate) is_filled: bool,
    /// Elements that this rank has asked for since its last barrier, by the rank that constructs
    /// them, and how many barriers it has sent.
    pub(crate) asked: FxHashMap<u32, u64>,
    pub(crate) barriers: u32,
    /// Sections of which this rank has heard.
    pub(crate) sections: FxHashMap<SectionId, SectionPart>,
}

impl Collection {
    pub(crate) fn new(
        id: CollectionId,
        options: &CollectionOptions,
        rank: u32,
        ranks: u32,
    ) -> Collection {
        let tree = SpanningTree::new(id.root(ranks), rank, ranks);
        let places = ElementPlaces::new(&options.map, options.filled, rank, ranks);
        Collection {
            chare: options.chare,
            tree,
            location: Location::new(options.map.clone(), rank, ranks),
            elements: Slab::with_capacity(places.first_elements()),
            places,
            broadcasts: Broadcasts::default(),
            reductions: Reductions::new(tree),
            client: None,
            syncs: SyncRounds::default(),
            waiting: FxHashMap::default(),
            unfilled: Vec::new(),
            inserting: FxHashMap::default(),
            expected: FxHashMap::default(),
            asked: FxHashMap::default(),
            is_filled: !options.filled,
            barriers: 0,
            sections: FxHashMap::default(),
        }
    }

    /// This rank's part of a section.
    pub(crate) fn section(&mut self, id: SectionId) -> &mut SectionPart {
        let tree = self.tree.below(id.root);
        self.sections.entry(id).or_insert_with(|| SectionPart::new(tree))
    }

    /// Makes an element of this rank a member of a section. Whether it is here.
    pub(crate) fn join(&mut self, section: SectionId, index: &Index) -> bool {
        let Some(element) = self.element_mut(index) else { return false };
        element.memberships.push(Membership { section, reduction: 0 });
        self.section(section).reductions.arrived(0);
        true
    }

    /// Where this rank believes that an element is.
    pub(crate) fn whereabouts(&self, index: &Index) -> u32 {
        if self.places.contains_key(index) {
            return self.tree.rank();
        }
        let told = self.location.told(index).map(|(rank, _)| rank);
        told.unwrap_or_else(|| self.location.home(index))
    }

    /// Whether this rank is the home of an element that exists no more.
    pub(crate) fn is_known_deleted(&self, index: &Index) -> bool {
        !self.expected.contains_key(index) && self.location.find(index) == Lookup::Deleted
    }

    /// The element with this index, if it is here.
    pub(crate) fn element(&self, index: &Index) -> Option<&ArrayElement> {
        self.places.get(index).map(|place| &self.elements[place])
    }

    /// The same, to be changed.
    pub(crate) fn element_mut(&mut self, index: &Index) -> Option<&mut ArrayElement> {
        let place = self.places.get(index)?;
        self.elements.get_mut(place)
    }

    /// Takes an element in.
    pub(crate) fn add(&mut self, element: ArrayElement) {
        let index = element.index;
        let place = self.elements.insert(element);
        self.places.insert(index, place);
    }

    /// An element that was about to be here is.
    pub(crate) fn no_longer_expected(&mut self, index: &Index) {
        if let Some(expected) = self.expected.get_mut(index) {
            *expected -= 1;
            if *expected == 0 {
                self.expected.remove(index);
            }
        }
    }

    /// The first request to make an element of this index.
    pub(crate) fn next_request(&mut self, index: &Index) -> Option<MessageHandle> {
        let requests = self.inserting.get_mut(index)?;
        let first = requests.remove(0);
        if requests.is_empty() {
            self.inserting.remove(index);
        }
        Some(first)
    }

    /// Takes an element out of its place.
    pub(crate) fn remove(&mut self, index: &Index) -> Option<(usize, ArrayElement)> {
        let place = self.places.remove(index)?;
        Some((place, self.elements.try_remove(place)?))
    }
}
