//! What an interface file declares.

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceFile {
    /// Its modules, in order.
    pub modules: Vec<Module>,
}

/// `module` or `mainmodule`: the unit that a pair of headers is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Whether the program begins in it.
    pub is_main: bool,
    /// What it declares.
    pub items: Vec<Item>,
}

/// A declaration of a module or namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `include "file";`, with its quotes.
    Include(String),
    /// `extern module name;`
    ExternModule(String),
    /// A declaration that C++ gets as it is: `class A;`, `using namespace std;`.
    Cpp(String),
    /// A line that begins with `#`.
    Directive(String),
    /// `namespace name { ... }`
    Namespace(String, Vec<Item>),
    /// `readonly`
    Readonly(Readonly),
    /// `message`
    Message(MessageType),
    /// `chare`, `mainchare`, `group`, `nodegroup` or `array`
    Chare(Chare),
    /// `array [1D] A<int>;`: a chare of a template for these arguments.
    Instance(ChareKind, String),
    /// `PUPable A, B;`
    Pupable(Vec<String>),
    /// `initnode` or `initproc`: a function that runs at the start.
    Initialiser(Initialiser),
}

/// A function that runs at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialiser {
    /// Its name.
    pub name: String,
    /// `initnode`: before the runtime starts, so it can register reducers.
    pub is_early: bool,
}

/// A variable that has the same value on all ranks once the main chares are constructed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readonly {
    /// Its type; that of a message without the `*`.
    pub type_name: String,
    /// Its name, which may be qualified.
    pub name: String,
    /// `[10][20]`, if it is an array.
    pub dimensions: String,
    /// Whether it is a pointer to a message.
    pub is_message: bool,
}

/// The parameters of a template: as they are declared, and their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// `typename T, int N`
    pub parameters: String,
    /// `T, N`
    pub names: String,
}

/// A type of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageType {
    /// If it is a template.
    pub template: Option<Template>,
    /// Its name, with arguments if it is an instance of a template.
    pub name: String,
    /// Its arrays, whose lengths are given when a message is made.
    pub arrays: Vec<MessageArray>,
}

/// `T name[];` of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageArray {
    /// Type of an element.
    pub type_name: String,
    /// Name of the member, a pointer.
    pub name: String,
}

/// What a chare belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChareKind {
    /// A chare of its own.
    Chare,
    /// Constructed when the program begins.
    MainChare,
    /// A branch on each processing element.
    Group,
    /// A branch in each process.
    NodeGroup,
    /// An element of an array, with the type of its index: `CkIndex1D`, or one of the program.
    Array(String),
}

/// A chare, and what it can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chare {
    /// If it is a template.
    pub template: Option<Template>,
    /// What it belongs to.
    pub kind: ChareKind,
    /// The name of its class.
    pub name: String,
    /// Chares from which it inherits.
    pub bases: Vec<String>,
    /// What it declares.
    pub members: Vec<ChareMember>,
}

/// A declaration of a chare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChareMember {
    /// `entry`
    Entry(Box<Entry>),
    /// A line that begins with `#`.
    Directive(String),
    /// `initnode` or `initproc`: a static function that runs at the start.
    Initialiser(Initialiser),
    /// `PUPable A, B;`
    Pupable(Vec<String>),
}

/// Attributes of an entry method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attribute {
    /// `threaded`
    Threaded,
    /// `sync`
    Sync,
    /// `exclusive`
    Exclusive,
    /// `expedited`
    Expedited,
    /// `immediate`
    Immediate,
    /// `inline`
    Inline,
    /// `local`
    Local,
    /// `nokeep`
    NoKeep,
    /// `notrace`
    NoTrace,
    /// `whenidle`
    WhenIdle,
    /// `reductiontarget`
    ReductionTarget,
    /// `createhere`
    CreateHere,
    /// `createhome`
    CreateHome,
    /// `appwork`
    AppWork,
    /// `memcritical`
    MemCritical,
    /// `migratable`
    Migratable,
}

/// An entry method or a constructor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// `void`, or what a synchronous method returns; a constructor returns nothing.
    pub returns: Option<String>,
    /// Its name.
    pub name: String,
    /// What it gets.
    pub parameters: Parameters,
    /// What it does, if the file says.
    pub body: Option<Statement>,
}

impl Entry {
    /// Whether it has this attribute.
    #[must_use]
    pub fn has(&self, attribute: Attribute) -> bool {
        self.attributes.contains(&attribute)
    }

    /// Whether it constructs the chare.
    #[must_use]
    pub fn is_constructor(&self) -> bool {
        self.returns.is_none()
    }
}

/// What an entry method gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// A message of this type, and the name of the pointer to it.
    Message(String, String),
    /// Values, in a message that the translator fills.
    Marshalled(Vec<EntryParameter>),
}

impl Parameters {
    /// Whether the receiver names memory for an array.
    #[must_use]
    pub fn has_posted(&self) -> bool {
        matches!(self, Parameters::Marshalled(list)
            if list.iter().any(|one| one.transfer.is_posted()))
    }

    /// Whether arrays are in the memory of devices.
    #[must_use]
    pub fn has_on_device(&self) -> bool {
        matches!(self, Parameters::Marshalled(list)
            if list.iter().any(|one| one.transfer == ArrayTransfer::NoCopyDevice))
    }
}

/// How the elements of an array parameter travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayTransfer {
    /// In the message.
    Copied,
    /// `nocopy`, `Rdma`: from the sender's memory.
    NoCopy,
    /// `nocopypost`: from the sender's memory into memory that the receiver names.
    NoCopyPost,
    /// `nocopydevice`: the same between devices.
    NoCopyDevice,
}

impl ArrayTransfer {
    /// Whether the receiver names the memory.
    #[must_use]
    pub fn is_posted(self) -> bool {
        matches!(self, ArrayTransfer::NoCopyPost | ArrayTransfer::NoCopyDevice)
    }
}

/// A value that an entry method gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryParameter {
    /// Its type, without `const` and `&` around it; of an array, that of an element.
    pub type_name: String,
    /// `&`, if the method gets a reference.
    pub reference: bool,
    /// Its name.
    pub name: String,
    /// The expression in `[...]`, if it is an array.
    pub length: Option<String>,
    /// How its elements travel.
    pub transfer: ArrayTransfer,
    /// The value that it has when the caller gives none.
    pub default: Option<String>,
}

/// C++ that is passed through, and the number of its first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpp {
    /// As it is in the file.
    pub text: String,
    /// The number of the line where it begins.
    pub line: usize,
}

/// What an entry method does, step by step (structured dagger).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `serial { ... }`
    Serial(Cpp),
    /// One after the other.
    Sequence(Vec<Statement>),
    /// `overlap { ... }`: in any order, as their messages arrive.
    Overlap(Vec<Statement>),
    /// `when a(), b[n](int i) statement`
    When(When),
    /// `case { when ... when ... }`: the first that is possible.
    Case(Vec<When>),
    /// `for (begin; condition; step) statement`
    For(Cpp, Cpp, Cpp, Box<Statement>),
    /// `while (condition) statement`
    While(Cpp, Box<Statement>),
    /// `if (condition) statement else statement`
    If(Cpp, Box<Statement>, Box<Statement>),
    /// `forall [i] (begin:end,step) statement`: for all values in any order.
    ForAll(String, Cpp, Cpp, Cpp, Box<Statement>),
}

/// Messages that are waited for, and what is done once all are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// The messages.
    pub triggers: Vec<Trigger>,
    /// What is done.
    pub body: Box<Statement>,
}

/// A message that a `when` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    /// The entry method.
    pub name: String,
    /// The number that the message must have.
    pub reference: Option<Cpp>,
    /// What the statement calls its parameters.
    pub parameters: Parameters,
    /// Offset of its name in the file.
    pub at: usize,
}
