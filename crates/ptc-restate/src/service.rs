//! One workflow for every agent, under the name of the agent. The macros of the SDK know names only when they are
//! compiled, so what they would write is here by hand.

use std::sync::Arc;

use restate_sdk::context::{SharedWorkflowContext, WorkflowContext};
use restate_sdk::discovery::{self, HandlerName, HandlerType, ServiceName, ServiceType};
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::errors::HandlerError;
use restate_sdk::serde::Json;
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Service, ServiceDefinition};
use serde_json::{Value, json};

use crate::calls::Missions;
use crate::people::WAITING;
use crate::worker::{Served, WorkerError};
use crate::{door, mission, people};

/// The handler that runs a mission.
const RUN: &str = "run";
/// The handler that takes a person's decision.
const DECIDE: &str = "decide";
const JSON: &str = "application/json";

/// Models take their time: so long may nothing happen before a mission is put to sleep, ...
const INACTIVITY_MS: u64 = 10 * 60_000;
/// ... and so long more before it is begun again.
const ABORT_MS: u64 = 60 * 60_000;
/// When a mission whose worker is gone is tried again: often at first, and for ever.
const RETRY_FIRST_MS: u64 = 100;
const RETRY_LAST_MS: u64 = 5_000;
const RETRY_FACTOR: f64 = 1.5;
const RETRIES: u64 = u32::MAX as u64;

struct Workflow {
    served: Arc<Served>,
    missions: Arc<Missions>,
}

/// The workflow of an agent.
pub(crate) fn define(served: Arc<Served>, missions: Arc<Missions>) -> Result<ServiceDefinition, WorkerError> {
    let described = describe(&served)?;
    Ok(service_definition(Workflow { served, missions }, described))
}

impl Service for Workflow {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        // The SDK asks for this once it has read what the workflow begins with.
        door::arrived();
        let (served, missions) = (self.served.clone(), self.missions.clone());
        Box::pin(async move {
            let answer = match ctx.handler_name() {
                RUN => {
                    let (inputs, about) = ctx.input::<Option<Json<Value>>>().await;
                    let inputs = inputs.map_or_else(|| json!({}), Json::into_inner);
                    let context = WorkflowContext::from((&ctx, about));
                    let ended = mission::conduct(&context, &served, &missions, inputs).await;
                    served.tell(context.key(), &ended);
                    ended.map(|step| served.shown(&step))
                }
                DECIDE => {
                    let (Json(sent), about) = ctx.input::<Json<Value>>().await;
                    let context = SharedWorkflowContext::from((&ctx, about));
                    people::decide(&context, &served, sent).await.map_err(HandlerError::from)
                }
                WAITING => {
                    let (_, about) = ctx.input::<Option<Json<Value>>>().await;
                    let context = SharedWorkflowContext::from((&ctx, about));
                    people::waiting(&context).await.map(Value::from).map_err(HandlerError::from)
                }
                other => return Err(Error::unknown_handler(ctx.service_name(), other)),
            };
            ctx.handle_handler_result(answer.map(Json));
            ctx.end();
            Ok(())
        })
    }
}

/// A handler that takes and gives JSON.
fn handler(name: &str, about: &str, input: Option<Value>, required: bool) -> Option<discovery::Handler> {
    let shared = name != RUN;
    Some(discovery::Handler {
        name: HandlerName::try_from(name).ok()?,
        ty: Some(if shared { HandlerType::Shared } else { HandlerType::Workflow }),
        documentation: Some(about.to_owned()),
        input: Some(discovery::InputPayload {
            content_type: Some(JSON.to_owned()),
            json_schema: input,
            required: Some(required),
        }),
        output: Some(discovery::OutputPayload {
            content_type: Some(JSON.to_owned()),
            json_schema: None,
            set_content_type_if_empty: Some(false),
        }),
        metadata: Default::default(),
        abort_timeout: None,
        inactivity_timeout: None,
        journal_retention: None,
        idempotency_retention: None,
        workflow_completion_retention: None,
        enable_lazy_state: None,
        ingress_private: None,
        retry_policy_initial_interval: None,
        retry_policy_max_interval: None,
        retry_policy_max_attempts: None,
        retry_policy_exponentiation_factor: None,
        retry_policy_on_max_attempts: None,
    })
}

/// What Restate is told about the workflow.
fn describe(served: &Served) -> Result<discovery::Service, WorkerError> {
    let agent = served.agent();
    let inputs = agent.signature().map(|signature| signature.input_schema());
    let handlers = [
        handler(RUN, agent.prompt(), inputs, false),
        handler(DECIDE, "Decides about a call that waits for a person.", None, true),
        handler(WAITING, "The calls that wait for a person.", None, false),
    ];
    let name = ServiceName::try_from(served.name.clone());
    Ok(discovery::Service {
        ty: ServiceType::Workflow,
        name: name.map_err(|_| WorkerError::Name(served.name.clone()))?,
        handlers: handlers.into_iter().flatten().collect(),
        documentation: agent.options().description.clone(),
        metadata: Default::default(),
        abort_timeout: Some(ABORT_MS),
        inactivity_timeout: Some(INACTIVITY_MS),
        journal_retention: None,
        idempotency_retention: None,
        enable_lazy_state: None,
        ingress_private: None,
        retry_policy_initial_interval: Some(RETRY_FIRST_MS),
        retry_policy_max_interval: Some(RETRY_LAST_MS),
        retry_policy_max_attempts: Some(RETRIES),
        retry_policy_exponentiation_factor: Some(RETRY_FACTOR),
        retry_policy_on_max_attempts: None,
    })
}
