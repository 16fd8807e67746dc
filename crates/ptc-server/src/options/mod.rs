//! The server's configuration. The command line beats the environment, which beats the defaults; what is unknown or
//! wrong is refused, all of it at once.

mod check;
mod kinds;
mod page;
mod table;

use std::collections::BTreeMap;

use serde_json::{Map, json};

pub use self::check::is_loopback;
pub use self::kinds::{
    ApprovalBy, ApprovalPage, CatalogMode, Form, Listen, LogLevel, MIN_TOKEN_BYTES, Natural, ResponseProfile,
    StorePlace, TracePayloads, ValueKind, Within,
};
pub use self::page::page;
pub(crate) use self::table::programs_memory;
pub use self::table::{Options, PREFIX, SETTINGS, Setting};
pub use ptc_upstream::config::Found;

/// Variables that begin like settings and are read when the server is built.
const BUILD_VARIABLES: [&str; 2] = ["PTC_RUNNER_MCP_GIT_COMMIT", "PTC_RUNNER_MCP_GIT_DIRTY"];

/// What is wrong with a configuration, one line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct BadOptions(pub Vec<String>);

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SettingOrigin {
    Flag,
    Variable,
}

/// A configuration that was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub options: Options,
    /// What is allowed but looks like a mistake.
    pub warnings: Vec<String>,
    origins: BTreeMap<&'static str, SettingOrigin>,
}

impl Loaded {
    /// Reads flags, as names with their values, and variables of the environment.
    pub fn read(
        flags: impl IntoIterator<Item = (String, String)>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Loaded, BadOptions> {
        let environment: BTreeMap<String, String> = environment.into_iter().collect();
        let mut reading = SettingsReader::default();
        reading.variables(&environment);
        reading.flags(flags);
        let SettingsReader { mut options, origins, mut problems } = reading;
        let warnings = check::check(&mut options, &origins, &environment, &mut problems);
        match problems.is_empty() {
            true => Ok(Loaded { options, warnings, origins }),
            false => Err(BadOptions(problems)),
        }
    }

    /// Every setting with its value and where that comes from, as JSON without secrets.
    pub fn shown(&self) -> String {
        let rows = SETTINGS.iter().map(|setting| {
            let from = match self.origins.get(setting.flag) {
                Some(SettingOrigin::Flag) => format!("--{}", setting.flag),
                Some(SettingOrigin::Variable) => setting.variable(),
                None => "default".to_owned(),
            };
            (setting.flag.to_owned(), json!({"value": (setting.show)(&self.options), "from": from}))
        });
        let rows: Map<_, _> = rows.collect();
        let lines: Vec<String> = rows.iter().map(|(flag, row)| format!("  {}: {row}", json!(flag))).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }
}

#[derive(Default)]
struct SettingsReader {
    options: Options,
    origins: BTreeMap<&'static str, SettingOrigin>,
    problems: Vec<String>,
}

impl SettingsReader {
    fn variables(&mut self, environment: &BTreeMap<String, String>) {
        let known: BTreeMap<String, &'static Setting> =
            SETTINGS.iter().map(|setting| (setting.variable(), setting)).collect();
        for (name, value) in environment.range(PREFIX.to_owned()..) {
            if !name.starts_with(PREFIX) {
                break;
            }
            match known.get(name) {
                _ if value.trim().is_empty() || BUILD_VARIABLES.contains(&name.as_str()) => {}
                Some(setting) => self.set(setting, value, SettingOrigin::Variable),
                None => {
                    // What all of them begin with says nothing about how near two are.
                    let known = known.keys().filter_map(|name| name.strip_prefix(PREFIX));
                    let near = ptc_upstream::config::closest(&name[PREFIX.len()..], known);
                    let near = near.map(|near| format!("{PREFIX}{near}"));
                    self.problems.push(format!("unknown variable {name}{}", did_you_mean(near)));
                }
            }
        }
    }

    fn flags(&mut self, flags: impl IntoIterator<Item = (String, String)>) {
        let mut many: BTreeMap<&'static str, String> = BTreeMap::new();
        for (name, value) in flags {
            match SETTINGS.iter().find(|setting| setting.flag == name) {
                None => {
                    let near =
                        ptc_upstream::config::closest(&name, SETTINGS.iter().map(|setting| setting.flag));
                    self.problems.push(format!(
                        "unknown flag --{name}{}",
                        did_you_mean(near.map(|near| format!("--{near}")))
                    ));
                }
                Some(setting) if setting.form == Form::Many => {
                    let all = many.entry(setting.flag).or_default();
                    all.push(',');
                    all.push_str(&value);
                    let all = all.clone();
                    self.set(setting, &all, SettingOrigin::Flag);
                }
                Some(setting) if self.origins.get(setting.flag) == Some(&SettingOrigin::Flag) => {
                    self.problems.push(format!("--{} is given twice", setting.flag));
                }
                Some(setting) => self.set(setting, &value, SettingOrigin::Flag),
            }
        }
    }

    fn set(&mut self, setting: &'static Setting, value: &str, origin: SettingOrigin) {
        self.origins.insert(setting.flag, origin);
        if let Err(problem) = (setting.set)(&mut self.options, value.trim()) {
            self.problems.push(format!("--{} / {} {problem}", setting.flag, setting.variable()));
        }
    }
}

fn did_you_mean(near: Option<String>) -> String {
    near.map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}
