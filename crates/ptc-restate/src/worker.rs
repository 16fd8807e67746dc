//! A worker: serves agents as workflows to the Restate server that it is registered at.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use ptc_runner::{Agent, RunOptions, Step};
use restate_sdk::endpoint::Endpoint;
use restate_sdk::errors::HandlerError;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::calls::Missions;
use crate::{door, identity, service};

/// Why agents cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The name does not fit.
    #[error(
        "`{0}` is no name of a workflow: give the agent a name of letters, digits, dots, hyphens and underscores that \
         begins with a letter"
    )]
    Name(String),
    /// Two agents have the same name.
    #[error("two agents are named `{0}`; give one of them another name")]
    Twice(String),
    /// The key is none.
    #[error("the identity key is not one of Restate (publickeyv1_…): {0}")]
    Key(String),
}

/// Makes the agent of one mission and the options of its run from its inputs.
type BeginMission = Box<dyn Fn(&Value) -> Result<(Arc<Agent>, RunOptions), String> + Send + Sync>;

/// Makes the answer to who asked from the step that a run ended with.
type Document = Box<dyn Fn(&Step) -> Value + Send + Sync>;

/// Takes what people should know, a line at a time.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;

/// An agent that is served.
pub struct Served {
    /// The name of the workflow.
    pub name: String,
    agent: Arc<Agent>,
    begin: BeginMission,
    document: Document,
    note: Option<Note>,
}

impl Served {
    /// Serves an agent under a name. `begin` is called whenever a mission is begun or begun again. It gives the agent,
    /// which may have functions of its own for every mission, and options; but for functions they must be the same in
    /// every worker.
    pub fn new(
        name: impl Into<String>,
        agent: Arc<Agent>,
        begin: impl Fn(&Value) -> Result<(Arc<Agent>, RunOptions), String> + Send + Sync + 'static,
    ) -> Self {
        Served {
            name: name.into(),
            agent,
            begin: Box::new(begin),
            document: Box::new(|step| serde_json::to_value(step).unwrap_or_default()),
            note: None,
        }
    }

    /// With another form for the outcome; the step as it is unless told.
    #[must_use]
    pub fn document(mut self, document: impl Fn(&Step) -> Value + Send + Sync + 'static) -> Self {
        self.document = Box::new(document);
        self
    }

    /// With somebody who is told when a mission ends here.
    #[must_use]
    pub fn notes(mut self, note: Note) -> Self {
        self.note = Some(note);
        self
    }

    pub(crate) fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    pub(crate) fn begin(&self, inputs: &Value) -> Result<(Arc<Agent>, RunOptions), String> {
        (self.begin)(inputs)
    }

    pub(crate) fn shown(&self, step: &Step) -> Value {
        (self.document)(step)
    }

    /// Says how a mission ended.
    pub(crate) fn tell(&self, key: &str, ended: &Result<Step, HandlerError>) {
        let Some(note) = &self.note else { return };
        let how = match ended {
            Ok(step) => match &step.fail {
                None => "finished".to_owned(),
                Some(fail) => format!("failed: {} ({})", fail.message, fail.reason),
            },
            Err(error) => format!("stopped: {}", AsRef::<dyn std::error::Error>::as_ref(error)),
        };
        note(&format!("{}/{key} {how}", self.name));
    }
}

/// Agents, ready to be served.
pub struct Worker {
    endpoint: Endpoint,
}

impl Worker {
    /// A worker of agents. With the public key of a Restate server, only that is listened to.
    pub fn new(
        agents: impl IntoIterator<Item = Served>,
        identity_key: Option<&str>,
    ) -> Result<Self, WorkerError> {
        let missions = Arc::new(Missions::default());
        let mut endpoint = Endpoint::builder();
        let mut names = BTreeSet::new();
        for served in agents {
            if !names.insert(served.name.clone()) {
                return Err(WorkerError::Twice(served.name));
            }
            endpoint = endpoint.bind(service::define(Arc::new(served), missions.clone())?);
        }
        if let Some(key) = identity_key {
            identity::install();
            endpoint = endpoint.identity_key(key).map_err(|error| WorkerError::Key(error.to_string()))?;
        }
        Ok(Worker { endpoint: endpoint.build() })
    }

    /// Serves until told to stop, and ends the missions that are under way as far as ten seconds allow; Restate goes
    /// on with them in another worker.
    pub async fn serve(self, listener: TcpListener, stop: impl Future) {
        door::serve(self.endpoint, listener, stop).await;
    }
}
