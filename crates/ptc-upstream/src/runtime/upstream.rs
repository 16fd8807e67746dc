//! One upstream of a runtime: its client, and what is known of its tools. Listing happens once for all who ask
//! at the same time; definitions are compared with pins, secrets are covered, and only then anybody sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::remember;
use crate::call;
use crate::catalog::{CatalogTool, Server, one_line, purpose, same_name, shortened};
use crate::client::{About, Client};
use crate::config::{EffectClass, PinPolicy, TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::effects::classify;
use crate::model::{Allowance, Fault, Reason, ToolDef};
use crate::pins::{self, Difference, Pins};
use crate::redact::Redactor;

/// A server that could not be reached is not tried again for so long by those who only want to know whether it is there.
const LATELY: Duration = Duration::from_secs(5);

/// An absence of this length is waited for where somebody needs the server, and clients are not told of it: after its first
/// crash a server is soon back.
pub(super) const BRIEF: Duration = Duration::from_secs(1);

/// The generation of tools that must be listed again whatever the client says.
const UNKNOWN_GENERATION: u64 = u64::MAX;

/// Characters of why it could not.
const WHY: usize = 300;

/// One upstream.
pub(super) struct Upstream {
    pub config: UpstreamConfig,
    pub client: Arc<dyn Client>,
    redactor: Redactor,
    /// What is known, for readers who do not wait.
    known: RwLock<Known>,
    /// Held while tools are listed.
    listing: tokio::sync::Mutex<()>,
    /// Where it is kept what it offers.
    kept: Option<PathBuf>,
    /// Tools that it has not had and that are taken up when it has them, although its catalog is frozen.
    awaited: Mutex<BTreeSet<String>>,
}

/// What is known of the tools of an upstream.
#[derive(Clone, Default)]
pub(super) struct Known {
    /// The server as programs see it.
    pub server: Arc<Server>,
    /// Tools that are there and must not be used, with the reason.
    pub withheld: Arc<BTreeMap<String, String>>,
    /// How tools differ from their pins.
    pub differences: Arc<Vec<Difference>>,
    /// The hashes of the definitions.
    hashes: Arc<BTreeMap<String, String>>,
    /// The client's generation when they were listed.
    generation: u64,
    /// Why the last listing failed, and when.
    pub failed: Option<(Instant, Fault)>,
}

/// What tools are compared with when they are listed.
#[derive(Clone)]
pub(super) struct Standard {
    /// The pins, and what a difference means.
    pub pins: Option<(Arc<Pins>, PinPolicy)>,
    /// Whether what was listed first stays.
    pub frozen: bool,
}

/// A tool that a program asked for.
pub(super) enum FoundTool {
    /// It can be called.
    Tool(Arc<CatalogTool>),
    /// It is there and must not be used.
    Withheld(String),
    /// It is there and cannot be used.
    Unusable(String),
    /// It is not there; these are.
    Unknown(Arc<Server>),
}

impl Upstream {
    pub fn new(
        config: &UpstreamConfig,
        client: Arc<dyn Client>,
        secrets: &Secrets,
        kept: Option<PathBuf>,
    ) -> Upstream {
        let server = Server {
            name: config.name.clone(),
            description: config.description.clone().unwrap_or_default(),
            own_words: config.description.is_none(),
            tags: config.tags.clone(),
            approval: config.approval.clone(),
            remembered: kept.as_deref().and_then(|file| remember::load(file, config)),
            ..Server::default()
        };
        let known = Known { server: Arc::new(server), ..Known::default() };
        Upstream {
            config: config.clone(),
            client,
            redactor: secrets.redactor(),
            known: RwLock::new(known),
            listing: tokio::sync::Mutex::new(()),
            kept,
            awaited: Mutex::default(),
        }
    }

    /// What is known now.
    pub fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the server says about itself, with secrets covered.
    pub fn about(&self) -> Option<About> {
        Some(self.client.about()?.map(|text| self.redactor.redact_string(text)))
    }

    /// The names of the credentials that it needs.
    pub fn credentials(&self) -> Vec<String> {
        let endpoint = self.config.transport.endpoint();
        endpoint.into_iter().flat_map(|endpoint| &endpoint.auth).map(|rule| rule.binding.clone()).collect()
    }

    /// What starting it and listing its tools may cost.
    fn allowance(&self) -> Allowance {
        let timeout = match &self.config.transport {
            TransportConfig::Stdio(stdio) => stdio.handshake_timeout,
            TransportConfig::Http(http) => http.handshake_timeout + http.endpoint.connect_timeout,
            TransportConfig::OpenApi(api) => api.endpoint.request_timeout + api.endpoint.connect_timeout,
        };
        // Shaking hands has its own limit; what comes after it is one more exchange.
        Allowance {
            timeout: timeout + Duration::from_secs(10),
            max_bytes: self.config.max_response_bytes,
            max_values: usize::MAX,
            once: false,
        }
    }

    /// Lists the tools unless they are known; true if something changed. In a frozen runtime tools stay as they
    /// were listed first; whether they still are is looked at when the server says that they changed.
    pub async fn load(&self, standard: &Standard) -> Result<bool, Fault> {
        self.listed_unless(standard, Self::is_current).await
    }

    /// The same, and a server that is known to be down is started again, after a brief rest if it has one.
    pub async fn reach(&self, standard: &Standard) -> Result<bool, Fault> {
        self.rest_briefly().await;
        self.listed_unless(standard, |upstream| upstream.is_current() && upstream.client.down().is_none())
            .await
    }

    /// Lists the tools once more, whatever is known of them, and starts the server again if it is down, after a brief rest if it
    /// has one.
    pub async fn look_anew(&self, standard: &Standard) -> Result<bool, Fault> {
        self.rest_briefly().await;
        self.listed_unless(standard, |_| false).await
    }

    async fn rest_briefly(&self) {
        if let Some(until) = self.client.rests_until().filter(|until| *until <= Instant::now() + BRIEF) {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    async fn listed_unless(
        &self,
        standard: &Standard,
        is_known: impl Fn(&Upstream) -> bool,
    ) -> Result<bool, Fault> {
        let asked = Instant::now();
        if is_known(self) {
            return Ok(false);
        }
        let _alone = self.listing.lock().await;
        if is_known(self) {
            return Ok(true);
        }
        if let Some((_, fault)) = self.known().failed.filter(|(at, _)| *at >= asked) {
            // Somebody else was refused while we waited.
            return Err(fault);
        }
        let before = self.client.generation();
        let listed = self.definitions().await;
        let after = self.client.generation();
        // Being started for the first time is no change; anything else that happened meanwhile is.
        let generation = if before == 0 && after == 1 { after } else { before };
        let mut known = self.known();
        let result = match listed {
            Ok(tools) => {
                known = self.judged(known, tools, standard);
                if let Some(file) = &self.kept
                    && let Err(error) = remember::save(file, &known.server)
                {
                    tracing::debug!("cannot keep what is offered in {}: {error}", file.display());
                }
                known.generation = generation;
                known.failed = None;
                Ok(true)
            }
            Err(fault) => {
                known.failed = Some((Instant::now(), fault.clone()));
                Err(fault)
            }
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        result
    }

    /// The tools as the server defines them now, unless the configuration says of a tool that is not there what it does.
    pub async fn definitions(&self) -> Result<Vec<ToolDef>, Fault> {
        let tools = self.client.list(self.allowance()).await?;
        match self.config.misnamed_effect(&tools, &self.client.excluded()) {
            Some(why) => {
                let why = self.redactor.redact_string(why);
                Err(Fault::new(Reason::UpstreamUnavailable, why).before_sending())
            }
            None => Ok(tools),
        }
    }

    /// The hash of the definition of a tool that is listed.
    pub fn definition_hash(&self, tool: &str) -> Option<String> {
        self.known().hashes.get(tool).cloned()
    }

    fn is_current(&self) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.server.tools.is_some() && known.generation == self.client.generation()
    }

    /// Has a tool taken up that is not there, as soon as it is. True if it was not awaited before: then it may be there
    /// already, and the tools are to be listed once more.
    pub fn await_tool(&self, tool: &str) -> bool {
        let is_new = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
        if is_new {
            self.known.write().unwrap_or_else(PoisonError::into_inner).generation = UNKNOWN_GENERATION;
        }
        is_new
    }

    /// Whether another look at it would tell nothing new: its tools are known for certain, or it was just tried.
    pub fn is_settled(&self) -> bool {
        let tried = |known: &Known| match self.client.rests_until() {
            Some(until) => until > Instant::now() + BRIEF,
            None => known.failed.as_ref().is_some_and(|(at, _)| at.elapsed() < LATELY),
        };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        tried(&known)
            || known.server.tools.is_some()
                && known.generation == self.client.generation()
                && self.client.down().is_none()
    }

    /// Why nobody knows for certain which tools it has; nothing if it is known.
    pub fn unreachable(&self) -> Option<String> {
        let known = self.known();
        let failed = self.client.down().or_else(|| known.failed.map(|(_, fault)| fault));
        match (failed, &known.server.tools) {
            // When it is tried again would be wrong by the time that somebody reads it.
            (Some(fault), _) => Some(one_line(fault.cause(), WHY)),
            (None, None) => Some("its tools have not been listed".to_owned()),
            (None, Some(_)) => None,
        }
    }

    /// Why it is not there, in a line: what it said last if it said anything. Nothing if it is there, or nobody has tried.
    pub fn down(&self) -> Option<String> {
        let failed = || self.known().failed.map(|(_, fault)| fault);
        self.client.down().or_else(failed).map(|fault| one_line(fault.cause(), WHY))
    }

    /// Whether it is down for a moment only, and was there before.
    pub fn is_briefly_away(&self) -> bool {
        let now = Instant::now();
        let brief = |until: Instant| until > now && until <= now + BRIEF;
        self.client.rests_until().is_some_and(brief) && self.known().failed.is_none()
    }

    /// What is known once these tools are listed.
    fn judged(&self, before: Known, tools: Vec<ToolDef>, standard: &Standard) -> Known {
        let name = &self.config.name;
        let hashes: BTreeMap<String, String> =
            tools.iter().map(|tool| (tool.name.clone(), pins::hash(tool))).collect();
        if standard.frozen && before.server.tools.is_some() {
            let changed = before.hashes.iter().filter(|(tool, hash)| hashes.get(*tool) != Some(hash));
            let withheld = changed.map(|(tool, _)| {
                let what = "is not as it was when this catalog was made; start again to look at it";
                (tool.clone(), format!("tool '{name}/{tool}' {what}"))
            });
            // Tools that their pins hold back are not among those that are shown.
            let shown = |tool: &String| before.server.tools.iter().any(|tools| tools.contains_key(tool));
            let mut all = (*before.withheld).clone();
            all.retain(|tool, _| !shown(tool));
            all.extend(withheld);
            for (tool, why) in &all {
                tracing::warn!(upstream = %name, tool = %self.redactor.redact_str(tool), "{why}");
            }
            let known = Known { withheld: Arc::new(all), ..before };
            return self.with_awaited(known, tools, standard);
        }
        let differences =
            standard.pins.as_ref().map(|(pins, _)| pins.compare(name, &tools)).unwrap_or_default();
        for difference in &differences {
            tracing::warn!(upstream = %name, "{}", self.redactor.redact_str(&difference.to_string()));
        }
        // Once: what a server lists again would only repeat it.
        let first = before.server.tools.is_none();
        for rule in self.config.idle_rules(&tools, &self.client.excluded()).iter().filter(|_| first) {
            tracing::warn!(upstream = %name, "{}", self.redactor.redact_str(rule));
        }
        let refuses = standard.pins.as_ref().is_some_and(|(_, policy)| *policy == PinPolicy::Refuse);
        let withheld: BTreeMap<String, String> = differences
            .iter()
            .filter(|_| refuses)
            .map(|difference| (difference.tool.clone(), self.redactor.redact_string(difference.to_string())))
            .collect();
        let kept = tools.into_iter().enumerate().filter(|(_, tool)| !withheld.contains_key(&tool.name));
        let tools = kept.map(|(place, tool)| {
            let tool = self.tool(tool, place);
            (tool.def.name.clone(), Arc::new(tool))
        });
        // With pins, programs see what somebody has looked at: not what a server says of itself today.
        let about = self.about().filter(|_| standard.pins.is_none()).map(shortened);
        let server = Server {
            description: self.description(about.as_ref()),
            about: about.map(Arc::new),
            tools: Some(tools.collect()),
            held: Arc::new(self.unusable()),
            remembered: None,
            ..(*before.server).clone()
        };
        Known {
            server: Arc::new(server),
            withheld: Arc::new(withheld),
            differences: Arc::new(differences),
            hashes: Arc::new(hashes),
            generation: 0,
            failed: None,
        }
    }

    /// What is known, with tools that were awaited and are there now. With pins nothing is added that nobody has looked at.
    fn with_awaited(&self, mut known: Known, tools: Vec<ToolDef>, standard: &Standard) -> Known {
        let awaited = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_late = |tool: &ToolDef| {
            !known.hashes.contains_key(&tool.name) && awaited.iter().any(|name| same_name(name, &tool.name))
        };
        let late = tools.into_iter().enumerate().filter(|(_, tool)| is_late(tool) && standard.pins.is_none());
        let late: Vec<(usize, ToolDef)> = late.collect();
        if late.is_empty() {
            return known;
        }
        let (mut server, mut hashes) = ((*known.server).clone(), (*known.hashes).clone());
        for (place, tool) in late {
            hashes.insert(tool.name.clone(), pins::hash(&tool));
            let tool = self.tool(tool, place);
            tracing::info!(upstream = %self.config.name, tool = %tool.def.name, "is there now, and taken up");
            server.tools.get_or_insert_default().insert(tool.def.name.clone(), Arc::new(tool));
        }
        (known.server, known.hashes) = (Arc::new(server), Arc::new(hashes));
        known
    }

    /// Tools that it has and that cannot be used, by name, each with what a program is told that asks for one.
    fn unusable(&self) -> BTreeMap<String, String> {
        let covered = |text: &str| self.redactor.redact_string(text.to_owned());
        let told = |(tool, why): (String, String)| {
            let tool = covered(&tool);
            let why = call::unusable_tool(&self.config.name, &tool, &covered(&why));
            (tool, why)
        };
        self.client.unusable().into_iter().map(told).collect()
    }

    /// What the operator says it is for, else what it says itself.
    fn description(&self, about: Option<&About>) -> String {
        let own = || about.map(|about| purpose(&self.config.name, about)).unwrap_or_default();
        self.config.description.clone().unwrap_or_else(own)
    }

    /// A tool as programs may see it.
    fn tool(&self, mut def: ToolDef, place: usize) -> CatalogTool {
        let effect = classify(&def, self.said(&def));
        let covered = |text: &mut String| *text = self.redactor.redact_string(std::mem::take(text));
        covered(&mut def.name);
        covered(&mut def.description);
        let maps = [&mut def.input_schema, &mut def.annotations, &mut def.provenance];
        maps.into_iter().chain(&mut def.output_schema).for_each(|map| self.redactor.redact_map(map));
        CatalogTool { def, effect, place }
    }

    /// What the operator says about the effect of a tool.
    fn said(&self, def: &ToolDef) -> Option<EffectClass> {
        let by_name = self.config.effect_of(&def.name);
        let TransportConfig::OpenApi(api) = &self.config.transport else { return by_name };
        let id = def.provenance.get("operationId").and_then(|id| id.as_str());
        by_name.or_else(|| api.overrides.get(id?)?.effect)
    }

    /// The tool of this name, among those that are known.
    pub fn find(&self, name: &str) -> FoundTool {
        let known = self.known();
        let tool = known.server.tool(name).cloned();
        let exact = tool.as_ref().map_or(name, |tool| tool.def.name.as_str());
        match (known.withheld.get(exact), tool, known.server.held.get(name)) {
            (Some(why), ..) => FoundTool::Withheld(why.clone()),
            (None, Some(tool), _) => FoundTool::Tool(tool),
            (None, None, Some(why)) => FoundTool::Unusable(why.clone()),
            (None, None, None) => FoundTool::Unknown(known.server),
        }
    }
}
