//! Entry methods on user-level threads: a method has a stack of its own, and may be suspended until
//! another one awakens it.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::ptr;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rustc_hash::FxHashMap;

use towpath_actors::{ChareId, Runtime};

use crate::current::with_runtime;
use crate::exceptions::{CurrentExceptions, ExceptionState};
use crate::failure::{outcome, status};
use crate::writer::{self, RunningMethod};

/// Bytes of a stack. The kernel gives pages as they are used, and a guard page is below them.
const STACK_BYTES: usize = 1 << 20;
const NOT_THREADED: &str = "only an entry method on a user-level thread can be suspended; declare \
                            the method as threaded";
/// Stacks that are kept for other threads.
const KEPT: usize = 64;

type Method = Coroutine<(), (), (), DefaultStack>;

/// A method with a stack of its own.
struct Thread {
    /// Nothing while it runs.
    method: Option<Method>,
    /// By what it suspends itself.
    yielder: *const Yielder<(), ()>,
    context: ThreadContext,
    id: ChareId,
    entry: u32,
}

/// What belongs to what runs, and is exchanged when something else does.
#[derive(Clone, Copy)]
struct ThreadContext {
    /// The method, for the case that it writes to what it was lent.
    method: *mut RunningMethod<'static>,
    exceptions: ExceptionState,
}

impl ThreadContext {
    /// That of a thread that has not run.
    const NEW: ThreadContext =
        ThreadContext { method: ptr::null_mut(), exceptions: ExceptionState::NONE };
}

/// The user-level threads of this thread of the system.
#[derive(Default)]
struct Threads {
    all: RefCell<FxHashMap<u64, Thread>>,
    /// How many there have been.
    started: Cell<u64>,
    /// The one that runs, or 0, and by what it suspends itself.
    running: Cell<u64>,
    yielder: Cell<*const Yielder<(), ()>>,
    stacks: RefCell<Vec<DefaultStack>>,
    exceptions: CurrentExceptions,
}

thread_local! {
    static THREADS: Threads = Threads::default();
}

/// Runs a method of a chare until it ends or is suspended.
pub(crate) fn start(
    runtime: &Runtime,
    id: ChareId,
    entry: u32,
    call: impl FnOnce() + 'static,
) -> Result<(), String> {
    THREADS.with(|threads| threads.start(runtime, id, entry, call))
}

/// Lets a method go on.
pub(crate) fn resume(runtime: &Runtime, number: u64) -> Result<(), String> {
    THREADS.with(|threads| threads.resume(runtime, number))
}

impl Threads {
    fn start(
        &self,
        runtime: &Runtime,
        id: ChareId,
        entry: u32,
        call: impl FnOnce() + 'static,
    ) -> Result<(), String> {
        let stack = match self.stacks.borrow_mut().pop() {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES).map_err(|error| {
                format!("there is no memory for the stack of a thread: {error}")
            })?,
        };
        let method = Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
            THREADS.with(|threads| threads.yielder.set(yielder));
            call();
        });
        let number = self.started.get() + 1;
        self.started.set(number);
        let (yielder, context) = (ptr::null(), ThreadContext::NEW);
        let thread = Thread { method: None, yielder, context, id, entry };
        self.all.borrow_mut().insert(number, thread);
        self.run(runtime, number, method)
    }

    fn resume(&self, runtime: &Runtime, number: u64) -> Result<(), String> {
        let (method, id) = {
            let mut all = self.all.borrow_mut();
            let thread = all.get_mut(&number);
            let found = thread.and_then(|thread| Some((thread.method.take()?, thread)));
            let (method, thread) = found.ok_or("a thread was awakened that is not suspended")?;
            self.yielder.set(thread.yielder);
            (method, thread.id)
        };
        runtime.unpin(id);
        self.run(runtime, number, method)
    }

    fn run(&self, runtime: &Runtime, number: u64, mut method: Method) -> Result<(), String> {
        self.running.set(number);
        let context = self.all.borrow().get(&number).map(|thread| thread.context);
        let mut context = context.unwrap_or(ThreadContext::NEW);
        self.exchange(&mut context);
        let result = method.resume(());
        self.exchange(&mut context);
        self.running.set(0);
        let mut all = self.all.borrow_mut();
        match result {
            CoroutineResult::Yield(()) => {
                let thread = all.get_mut(&number).expect("it has not ended");
                (thread.yielder, thread.context) = (self.yielder.get(), context);
                thread.method = Some(method);
                runtime.pin(thread.id).map_err(|error| error.to_string())?;
            }
            CoroutineResult::Return(()) => {
                all.remove(&number);
                let mut stacks = self.stacks.borrow_mut();
                if stacks.len() < KEPT {
                    stacks.push(method.into_stack());
                }
            }
        }
        outcome()
    }

    /// Lets the context that was given be that of what runs, and gives the one before.
    fn exchange(&self, context: &mut ThreadContext) {
        context.method = writer::switch(context.method);
        self.exceptions.exchange(&mut context.exceptions);
    }
}

impl Drop for Threads {
    /// The stacks of methods that never ended are left as they are: nobody can end them.
    fn drop(&mut self) {
        std::mem::forget(self.all.take());
    }
}

/// `towpath_thread`: nobody looks at what it points to.
pub enum CThread {}

/// The thread that runs, or null.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_thread_self() -> *mut CThread {
    ptr::without_provenance_mut(THREADS.with(|threads| threads.running.get()) as usize)
}

/// Suspends the thread that runs.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_thread_suspend() -> c_int {
    let yielder = with_runtime(|_| {
        let yielder =
            THREADS.with(|threads| (threads.running.get() != 0).then(|| threads.yielder.get()));
        yielder.ok_or_else(|| NOT_THREADED.into())
    });
    status(yielder.map(|yielder| {
        // SAFETY: it is the yielder of the coroutine that runs, whose stack this is.
        unsafe { &*yielder }.suspend(());
    }))
}

/// Lets a thread run again once the running method has returned.
#[unsafe(no_mangle)]
pub extern "C" fn towpath_thread_awaken(thread: *mut CThread) -> c_int {
    let number = thread.addr() as u64;
    let owner = THREADS
        .with(|threads| threads.all.borrow().get(&number).map(|thread| (thread.id, thread.entry)));
    status(with_runtime(|runtime| {
        let (id, entry) = owner.ok_or("a thread was awakened that has ended")?;
        runtime.awaken(id, entry, number);
        Ok(())
    }))
}
