//! The `impl` block of a type of chares.

use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, Error, FnArg, Ident, ImplItem, ImplItemFn, ItemImpl, Meta, Pat, PathArguments,
    ReceiverKind, Result, Type, Visibility,
};

/// A type of chares.
pub(crate) struct ChareBlock {
    pub(crate) name: Ident,
    pub(crate) migrates: bool,
    /// As it was, without the attributes.
    pub(crate) item: ItemImpl,
    pub(crate) visibility: Visibility,
    pub(crate) constructor: ChareMethod,
    pub(crate) entries: Vec<ChareMethod>,
}

/// The constructor or an entry method.
pub(crate) struct ChareMethod {
    pub(crate) name: Ident,
    /// Its documentation.
    pub(crate) documentation: Vec<Attribute>,
    pub(crate) parameters: Vec<ChareParameter>,
}

pub(crate) struct ChareParameter {
    pub(crate) name: Ident,
    pub(crate) kind: ParameterKind,
}

pub(crate) enum ParameterKind {
    /// Of this type.
    Owned(Box<Type>),
    /// A slice of such elements.
    Array(Box<Type>),
}

/// Reads a block.
pub(crate) fn read(options: TokenStream, item: TokenStream) -> Result<ChareBlock> {
    let migrates = read_options(options)?;
    let mut item: ItemImpl = syn::parse2(item)?;
    let name = type_name(&item)?;
    let (mut constructor, mut visibility, mut entries) = (None, Visibility::Inherited, Vec::new());
    for part in &mut item.items {
        let ImplItem::Fn(function) = part else { continue };
        match role(function)? {
            Some(MethodRole::Constructor) if constructor.is_some() => {
                return Err(Error::new(function.sig.span(), "a chare has one #[constructor]"));
            }
            Some(MethodRole::Constructor) => {
                visibility = function.vis.clone();
                constructor = Some(read_method(&name, function, MethodRole::Constructor)?);
            }
            Some(MethodRole::Entry) => {
                entries.push(read_method(&name, function, MethodRole::Entry)?)
            }
            None => {}
        }
    }
    let constructor = constructor.ok_or_else(|| {
        let text = "a chare has a function with the attribute #[constructor], which takes \
                    `&ChareContext<Self>` and parameters, and returns Self";
        Error::new(item.self_ty.span(), text)
    })?;
    Ok(ChareBlock { name, migrates, item, visibility, constructor, entries })
}

fn read_options(options: TokenStream) -> Result<bool> {
    if options.is_empty() {
        return Ok(false);
    }
    let option: Meta = syn::parse2(options)?;
    match &option {
        Meta::Path(path) if path.is_ident("migrate") => Ok(true),
        _ => Err(Error::new(option.span(), "the only option of #[chares] is `migrate`")),
    }
}

fn type_name(item: &ItemImpl) -> Result<Ident> {
    if let Some((path, _)) = &item.trait_ {
        return Err(Error::new(path.span(), "#[chares] is for an impl block without a trait"));
    }
    if !item.generics.params.is_empty() {
        let text = "a type of chares has no parameters: ranks name it by its name";
        return Err(Error::new(item.generics.span(), text));
    }
    let other = Error::new(item.self_ty.span(), "#[chares] is for a type of this module");
    let Type::Path(path) = &*item.self_ty else { return Err(other) };
    path.path.get_ident().cloned().ok_or(other)
}

#[derive(Clone, Copy, PartialEq)]
enum MethodRole {
    Constructor,
    Entry,
}

/// Takes the attribute that says what a function is.
fn role(function: &mut ImplItemFn) -> Result<Option<MethodRole>> {
    let mut found = None;
    let mut error = None;
    function.attrs.retain(|attribute| {
        let role = match attribute.path() {
            path if path.is_ident("constructor") => MethodRole::Constructor,
            path if path.is_ident("entry") => MethodRole::Entry,
            _ => return true,
        };
        if !matches!(attribute.meta, Meta::Path(_)) {
            error = Some(Error::new(attribute.span(), "this attribute has no options"));
        } else if found.replace(role).is_some() {
            let text = "a function is the constructor or an entry method, once";
            error = Some(Error::new(attribute.span(), text));
        }
        false
    });
    error.map_or(Ok(found), Err)
}

fn read_method(chare: &Ident, function: &ImplItemFn, role: MethodRole) -> Result<ChareMethod> {
    let signature = &function.sig;
    let refused = |what: &str| Err(Error::new(signature.span(), what));
    if signature.asyncness.is_some() {
        return refused("an entry method or constructor is not async: it runs to its end");
    }
    if !signature.generics.params.is_empty() {
        return refused("an entry method or constructor has no type parameters or lifetimes");
    }
    if function.attrs.iter().any(|attribute| attribute.path().is_ident("cfg")) {
        return refused(
            "an entry method or constructor has no #[cfg]: all ranks have the same ones",
        );
    }
    let mut inputs = signature.inputs.iter();
    if role == MethodRole::Entry {
        match inputs.next() {
            Some(FnArg::Receiver(this)) if matches!(this.kind, ReceiverKind::Reference(..)) => {}
            _ => return refused("an entry method takes `&mut self` or `&self`"),
        }
    }
    match inputs.next() {
        Some(FnArg::Typed(argument)) if is_context(&argument.ty) => {}
        _ => {
            return refused(
                "an entry method takes the context, `&ChareContext<Self>`, behind `self`; a constructor \
                 takes it first",
            );
        }
    }
    let parameters = inputs.map(|one| read_parameter(chare, one)).collect::<Result<Vec<_>>>()?;
    let array = parameters.iter().find(|one| matches!(one.kind, ParameterKind::Array(_)));
    if let (MethodRole::Constructor, Some(array)) = (role, array) {
        let text = "a constructor has no arrays: its parameters are owned, as Vec<T>";
        return Err(Error::new(array.name.span(), text));
    }
    let is_documentation = |attribute: &&Attribute| attribute.path().is_ident("doc");
    let documentation = function.attrs.iter().filter(is_documentation).cloned().collect();
    Ok(ChareMethod { name: signature.ident.clone(), documentation, parameters })
}

/// Whether a type is `&ChareContext<...>`.
fn is_context(of: &Type) -> bool {
    let Type::Reference(reference) = of else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    let last = path.path.segments.last();
    reference.mutability.is_none()
        && last.is_some_and(|last| {
            last.ident == "ChareContext"
                && matches!(last.arguments, PathArguments::AngleBracketed(_))
        })
}

/// Puts the name of a type in the place of `Self`, which is another type in the trait of proxies.
struct SelfNamed<'a>(&'a Ident);

impl VisitMut for SelfNamed<'_> {
    fn visit_ident_mut(&mut self, ident: &mut Ident) {
        if *ident == "Self" {
            *ident = Ident::new(&self.0.to_string(), ident.span());
        }
        visit_mut::visit_ident_mut(self, ident);
    }
}

fn read_parameter(chare: &Ident, input: &FnArg) -> Result<ChareParameter> {
    let FnArg::Typed(argument) = input else {
        return Err(Error::new(input.span(), "`self` is the first parameter"));
    };
    let Pat::Ident(pattern) = &*argument.pat else {
        return Err(Error::new(argument.pat.span(), "a parameter of an entry method has a name"));
    };
    let mut of = argument.ty.clone();
    SelfNamed(chare).visit_type_mut(&mut of);
    let kind = match *of {
        Type::Reference(reference) => match *reference.elem {
            Type::Slice(slice) if reference.mutability.is_none() => {
                ParameterKind::Array(slice.elem)
            }
            _ => {
                let text = "a parameter is owned, since it comes from another rank, or a slice \
                            `&[T]` of plain elements, which the method reads in the message";
                return Err(Error::new(argument.ty.span(), text));
            }
        },
        of => ParameterKind::Owned(Box::new(of)),
    };
    Ok(ChareParameter { name: pattern.ident.clone(), kind })
}
