//! What the macro writes. Its local names (`Span::mixed_site`) are others than those of parameters.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Type;

use crate::block::{ChareBlock, ChareMethod, ChareParameter, ParameterKind};

/// The block, the trait `ChareType` for its type, and the trait of its proxies.
pub(crate) fn write(block: &ChareBlock) -> TokenStream {
    let item = &block.item;
    let chare = chare(block);
    let proxy = proxy(block);
    quote!(#item #chare #proxy)
}

/// Parameters that serde writes, in their order.
fn owned(method: &ChareMethod) -> Vec<(&Ident, &Type)> {
    let parameters = method.parameters.iter();
    let owned = parameters.filter_map(|ChareParameter { name, kind }| match kind {
        ParameterKind::Owned(of) => Some((name, &**of)),
        ParameterKind::Array(_) => None,
    });
    owned.collect()
}

fn chare(block: &ChareBlock) -> TokenStream {
    let name = &block.name;
    let text = name.to_string();
    let entries = block.entries.iter().map(|entry| entry.name.to_string());
    let (arguments, types): (Vec<_>, Vec<_>) = owned(&block.constructor).into_iter().unzip();
    let constructor = &block.constructor.name;
    let arms = block.entries.iter().enumerate().map(|(number, entry)| arm(number, entry));
    let migration = block.migrates.then(|| {
        quote! {
            fn migration() -> ::core::option::Option<::towpath_actors_rust::Migration<Self>> {
                ::core::option::Option::Some(::towpath_actors_rust::Migration::new())
            }
        }
    });
    let migratable =
        block.migrates.then(|| quote!(impl ::towpath_actors_rust::Migratable for #name {}));
    quote_spanned! { Span::mixed_site() =>
        impl ::towpath_actors_rust::ChareType for #name {
            const NAME: &'static str = #text;
            const ENTRIES: &'static [&'static str] = &[#(#entries),*];
            type Arguments = (#(#types,)*);

            fn construct(
                context: &::towpath_actors_rust::ChareContext<Self>,
                (#(#arguments,)*): Self::Arguments,
            ) -> Self {
                Self::#constructor(context, #(#arguments),*)
            }

            fn invoke(
                &mut self,
                context: &::towpath_actors_rust::ChareContext<Self>,
                entry: usize,
                message: &::towpath_actors_rust::MethodMessage<'_>,
            ) -> ::core::result::Result<(), ::std::string::String> {
                match entry {
                    #(#arms)*
                    _ => ::core::result::Result::Err("it has no such entry method".into()),
                }
            }

            #migration
        }

        #migratable
    }
}

/// Invokes an entry method with what the message has.
fn arm(number: usize, entry: &ChareMethod) -> TokenStream {
    let number = Literal::usize_unsuffixed(number);
    let method = &entry.name;
    let (names, types): (Vec<_>, Vec<_>) = owned(entry).into_iter().unzip();
    let mut arrays = 0;
    let read_arrays = entry.parameters.iter().filter_map(|one| match &one.kind {
        ParameterKind::Owned(_) => None,
        ParameterKind::Array(element) => {
            let (name, array) = (&one.name, Literal::usize_unsuffixed(arrays));
            arrays += 1;
            Some(quote_spanned!(Span::mixed_site() =>
                let #name = message.array::<#element>(#array)?;))
        }
    });
    let all = entry.parameters.iter().map(|one| &one.name);
    quote_spanned! { Span::mixed_site() =>
        #number => {
            let (#(#names,)*) = message.parameters::<(#(#types,)*)>()?;
            #(#read_arrays)*
            ::towpath_actors_rust::MethodResult::outcome(Self::#method(self, context, #(#all),*))
        }
    }
}

fn proxy(block: &ChareBlock) -> TokenStream {
    let (name, visibility) = (&block.name, &block.visibility);
    let proxy = format_ident!("{name}Proxy");
    let text = format!("Entry methods of [`{name}`], for its proxies: they send messages.");
    let senders = block.entries.iter().enumerate().map(|(number, entry)| {
        let sender = sender(name, number, entry);
        let callback = callback(number, entry);
        quote!(#sender #callback)
    });
    quote! {
        #[doc = #text]
        #[allow(dead_code, reason = "a program need not use all that the macro writes")]
        #visibility trait #proxy: ::towpath_actors_rust::MessageTarget<Chare = #name> {
            #(#senders)*
        }

        impl<T: ::towpath_actors_rust::MessageTarget<Chare = #name>> #proxy for T {}
    }
}

/// The method of a proxy that sends a message.
fn sender(chare: &Ident, number: usize, entry: &ChareMethod) -> TokenStream {
    let number = Literal::usize_unsuffixed(number);
    let (method, documentation) = (&entry.name, &entry.documentation);
    let parameters = entry.parameters.iter().map(|ChareParameter { name, kind }| match kind {
        ParameterKind::Owned(of) => quote!(#name: #of),
        ParameterKind::Array(element) => {
            quote!(#name: impl ::core::convert::Into<::towpath_actors_rust::SentSlice<'a, #element>>)
        }
    });
    let is_array = |one: &&ChareParameter| matches!(one.kind, ParameterKind::Array(_));
    let arrays: Vec<_> = entry.parameters.iter().filter(is_array).map(|one| &one.name).collect();
    let lifetime = (!arrays.is_empty()).then(|| quote!(<'a>));
    let mutability = (!arrays.is_empty()).then(|| quote!(mut));
    let owned = owned(entry).into_iter().map(|(name, _)| name);
    quote_spanned! { Span::mixed_site() =>
        #(#documentation)*
        fn #method #lifetime(&self, #(#parameters),*) {
            let #mutability message =
                ::towpath_actors_rust::OutgoingMessage::new::<#chare>(#number, &(#(&#owned,)*));
            #(message.add(#arrays);)*
            ::towpath_actors_rust::MessageTarget::send(self, message);
        }
    }
}

/// A callback of an entry method that gets a result: without parameters, or with an array alone.
fn callback(number: usize, entry: &ChareMethod) -> Option<TokenStream> {
    let number = Literal::usize_unsuffixed(number);
    let name = format_ident!("{}_callback", entry.name);
    let value = match &entry.parameters[..] {
        [] => quote!(()),
        [ChareParameter { kind: ParameterKind::Array(element), .. }] => quote!(#element),
        _ => return None,
    };
    let text = format!("A callback that invokes `{}`.", entry.name);
    Some(quote! {
        #[doc = #text]
        fn #name(&self) -> ::towpath_actors_rust::TypedCallback<#value> {
            ::towpath_actors_rust::MessageTarget::callback(self, #number)
        }
    })
}
