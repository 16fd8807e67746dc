//! The code that is written: the function as it was, and a type of the same name that implements
//! `TypedFunction`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{ItemFn, Result};

use crate::function::{Function, Input, Output, Parameter};
use crate::options::Options;

/// Expands `#[tool]`.
pub(crate) fn tool(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let options = Options::parse(options)?;
    let item: ItemFn = syn::parse2(item).map_err(|error| {
        syn::Error::new(error.span(), format!("`#[tool]` stands before a function ({error})"))
    })?;
    let function = Function::read(item, options.name.is_some())?;
    Ok(write(&function, &options))
}

fn write(function: &Function, options: &Options) -> TokenStream {
    let item = &function.item;
    let (visibility, ident) = (&item.vis, &item.sig.ident);
    let typed = match &options.krate {
        Some(path) => quote!(#path::typed),
        None => quote!(::ptc_agent::typed),
    };
    let name = options.name.as_ref().map_or_else(|| function.name(), syn::LitStr::value);
    let doc = options.description.as_ref().map_or_else(|| function.doc.clone(), syn::LitStr::value);
    let (input, take, binding, pass) = arguments(&function.input, &typed);
    let output = match &function.output {
        Output::Plain(ty) | Output::Fallible(ty) => quote!(#ty),
        Output::Nothing => quote!(()),
    };
    let run = run(function, &pass, &typed);
    let approval = options.approval.as_ref().map(|form| {
        quote! {
            const APPROVAL: #typed::Approval = #typed::Approval::#form;
        }
    });
    // A struct with braces lives among the types, so it can share its name with the function.
    quote! {
        #item

        #[doc = #doc]
        #[allow(non_camel_case_types)]
        #visibility struct #ident {}

        #[automatically_derived]
        impl #typed::TypedFunction for #ident {
            const NAME: &'static str = #name;
            const DOC: &'static str = #doc;
            #approval

            fn description() -> &'static #typed::ToolDescription {
                static DESCRIPTION: ::std::sync::OnceLock<#typed::ToolDescription> = ::std::sync::OnceLock::new();
                DESCRIPTION.get_or_init(|| #typed::describe(#name, #doc, #input, #typed::type_of::<#output>()))
            }

            fn call(args: #typed::Json) -> #typed::Call {
                #typed::call(
                    <Self as #typed::TypedFunction>::description(),
                    args,
                    |args| #take,
                    |#binding| #run,
                )
            }
        }
    }
}

/// The record of the input, how arguments are taken out of the map, the pattern they are bound to and how
/// they are passed on.
fn arguments(input: &Input, typed: &TokenStream) -> (TokenStream, TokenStream, TokenStream, TokenStream) {
    match input {
        Input::Whole(ty) => {
            (quote!(#typed::record_of::<#ty>()), quote!(args.whole::<#ty>()), quote!(whole), quote!(whole))
        }
        Input::Fields(parameters) => {
            let fields = parameters
                .iter()
                .map(|Parameter { name, doc, ty }| quote!(#typed::parameter::<#ty>(#name, #doc)));
            let takes = parameters.iter().map(|Parameter { name, ty, .. }| quote!(args.take::<#ty>(#name)?));
            let names: Vec<_> =
                (0..parameters.len()).map(|place| format_ident!("argument_{place}")).collect();
            (
                quote!(#typed::record([#(#fields),*])),
                quote!(::core::result::Result::Ok((#(#takes,)*))),
                quote!((#(#names,)*)),
                quote!(#(#names),*),
            )
        }
    }
}

fn run(function: &Function, pass: &TokenStream, typed: &TokenStream) -> TokenStream {
    let ident = &function.item.sig.ident;
    let finish = match function.output {
        Output::Fallible(_) => quote!(#typed::finish_result),
        Output::Plain(_) | Output::Nothing => quote!(#typed::finish),
    };
    match function.item.sig.asyncness {
        Some(_) => quote!(#typed::Call::later(async move { #finish(#ident(#pass).await) })),
        None => quote!(#typed::Call::Now(#finish(#ident(#pass)))),
    }
}
