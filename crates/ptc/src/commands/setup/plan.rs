//! What a setup does at each place of a file where servers stand: which of them move, and which stay and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use ptc_upstream::Config;
use serde_json::{Map, Value as Json, json};

use super::client::Client;
use super::elsewhere::Gate;
use super::entry::{self, EntryOrigin};
use super::file::{self, Scope, Spot, Texts};
use super::place::{SetupFiles, State, Text};
use super::rules::{Rules, with_real_names};
use super::variables;

/// What happens at one place of a file.
pub struct Step {
    /// The place.
    pub spot: Spot,
    /// The servers that are behind ours then, as they are kept.
    pub moved: Map<String, Json>,
    /// Those of them that stand in the client's file now.
    pub fresh: BTreeSet<String>,
    /// Those of them whose name another one had that was moved before.
    replaced: BTreeSet<String>,
    /// Those that stay in the client, with what keeps them there.
    stays: Vec<(String, String)>,
    /// What goes with servers of what the client says of their tools, in words.
    remarks: Vec<(String, Vec<String>)>,
    /// Those whose tools the model may call without anybody being asked, the rule that says so, and where it stands.
    allowed: Vec<(String, String, PathBuf)>,
    /// Where they are kept.
    pub servers: PathBuf,
}

/// The file of a client and what is known of it.
pub struct File<'f> {
    pub client: &'f Client,
    pub place: &'f SetupFiles,
    /// As it is now.
    pub now: &'f Text,
    /// What is kept of it, if it was set up.
    pub state: Option<&'f State>,
}

impl File<'_> {
    /// The text with all servers in it, as if it had never been set up.
    pub fn whole(&self) -> anyhow::Result<String> {
        let mut text = self.now.text.clone();
        let Some(State { base, after }) = self.state else { return Ok(text) };
        for spot in self.set_up()? {
            let texts = Texts { base: &base.text, after: &after.text, now: &text };
            text = file::restored(self.client, &texts, &spot)?;
        }
        Ok(text)
    }

    /// Whether somebody changed our own entry, which putting servers back would lose.
    pub fn own_entry_changed(&self) -> anyhow::Result<bool> {
        let Some(state) = self.state else { return Ok(false) };
        for spot in self.set_up()? {
            let after = file::servers(self.client, &state.after.text, &spot)?;
            let now = file::servers(self.client, &self.now.text, &spot)?;
            if now.get(spot.name).is_some_and(|entry| Some(entry) != after.get(spot.name)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The places from which servers were moved.
    fn set_up(&self) -> anyhow::Result<Vec<Spot>> {
        let Some(State { base, after }) = self.state else { return Ok(Vec::new()) };
        let mut spots = Vec::new();
        for spot in file::spots(self.client, &self.place.scope, &base.text)? {
            if !file::moved(self.client, &base.text, &after.text, &spot)?.is_empty() {
                spots.push(spot);
            }
        }
        Ok(spots)
    }

    /// Whether our server stands in the file.
    pub fn has_own(&self) -> anyhow::Result<bool> {
        for spot in self.set_up()? {
            if file::servers(self.client, &self.now.text, &spot)?.contains_key(spot.name) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The text with all servers in it as the file is `now`, if it has the same servers as when it was looked at.
    pub fn still(&self, now: &Text, base: Text) -> anyhow::Result<Text> {
        if now == self.now {
            return Ok(base);
        }
        let file = self.place.file.display();
        let changed = || format!("{file} was changed meanwhile, and nothing was done; try again");
        let newer = File { now, ..*self };
        let whole = now.with(newer.whole().with_context(changed)?);
        if self.all_servers(&whole.text).with_context(changed)? != self.all_servers(&base.text)? {
            bail!(changed());
        }
        Ok(whole)
    }

    /// The servers of a text, by the keys of their places.
    fn all_servers(&self, text: &str) -> anyhow::Result<BTreeMap<Vec<String>, Map<String, Json>>> {
        let spots = file::spots(self.client, &self.place.scope, text)?.into_iter();
        spots.map(|spot| Ok((spot.keys.clone(), file::servers(self.client, text, &spot)?))).collect()
    }

    /// The servers that were moved at first and that a text has others of the same name for.
    pub fn not_in(&self, text: &str) -> anyhow::Result<Vec<String>> {
        let Some(state) = self.state else { return Ok(Vec::new()) };
        let first = Text::read(&self.place.copy())?;
        let mut lost = Vec::new();
        for spot in file::spots(self.client, &self.place.scope, &first.text)? {
            let now = file::servers(self.client, text, &spot)?;
            let first = file::servers(self.client, &first.text, &spot)?;
            let moved = file::moved(self.client, &state.base.text, &state.after.text, &spot)?;
            let lost_here = moved
                .into_iter()
                .filter(|name| first.get(name).is_some_and(|entry| now.get(name) != Some(entry)));
            lost.extend(lost_here);
        }
        Ok(lost)
    }

    /// What happens to the whole text.
    pub fn steps(&self, whole: &str) -> anyhow::Result<Vec<Step>> {
        let file = self.place.file.display();
        let unusable = || format!("{file} cannot be used");
        let mut steps = Vec::new();
        for spot in file::spots(self.client, &self.place.scope, whole).with_context(unusable)? {
            let servers = file::servers(self.client, whole, &spot).with_context(unusable)?;
            if servers.contains_key(spot.name) {
                bail!("{file} has a server '{}' beside others; rename or remove it first", spot.name);
            }
            if let Some(why) = Gate::of(self.client, whole).keeps_out(spot.name) {
                bail!("{file} keeps our server '{}' out: {why}; change that first", spot.name);
            }
            if !servers.is_empty() {
                steps.push(self.step(spot, servers)?);
            }
        }
        if steps.is_empty() {
            bail!(
                "{file} has no servers to move; `ptc mcp --client {}` shows how to add ptc by itself",
                self.client.name
            );
        }
        some_move(&steps, self.place)?;
        Ok(steps)
    }

    fn step(&self, spot: Spot, servers: Map<String, Json>) -> anyhow::Result<Step> {
        let kept = self.place.servers(&spot);
        let now = file::servers(self.client, &self.now.text, &spot)?;
        let before = match self.state {
            Some(_) => earlier(&kept)?,
            None => Map::new(),
        };
        let origin = EntryOrigin { client: self.client, folder: spot.folder.as_deref() };
        let gate = Gate::of(self.client, &self.now.text);
        let rules = Rules::of(self.client, self.place, &spot, &self.now.text)?;
        let (mut remarks, mut allowed) = (Vec::new(), Vec::new());
        let mut entered = |name: &str, entry: &Json| -> Result<Json, String> {
            if let Some(why) = gate.keeps_out(name) {
                return Err(format!("the client does not start it: {why}"));
            }
            let mut entry = entry::moved(entry, &origin)?;
            let mut said = entry::switched(&mut entry, self.client)?;
            said.extend(rules.apply(name, &mut entry)?);
            said.extend(variables::emptied(&entry).into_iter().map(|variable| {
                format!(
                    "! {variable} is not set here: the server gets nothing in its place, as from the client"
                )
            }));
            remarks.push((name.to_owned(), said));
            allowed.extend(
                rules
                    .allowed(name)
                    .map(|(rule, file)| (name.to_owned(), rule.to_owned(), file.to_path_buf())),
            );
            Ok(entry)
        };
        let (mut moved, mut stays) = (Map::new(), Vec::new());
        for (name, entry) in servers {
            // What was moved before may have been changed since, in our file.
            let known = before.get(&name).filter(|_| !now.contains_key(&name)).cloned();
            match known.map_or_else(|| entered(&name, &entry), Ok) {
                Ok(entry) => drop(moved.insert(name, entry)),
                Err(why) => {
                    let why = format!("server '{name}': {why}");
                    stays.push((name, why));
                }
            }
        }
        let base = kept.parent().unwrap_or(Path::new(""));
        for (name, problems) in Config::client_problems(moved.clone(), base) {
            moved.remove(&name);
            let why = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            stays.push((name, why));
        }
        let fresh: BTreeSet<String> = moved.keys().filter(|name| now.contains_key(*name)).cloned().collect();
        let differs = |name: &&String| before.get(*name).is_some_and(|entry| moved.get(*name) != Some(entry));
        let replaced = fresh.iter().filter(differs).cloned().collect();
        allowed.retain(|(name, ..)| fresh.contains(name));
        Ok(Step { spot, moved, fresh, replaced, stays, remarks, allowed, servers: kept })
    }
}

/// The whole text with our server in the place of those that move.
pub fn with_own(client: &Client, whole: &str, steps: &[Step], program: &str) -> anyhow::Result<String> {
    let mut text = whole.to_owned();
    for step in steps.iter().filter(|step| !step.moved.is_empty()) {
        let names: Vec<String> = step.moved.keys().cloned().collect();
        let entry = client.own_entry(program, &step.words(), &step.variables(), step.time());
        text = file::replaced(client, &text, &step.spot, &names, &entry)?;
    }
    Ok(text)
}

/// An error if all servers stay where they are.
pub fn some_move(steps: &[Step], place: &SetupFiles) -> anyhow::Result<()> {
    let moving = || steps.iter().flat_map(|step| step.moved.values());
    if moving().any(|entry| !is_off(entry)) {
        return Ok(());
    }
    if moving().next().is_some() {
        bail!("all servers of {} that could be moved are switched off", place.file.display());
    }
    let why = steps.iter().flat_map(|step| &step.stays).map(|(_, why)| format!("\n  {why}"));
    bail!("no server of {} can be moved:{}", place.file.display(), why.collect::<String>());
}

/// Whether our reader leaves a server out, as the client does.
fn is_off(entry: &Json) -> bool {
    entry["disabled"] == true || entry["enabled"] == false
}

/// The servers that were moved before, as they are kept.
fn earlier(file: &Path) -> anyhow::Result<Map<String, Json>> {
    if !file.exists() {
        return Ok(Map::new());
    }
    let text = Text::read(file)?;
    let value: Json =
        serde_json::from_str(&text.text).with_context(|| format!("{} is not JSON", file.display()))?;
    Ok(value.get("mcpServers").and_then(Json::as_object).cloned().unwrap_or_default())
}

impl Step {
    /// The variables that its servers need.
    pub fn variables(&self) -> BTreeSet<String> {
        self.moved.values().flat_map(variables::variables).collect()
    }

    /// The name in the client's file of a server that has this one in programs.
    pub fn name_of(&self, upstream: &str) -> Option<String> {
        self.moved.keys().find(|name| Config::client_server_name(name) == upstream).cloned()
    }

    /// Gives rules of the client the names that the tools of a server have.
    pub fn know_tools(&mut self, client: &Client, upstream: &str, tools: &[&str]) {
        let Some(name) = self.name_of(upstream).filter(|name| self.fresh.contains(name)) else { return };
        let Some(entry) = self.moved.get_mut(&name) else { return };
        let remarks = with_real_names(client, entry, tools);
        self.remarks.push((name, remarks));
    }

    /// Leaves a server in the client, unless it was moved before.
    pub fn leave(&mut self, name: &str, why: &str) {
        if self.fresh.remove(name) {
            self.moved.remove(name);
            self.stays.push((name.to_owned(), format!("server '{name}': {why}")));
        }
    }

    /// What is written into the file of its servers.
    pub fn kept(&self) -> String {
        format!("{:#}\n", json!({"mcpServers": self.moved}))
    }

    /// The words that start our server for it.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.words_without_servers();
        words.insert(1, format!("--upstreams-config={}", self.servers.display()));
        words
    }

    /// The same, without those that say where its servers are.
    pub fn words_without_servers(&self) -> Vec<String> {
        let mut words = vec!["mcp".to_owned()];
        words.extend(self.time().map(|time| format!("--program-timeout-ms={time}")));
        words
    }

    /// How many milliseconds a program needs that waits for its slowest server, if they are more than it has anyway.
    pub fn time(&self) -> Option<u64> {
        const USUAL: u64 = 10_000;
        let times = self.moved.values().filter_map(|entry| entry.get(entry::CALL_TIME)?.as_u64());
        times.max().map(|time| time + USUAL / 2).filter(|time| *time > USUAL)
    }

    /// Its servers as they are reached from here.
    pub fn config(&self) -> Result<Config, String> {
        let servers: Map<String, Json> =
            self.moved.iter().map(|(name, entry)| (name.clone(), entry::from_here(entry))).collect();
        let base = self.servers.parent().unwrap_or(Path::new(""));
        Config::from_value(json!({"mcpServers": servers}), base).map_err(|error| error.to_string())
    }

    /// That the client asks about our tools where it did not ask about those of servers that move.
    fn told_of_asking(&self) -> String {
        let Some((_, rule, file)) = self.allowed.first() else { return String::new() };
        let names: BTreeSet<&str> = self.allowed.iter().map(|(name, ..)| name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        format!(
            "  ! the model may call {} without asking ({rule} in {}); about ptc the client asks. \"mcp__{}__lisp_eval\" under \
             \"permissions.allow\" allows it, and with it all that stands behind ptc but for what rules under \"deny\" and \
             \"ask\", which move with their servers, and \"approval\" hold back\n",
            names.join(", "),
            file.display(),
            self.spot.name,
        )
    }

    /// What it does, in lines.
    pub fn told(&self, place: &SetupFiles) -> String {
        let mut told = place.file.display().to_string();
        if let (false, Some(folder)) = (self.spot.is_main(), &self.spot.folder) {
            let _ = write!(told, ", in {}", folder.display());
        }
        told.push('\n');
        for name in self.moved.keys() {
            let _ = match self.fresh.contains(name) {
                true if self.replaced.contains(name) => {
                    writeln!(told, "  - {name}, in place of the one of this name that was moved before")
                }
                true => writeln!(told, "  - {name}"),
                false => writeln!(told, "    {name} was moved before"),
            };
            for remark in self.remarks.iter().filter(|(of, _)| of == name).flat_map(|(_, remarks)| remarks) {
                let _ = writeln!(told, "    {remark}");
            }
        }
        for (name, why) in &self.stays {
            let _ = writeln!(told, "  = {name} stays in the client: {why}");
        }
        if !self.moved.is_empty() {
            let _ = writeln!(told, "  + {}: ptc mcp with {}", self.spot.name, self.servers.display());
            if matches!(place.scope, Scope::Project(_)) {
                told.push_str(
                    "    it names files of this machine: people who share the project each run the setup\n",
                );
            }
            if self.moved.values().any(|entry| entry["inherit_env"] == true) {
                told.push_str(
                    "    servers have the whole environment of the client, as before (\"inherit_env\")\n",
                );
            }
            told.push_str(&self.told_of_asking());
        }
        told
    }
}
