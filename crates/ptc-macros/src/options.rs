//! What may stand in the brackets of the attribute.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::{Ident, LitStr, Path, Result, meta};

/// Names that belong to the language and the system.
const RESERVED: [&str; 3] = ["return", "fail", "lisp_eval"];

/// The options of the attribute.
#[derive(Default)]
pub(crate) struct Options {
    /// The name that models call.
    pub(crate) name: Option<LitStr>,
    /// What the tool does.
    pub(crate) description: Option<LitStr>,
    /// Which calls wait for a person: the name of a form of `Approval`.
    pub(crate) approval: Option<Ident>,
    /// Where `ptc_agent` is.
    pub(crate) krate: Option<Path>,
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> Result<Options> {
        let mut options = Options::default();
        let parser = meta::parser(|meta| {
            if meta.path.is_ident("name") {
                let name: LitStr = meta.value()?.parse()?;
                check_name(&name.value()).map_err(|message| syn::Error::new(name.span(), message))?;
                options.name = Some(name);
            } else if meta.path.is_ident("description") {
                options.description = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("approval") {
                let text: LitStr = meta.value()?.parse()?;
                let form = match text.value().as_str() {
                    "ask" => "Ask",
                    "writes" => "Writes",
                    "never" => "Never",
                    _ => {
                        let message = "`approval` is \"ask\", \"writes\" or \"never\"";
                        return Err(syn::Error::new(text.span(), message));
                    }
                };
                options.approval = Some(Ident::new(form, text.span()));
            } else if meta.path.is_ident("crate") {
                options.krate = Some(meta.value()?.parse()?);
            } else {
                return Err(
                    meta.error("unknown option; there are `name`, `description`, `approval` and `crate`")
                );
            }
            Ok(())
        });
        parser.parse2(tokens)?;
        Ok(options)
    }
}

/// Why a name cannot be that of a tool.
pub(crate) fn check_name(name: &str) -> std::result::Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if RESERVED.contains(&name) {
        return Err(format!("`{name}` is a name of the system; choose another"));
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(plain) {
        return Err("the name of a tool is letters, digits, `_` and `-`, and begins with a letter".to_owned());
    }
    Ok(())
}
