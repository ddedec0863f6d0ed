//! What a program registers, before the job starts: types, entry methods and reducers, by name.
//! They are numbered in the order of their names, so all ranks of one program agree.

use std::ffi::{CStr, c_char};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use towpath_actors::reducers::PROGRAM_REDUCERS;

use crate::types::{CEntry, CReducer, CType, RESUMES};

/// Structures of the program that were registered.
pub(crate) struct Registry {
    types: Vec<Registered<CType>>,
    entries: Vec<Registered<CEntry>>,
    reducers: Vec<Registered<CReducer>>,
}

/// A structure of the program.
struct Registered<T>(*mut T);

// SAFETY: the structures stay in place until the job has ended. What the pointers point to is used
// under the lock of the registry, and by the thread of the job.
unsafe impl<T> Send for Registered<T> {}

/// Until the job starts: what is registered after that has no number.
const UNNUMBERED: u32 = u32::MAX;

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { types: Vec::new(), entries: Vec::new(), reducers: Vec::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// The structure stays in place until the job has ended.
unsafe fn register<T: Named>(
    structure: *mut T,
    list: fn(&mut Registry) -> &mut Vec<Registered<T>>,
) {
    let mut registry = registry();
    // SAFETY: it is in place, and the lock is held.
    unsafe { (*structure).number(UNNUMBERED) };
    list(&mut registry).push(Registered(structure));
}

/// Registers a type.
///
/// # Safety
/// The structure stays in place until the job has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_register_type(chare: *mut CType) {
    // SAFETY: the caller leaves it in place.
    unsafe { register(chare, |registry| &mut registry.types) };
}

/// Registers an entry method or a constructor.
///
/// # Safety
/// The structure stays in place until the job has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_register_entry(entry: *mut CEntry) {
    // SAFETY: the caller leaves it in place.
    unsafe { register(entry, |registry| &mut registry.entries) };
}

/// Registers a reducer.
///
/// # Safety
/// The structure stays in place until the job has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn towpath_register_reducer(reducer: *mut CReducer) {
    // SAFETY: the caller leaves it in place.
    unsafe { register(reducer, |registry| &mut registry.reducers) };
}

/// A structure that has a name, and is given a number.
trait Named {
    /// What the user calls such a thing.
    const KIND: &'static str;
    /// The number of the first one.
    const FIRST: u32;
    fn name(&self) -> *const c_char;
    fn number(&mut self, number: u32);
}

macro_rules! named {
    ($structure:ty, $kind:literal, $first:expr) => {
        impl Named for $structure {
            const KIND: &'static str = $kind;
            const FIRST: u32 = $first;

            fn name(&self) -> *const c_char {
                self.name
            }

            fn number(&mut self, number: u32) {
                self.number = number;
            }
        }
    };
}

named!(CType, "types", 0);
named!(CEntry, "entry methods", 0);
named!(CReducer, "reducers", PROGRAM_REDUCERS);

/// Structures with their names, in the order of their numbers.
pub(crate) type Numbered<T> = Vec<(String, &'static T)>;

/// All that a program has, numbered.
pub(crate) struct ProgramParts {
    pub(crate) types: Numbered<CType>,
    pub(crate) entries: Numbered<CEntry>,
    pub(crate) reducers: Numbered<CReducer>,
    pub(crate) resumes: ResumingMethods,
    /// The same for programs with the same names.
    pub(crate) fingerprint: u64,
}

/// The methods with which chares go on after load balancing.
#[derive(Default)]
pub(crate) struct ResumingMethods {
    /// Of chares of this type.
    of_types: FxHashMap<u32, &'static CEntry>,
    /// Of all others.
    otherwise: Option<&'static CEntry>,
}

impl ResumingMethods {
    /// That of chares of this type.
    pub(crate) fn of(&self, chare: u32) -> Option<&'static CEntry> {
        self.of_types.get(&chare).copied().or(self.otherwise)
    }

    /// Whether chares of this type have one of their own.
    pub(crate) fn is_of(&self, chare: u32) -> bool {
        self.of_types.contains_key(&chare)
    }

    fn among(entries: &Numbered<CEntry>) -> Result<ResumingMethods, String> {
        let mut all = ResumingMethods::default();
        for (name, entry) in entries.iter().filter(|(_, entry)| entry.flags & RESUMES != 0) {
            // SAFETY: the type is null, or registered, so that it stays in place.
            let before = match unsafe { entry.chare.as_ref() } {
                Some(chare) => all.of_types.insert(chare.number, entry),
                None => all.otherwise.replace(entry),
            };
            if before.is_some() {
                return Err(format!(
                    "{name} has the flag TOWPATH_RESUMES, and so has another entry method of the \
                     same type"
                ));
            }
        }
        Ok(all)
    }
}

/// Numbers what has been registered.
///
/// # Errors
/// Two things have the same name.
pub(crate) fn number() -> Result<ProgramParts, String> {
    let registry = registry();
    let mut hasher = DefaultHasher::new();
    let types = numbered(&registry.types, &mut hasher)?;
    let entries = numbered(&registry.entries, &mut hasher)?;
    let reducers = numbered(&registry.reducers, &mut hasher)?;
    let resumes = ResumingMethods::among(&entries)?;
    Ok(ProgramParts { types, entries, reducers, resumes, fingerprint: hasher.finish() })
}

fn numbered<T: Named>(
    registered: &[Registered<T>],
    hasher: &mut DefaultHasher,
) -> Result<Numbered<T>, String> {
    let named = |Registered(structure): &Registered<T>| {
        // SAFETY: it is in place, and has a name.
        let name = unsafe { CStr::from_ptr((**structure).name()) };
        (name.to_string_lossy().into_owned(), *structure)
    };
    let mut all: Vec<(String, *mut T)> = registered.iter().map(named).collect();
    all.sort();
    // A library that is loaded twice registers the same structure again.
    all.dedup();
    if let Some(pair) = all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(format!("two {} have the name {}; give one another name", T::KIND, pair[0].0));
    }
    all.iter().for_each(|(name, _)| name.hash(hasher));
    Ok(all
        .into_iter()
        .zip(T::FIRST..)
        .map(|((name, structure), number)| {
            // SAFETY: it is in place, the lock is held, and no job uses it yet.
            unsafe { (*structure).number(number) };
            // SAFETY: it stays in place, and nobody changes it, until the job has ended.
            (name, unsafe { &*structure })
        })
        .collect())
}
