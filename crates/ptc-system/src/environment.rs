//! The environment of child processes: a short list is inherited, everything else may hold secrets and must be asked
//! for, by values with `${VAR}` in them.

use std::ffi::OsString;

/// What a child inherits of our environment.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "APPDATA",
];

/// Words in the name of a variable that make its value a secret, wherever they stand: `PGPASSWORD`.
const SECRET_PARTS: &[&str] = &["PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIAL", "APIKEY"];

/// Those that are part of other words, too (`TOKENIZER`), and count by themselves.
const SECRET_WORDS: &[&str] =
    &["TOKEN", "KEY", "PASS", "PWD", "AUTH", "PAT", "BEARER", "JWT", "COOKIE", "SALT", "WEBHOOK"];

/// Where the process is and was, not how it gets in.
const FOLDERS: &[&str] = &["PWD", "OLDPWD"];

/// What a child inherits, with its values. Clear its environment first.
pub fn inherited() -> impl Iterator<Item = (&'static str, OsString)> {
    INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// Whether a variable of this name holds a secret, by the words in it.
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if FOLDERS.contains(&upper.as_str()) {
        return false;
    }
    let is_word = |word: &str| {
        let word = word.to_ascii_uppercase();
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        SECRET_WORDS.contains(&word) || word.strip_suffix('S').is_some_and(|one| SECRET_WORDS.contains(&one))
    };
    SECRET_PARTS.iter().any(|part| upper.contains(part)) || words(name).into_iter().any(is_word)
}

/// The words of a name: `npm_config__authToken` has four.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in name.split(|c: char| !c.is_ascii_alphanumeric()) {
        let mut begin = 0;
        for (at, pair) in part.as_bytes().windows(2).enumerate() {
            if pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase() {
                words.push(&part[begin..=at]);
                begin = at + 1;
            }
        }
        words.push(&part[begin..]);
    }
    words
}

/// Whether a variable can have this name.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// A text with places for variables of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A piece of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text as it is.
    Literal(String),
    /// The value of a variable.
    Variable {
        /// Its name.
        name: String,
        /// What stands there if it is not set or empty.
        default: Option<Template>,
    },
}

impl Part {
    /// A variable that must be set.
    pub fn variable(name: &str) -> Part {
        Part::Variable { name: name.to_owned(), default: None }
    }
}

impl From<&str> for Template {
    /// The text as it is, whatever it looks like.
    fn from(text: &str) -> Template {
        Template { parts: vec![Part::Literal(text.to_owned())] }
    }
}

impl FromIterator<Part> for Template {
    fn from_iter<I: IntoIterator<Item = Part>>(parts: I) -> Template {
        Template { parts: parts.into_iter().collect() }
    }
}

impl std::fmt::Display for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Literal(text) => f.write_str(text),
            Part::Variable { name, default: None } => write!(f, "${{{name}}}"),
            Part::Variable { name, default: Some(default) } => write!(f, "${{{name}:-{default}}}"),
        })
    }
}

impl Template {
    /// Reads a text; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Template, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else {
                return Err("has '${' without '}'".to_owned());
            };
            let name = &rest[start + 2..start + length];
            if !is_variable(name) {
                return Err("has '${…}' around something that is no name of a variable".to_owned());
            }
            if start > 0 {
                parts.push(Part::Literal(rest[..start].to_owned()));
            }
            parts.push(Part::variable(name));
            rest = &rest[start + length + 1..];
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Template { parts })
    }

    /// Its pieces, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The names of its variables, in order, those of defaults behind theirs.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        let mut names = Vec::new();
        self.name_all(&mut names);
        names.into_iter()
    }

    fn name_all<'t>(&'t self, names: &mut Vec<&'t str>) {
        for part in &self.parts {
            let Part::Variable { name, default } = part else { continue };
            names.push(name);
            default.iter().for_each(|default| default.name_all(names));
        }
    }

    /// The text with every variable filled in, or the name of the first that is not set.
    pub fn fill(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Variable { name, default: Some(default) } => {
                    match lookup(name).filter(|value| !value.is_empty()) {
                        Some(value) => text.push_str(&value),
                        None => text.push_str(&default.fill(lookup)?),
                    }
                }
                Part::Variable { name, default: None } => {
                    text.push_str(&lookup(name).ok_or_else(|| name.clone())?);
                }
            }
        }
        Ok(text)
    }
}

/// Whether a variable of this name can stand in a template.
pub fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{INHERITED, is_secret_name};

    #[test]
    fn the_page_about_upstreams_names_all_that_a_child_inherits() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/upstreams.md");
        let page = std::fs::read_to_string(page).expect("the page is there");
        let (_, told) = page.split_once("Of our environment the child\ngets only ").expect("where it begins");
        let (told, _) = told.split_once(", as far as they are set").expect("where it ends");
        let told: BTreeSet<&str> = told.split('`').skip(1).step_by(2).collect();
        assert_eq!(told, INHERITED.iter().copied().collect());
    }

    #[test]
    fn names_of_variables_say_what_is_secret() {
        let secret = "PGPASSWORD MYSQL_PWD DB_PASSWORD authToken SECRETS SESSION_COOKIE APIKEY GITHUB_PAT DBPASSWD \
            npm_config__authToken MY_SECRETS GH_TOKEN2 SIGNING_SALT SLACK_WEBHOOK_URL AWS_SECRET_ACCESS_KEY DB_PASS \
            PASSPHRASE AUTH JWT BEARER CREDENTIALS AWS_ACCESS_KEY_ID apiKey API-KEY KEYS clientSecret";
        for name in secret.split_whitespace() {
            assert!(is_secret_name(name), "{name}");
        }
        let plain = "PATH HOME PWD OLDPWD TOKENIZERS_PARALLELISM MONKEY KEYBOARD COMPASS PATTERN AUTHOR LANG PORT \
            ADDRESS PATIENCE BASALT MAX_TOKENIZER_THREADS NODE_ENV";
        for name in plain.split_whitespace() {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
