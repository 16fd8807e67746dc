//! What is wanted of the function, and errors that point at what is not.

use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericArgument, ItemFn, Lit, Meta, Pat, PatType, PathArguments,
    Result, ReturnType, Safety, Type,
};

use crate::options::check_name;

/// What is known of a function that is to be a tool.
pub(crate) struct Function {
    /// The function as it stays, without doc comments on parameters.
    pub(crate) item: ItemFn,
    /// The doc comment.
    pub(crate) doc: String,
    /// What it takes.
    pub(crate) input: Input,
    /// What it gives.
    pub(crate) output: Output,
}

/// What a function takes.
pub(crate) enum Input {
    /// The fields of the argument map, one by one.
    Fields(Vec<Parameter>),
    /// The whole argument map.
    Whole(Box<Type>),
}

/// A parameter.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) doc: String,
    pub(crate) ty: Type,
}

/// What a function gives.
pub(crate) enum Output {
    /// A value.
    Plain(Box<Type>),
    /// A value or an error; this is the type of the value.
    Fallible(Box<Type>),
    /// Nothing.
    Nothing,
}

impl Function {
    /// Looks at the function; `named` says that the attribute gives another name.
    pub(crate) fn read(mut item: ItemFn, named: bool) -> Result<Function> {
        let signature = &item.sig;
        if let Some(parameter) = signature.generics.params.first() {
            return Err(Error::new(
                parameter.span(),
                "a tool cannot be generic: models call it with plain values",
            ));
        }
        if let Safety::Unsafe(token) = &signature.safety {
            return Err(Error::new(token.span(), "a tool cannot be unsafe"));
        }
        if let Some(variadic) = &signature.variadic {
            return Err(Error::new(variadic.span(), "a tool cannot be variadic; take a `Vec`"));
        }
        if !named {
            let name = name_of(&signature.ident);
            check_name(&name).map_err(|message| {
                Error::new(signature.ident.span(), format!("{message}, or give one: `#[tool(name = \"…\")]`"))
            })?;
        }
        let doc = doc_of(&item.attrs);
        let input = Input::read(item.sig.inputs.iter())?;
        for parameter in &mut item.sig.inputs {
            if let FnArg::Typed(typed) = parameter {
                // Rust itself knows no doc comments here.
                typed.attrs.retain(|attribute| !attribute.path().is_ident("doc"));
            }
        }
        let output = Output::read(&item.sig.output)?;
        Ok(Function { item, doc, input, output })
    }

    /// The name of the function.
    pub(crate) fn name(&self) -> String {
        name_of(&self.item.sig.ident)
    }
}

fn name_of(ident: &syn::Ident) -> String {
    ident.to_string().trim_start_matches("r#").to_owned()
}

impl Input {
    fn read<'a>(parameters: impl ExactSizeIterator<Item = &'a FnArg>) -> Result<Input> {
        let single = parameters.len() == 1;
        let mut fields = Vec::new();
        for parameter in parameters {
            let PatType { pat, ty, attrs, .. } = match parameter {
                FnArg::Typed(typed) => typed,
                FnArg::Receiver(receiver) => {
                    return Err(Error::new(receiver.span(), "a tool is a free function and takes no `self`"));
                }
            };
            check_type(ty)?;
            let name = match &**pat {
                Pat::Ident(ident) if ident.subpat.is_none() => name_of(&ident.ident),
                Pat::Struct(_) | Pat::TupleStruct(_) if single => return Ok(Input::Whole(ty.clone())),
                other => {
                    let message = "a parameter of a tool needs a name, since models pass arguments by name";
                    return Err(Error::new(other.span(), message));
                }
            };
            if single && name == "args" {
                return Ok(Input::Whole(ty.clone()));
            }
            fields.push(Parameter { name, doc: doc_of(attrs), ty: (**ty).clone() });
        }
        Ok(Input::Fields(fields))
    }
}

/// Refuses types that no argument can become.
fn check_type(ty: &Type) -> Result<()> {
    match ty {
        Type::Reference(reference) => {
            let message =
                "a parameter of a tool is an owned value: take `String` for `&str`, `Vec<T>` for `&[T]`";
            Err(Error::new(reference.span(), message))
        }
        Type::ImplTrait(_) => Err(Error::new(ty.span(), "a parameter of a tool needs a concrete type")),
        _ => Ok(()),
    }
}

impl Output {
    fn read(output: &ReturnType) -> Result<Output> {
        let ReturnType::Type(_, ty) = output else { return Ok(Output::Nothing) };
        match &**ty {
            Type::Reference(reference) => Err(Error::new(
                reference.span(),
                "the result of a tool is an owned value: give `String` for `&str`",
            )),
            Type::ImplTrait(_) => Err(Error::new(
                ty.span(),
                "the result of a tool needs a concrete type, since its signature names it",
            )),
            _ => Ok(match success_type(ty) {
                Some(success) => Output::Fallible(Box::new(success.clone())),
                None => Output::Plain(ty.clone()),
            }),
        }
    }
}

/// `T` of `Result<T, E>`, under whatever path.
fn success_type(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// The text of doc comments.
fn doc_of(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}
