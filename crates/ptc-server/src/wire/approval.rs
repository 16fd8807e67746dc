//! Asking for approval in the protocol's own ways: by `InputRequired` where every request stands for itself, by
//! elicitation where the server may ask. Clients without either are told where people decide.

use std::collections::BTreeMap;
use std::time::Duration;

use ptc_host::{Decision, arguments, visible, visible_json};
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{Peer, model};
use serde_json::{Value as Json, json};

use super::incoming::STATELESS;
use crate::engine::{Approval, Choice, WrongAnswer};

/// How a client is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It answers by sending its request again.
    InputRequired,
    /// It answers a request of ours.
    Elicitation,
    /// It is not: the answer says who decides, and where.
    Answer,
}

impl Way {
    /// The way for the client behind a request; `asks` if its answers find their way back.
    pub fn of(context: &RequestContext<RoleServer>, asks: bool) -> Way {
        let forms = context.client_capabilities().and_then(|client| client.elicitation);
        // A client that names no kind of elicitation means forms.
        let forms = forms.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
        let stateless = context.protocol_version().is_some_and(|version| version.as_str() >= STATELESS);
        match (forms, stateless) {
            (true, true) => Way::InputRequired,
            (true, false) if asks => Way::Elicitation,
            _ => Way::Answer,
        }
    }
}

/// How often a question is asked again whose answer cannot be used.
pub const REPEATS: usize = 3;
/// What can be decided about a call.
const DECISIONS: [&str; 3] = ["approve", "reject", "edit"];

/// What somebody wrote into the forms of calls, by their numbers.
pub type Entered = BTreeMap<u64, Json>;

/// What asks about one call: exactly what will happen, and what can be done about it. `wrong` is why an answer before was not
/// used; what was `entered` then stands in the form.
fn form(call: &Json, wrong: Option<&str>, entered: Option<&Json>) -> Option<ElicitRequestParams> {
    let text = |key: &str| visible(call[key].as_str().unwrap_or_default());
    let target = match &*text("server") {
        "" => text("tool").into_owned(),
        server => format!("{server}/{}", text("tool")),
    };
    let effect = match &*text("effect") {
        "" => String::new(),
        effect => format!(" ({effect})"),
    };
    let about = match &*text("description") {
        "" => String::new(),
        description => format!("\n{description}"),
    };
    let args = &call["args"];
    let wrong = wrong.map_or(String::new(), |wrong| format!("Nothing was decided: {}.\n\n", visible(wrong)));
    let message = format!(
        "{wrong}A program wants to call {target}{effect}.{about}\n\nArguments:\n{}",
        visible_json(args)
    );
    let entered = |field: &str| entered.and_then(|entered| entered[field].as_str()).map(visible);
    let shown = args.to_string();
    let mut form = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                "decision": {"type": "string", "title": "Decision", "enum": DECISIONS},
                "args": {"type": "string", "title": "Arguments",
                         "description": "For edit: all arguments as JSON.", "default": entered("args").unwrap_or_else(|| visible(&shown))},
                "reason": {"type": "string", "title": "Reason", "description": "For reject: why, for the program."},
            },
            "required": ["decision"],
        },
    });
    for field in ["decision", "reason"] {
        if let Some(text) = entered(field).filter(|text| field == "reason" || DECISIONS.contains(&&**text)) {
            form["requestedSchema"]["properties"][field]["default"] = text.into();
        }
    }
    serde_json::from_value(form).ok()
}

/// The name of the question about a call.
fn question(call: &Json) -> String {
    format!("call-{}", call["call"])
}

/// What is said about a call in a form whose answer before, or that of another form, was not used.
fn wrong_about(approval: &Approval, call: &Json) -> Option<String> {
    let wrong = approval.wrong.as_ref()?;
    let is_other = wrong.call.is_some_and(|number| call["call"].as_u64() != Some(number));
    Some(if is_other { OTHER.to_owned() } else { wrong.why.clone() })
}

/// What is said in the forms of other calls.
const OTHER: &str = "the answer about another call cannot be used, so all calls are asked about again";

/// All that waits as questions, with the ticket as the state that comes back.
pub fn input_required(approval: &Approval, entered: &Entered) -> InputRequiredResult {
    let questions = approval.pending.iter().filter_map(|call| {
        let wrong = wrong_about(approval, call);
        let before = call["call"].as_u64().and_then(|number| entered.get(&number));
        let form = form(call, wrong.as_deref(), before.filter(|_| wrong.is_some()))?;
        Some((question(call), InputRequest::Elicitation(ElicitRequest::new(form))))
    });
    let questions: InputRequests = questions.collect();
    InputRequiredResult::new(Some(questions), Some(approval.ticket.clone()))
}

/// The answers to such questions, by the numbers of calls: what was done, and what was entered.
pub fn answers(responses: &InputResponses) -> Result<Vec<(u64, Json)>, String> {
    let answer = |(name, response): (&String, &Json)| {
        let number = name.strip_prefix("call-").and_then(|number| number.parse().ok());
        let number: u64 = number.ok_or_else(|| format!("there is no question {name:?}"))?;
        // Some clients send the result as it is, others inside of a reply.
        Ok((number, response.get("result").unwrap_or(response).clone()))
    };
    responses.iter().map(answer).collect()
}

/// What such answers decide, and what keeps all of them from being used. Questions that were dismissed decide nothing.
pub fn choices(answers: &[(u64, Json)]) -> (Vec<Choice>, Option<WrongAnswer>) {
    let (mut choices, mut wrong) = (Vec::new(), None);
    for (number, answer) in answers {
        match choice(*number, &answer["action"], &answer["content"], None) {
            Ok(choice) => choices.extend(choice),
            Err(why) => wrong = wrong.or(Some(WrongAnswer { call: Some(*number), why })),
        }
    }
    (choices, wrong)
}

/// What was entered in such answers.
pub fn entered(answers: &[(u64, Json)]) -> Entered {
    answers.iter().map(|(number, answer)| (*number, answer["content"].clone())).collect()
}

/// `shown` are the arguments that stood in the form, where they are known here.
fn choice(call: u64, action: &Json, content: &Json, shown: Option<&Json>) -> Result<Option<Choice>, String> {
    let text = |key: &str| content[key].as_str();
    let reason = || text("reason").filter(|why| !why.trim().is_empty());
    let decision = match (action.as_str(), text("decision")) {
        (Some("decline"), _) => Decision::Reject("the user declined".to_owned()),
        (Some("cancel"), _) => return Ok(None),
        // Whoever changed the arguments and left the decision as it was means the changed ones. Those of the call itself
        // are no edit, as whoever takes the decision sees.
        (Some("accept"), Some("approve")) => match text("args").filter(|args| !args.trim().is_empty()) {
            None => Decision::Approve,
            Some(args) => match arguments(args)? {
                args if Some(&args) == shown => Decision::Approve,
                args => Decision::Edit(args),
            },
        },
        (Some("accept"), Some("reject")) => {
            Decision::Reject(reason().unwrap_or("the user rejected it").to_owned())
        }
        (Some("accept"), Some("edit")) => {
            Decision::Edit(arguments(text("args").ok_or("the new arguments are missing")?)?)
        }
        _ => return Err("a decision is approve, reject or edit".to_owned()),
    };
    Ok(Some(Choice { calls: Some(vec![call]), decision }))
}

/// How long a decision counts.
pub fn left(approval: &Approval) -> Duration {
    let left = approval.expires_ms.saturating_sub(ptc_host::now_ms());
    Duration::from_millis(u64::try_from(left).unwrap_or_default())
}

/// Asks the user about every call that waits. Nothing if it came to no decision. What was `entered` before stands in the forms
/// if it was not used.
pub async fn elicit(
    peer: &Peer<RoleServer>,
    approval: &Approval,
    entered: &mut Entered,
) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    let before = std::mem::take(entered);
    for call in &approval.pending {
        let number = call["call"].as_u64()?;
        let wrong = wrong_about(approval, call);
        let before = before.get(&number).filter(|_| wrong.is_some()).cloned();
        let (choice, content) = ask(peer, call, wrong, before).await?;
        choices.extend(choice);
        entered.insert(number, content);
    }
    (!choices.is_empty()).then_some(choices)
}

/// Asks about one call, and again if the answer cannot be used; with what was entered last. Nothing if the client does not
/// answer.
async fn ask(
    peer: &Peer<RoleServer>,
    call: &Json,
    mut wrong: Option<String>,
    mut entered: Option<Json>,
) -> Option<(Option<Choice>, Json)> {
    for _ in 0..=REPEATS {
        let form = form(call, wrong.as_deref(), entered.as_ref())?;
        let asked = ServerRequest::ElicitRequest(ElicitRequest::new(form));
        let Ok(ClientResult::ElicitResult(model::ElicitResult { action, content, .. })) =
            peer.send_request(asked).await
        else {
            return None;
        };
        let content = json!(content);
        match choice(call["call"].as_u64()?, &json!(action), &content, call.get("args")) {
            Ok(choice) => return Some((choice, content)),
            Err(why) => (wrong, entered) = (Some(why), Some(content)),
        }
    }
    Some((None, Json::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approval() -> Approval {
        let call = json!({"call": 3, "server": "crm", "tool": "put", "args": {"n": [1, 2]}, "effect": "write",
                          "description": "Changes a row"});
        let (id, ticket) = ("tkt-1".to_owned(), "ptct1_k_x".to_owned());
        Approval { id, ticket, pending: vec![call], expires_ms: 0, wrong: None }
    }

    #[test]
    fn questions_show_the_whole_call_and_take_three_decisions() {
        let asked = json!(input_required(&approval(), &Entered::new()));
        assert_eq!(
            (&asked["resultType"], &asked["requestState"]),
            (&json!("input_required"), &json!("ptct1_k_x"))
        );
        let question = &asked["inputRequests"]["call-3"];
        assert_eq!(question["method"], "elicitation/create", "{asked}");
        let message = question["params"]["message"].as_str().expect("a message");
        assert!(message.contains("crm/put (write)") && message.contains("Changes a row"), "{message}");
        assert!(message.contains("1,") && message.contains("\"n\""), "{message}");
        let schema = &question["params"]["requestedSchema"];
        assert_eq!(schema["properties"]["decision"]["enum"], json!(["approve", "reject", "edit"]));
        assert_eq!(schema["properties"]["args"]["default"], "{\"n\":[1,2]}");
    }

    #[test]
    fn questions_show_the_numbers_that_are_sent_and_nothing_that_hides() {
        let mut approval = approval();
        approval.pending[0]["args"] = json!({"id": 9_007_199_254_740_993_u64, "to": "a\u{202e}b"});
        approval.pending[0]["tool"] = "put\u{200b}".into();
        let asked = json!(input_required(&approval, &Entered::new()));
        let question = &asked["inputRequests"]["call-3"]["params"];
        let message = question["message"].as_str().expect("a message");
        assert!(message.contains("crm/put\\u200b") && message.contains("9007199254740993"), "{message}");
        assert!(message.contains("a\\u202eb") && !message.contains('\u{202e}'), "{message}");
        let default = &question["requestedSchema"]["properties"]["args"]["default"];
        let default = default.as_str().expect("the arguments");
        assert_eq!(arguments(default).as_ref(), Ok(&approval.pending[0]["args"]));
        let rounded = json!({"action": "accept", "content": {"decision": "edit", "args": "{\"n\": 1e400}"}});
        assert!(choices(&[(3, rounded)]).1.is_some());
    }

    #[test]
    fn answers_decide_or_say_what_is_wrong() {
        let read = |response: Json| {
            let answers = answers(&[("call-3".to_owned(), response)].into())?;
            let (choices, wrong) = choices(&answers);
            wrong.map_or(Ok(choices), |wrong| Err(wrong.why))
        };
        let accept = |content: Json| read(json!({"action": "accept", "content": content}));
        let decided = |decision| Ok(vec![Choice { calls: Some(vec![3]), decision }]);
        let reject = |why: &str| Decision::Reject(why.to_owned());
        assert_eq!(accept(json!({"decision": "approve"})), decided(Decision::Approve));
        assert_eq!(accept(json!({"decision": "reject", "reason": "no"})), decided(reject("no")));
        assert_eq!(accept(json!({"decision": "reject"})), decided(reject("the user rejected it")));
        let edit = json!({"decision": "edit", "args": "{\"n\": 1}"});
        assert_eq!(accept(edit), decided(Decision::Edit(json!({"n": 1}))));
        let changed = json!({"decision": "approve", "args": "{\"n\": 1}"});
        assert_eq!(
            accept(changed.clone()),
            decided(Decision::Edit(json!({"n": 1}))),
            "it is not made unchanged"
        );
        for (shown, decision) in
            [(json!({"n": 1}), Decision::Approve), (json!({"n": 2}), Decision::Edit(json!({"n": 1})))]
        {
            let found = choice(3, &json!("accept"), &changed, Some(&shown));
            assert_eq!(found, Ok(Some(Choice { calls: Some(vec![3]), decision })));
        }
        assert!(accept(json!({"decision": "approve", "args": "{"})).is_err());
        assert_eq!(read(json!({"action": "decline"})), decided(reject("the user declined")));
        assert_eq!(read(json!({"action": "cancel"})), Ok(Vec::new()));
        for wrong in [json!({}), json!({"decision": "edit", "args": "[1]"}), json!({"decision": "maybe"})] {
            assert!(accept(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(answers(&[("what".to_owned(), json!({}))].into()).is_err());
    }

    #[test]
    fn forms_whose_answers_cannot_be_used_are_shown_again_with_what_was_entered() {
        let mut approval = approval();
        approval.pending.push(json!({"call": 4, "server": "crm", "tool": "put", "args": {"n": 2}}));
        let edit =
            json!({"action": "accept", "content": {"decision": "edit", "args": "{\"n\": ", "reason": "why"}});
        let reject = json!({"action": "accept", "content": {"decision": "reject", "reason": "no"}});
        let answers = [(3, edit), (4, reject)];
        let (_, wrong) = choices(&answers);
        approval.wrong = wrong;
        let asked = json!(input_required(&approval, &entered(&answers)));
        for (question, says, decision, args, reason) in [
            ("call-3", "the new arguments are not JSON", "edit", "{\"n\": ", "why"),
            ("call-4", "the answer about another call", "reject", "{\"n\":2}", "no"),
        ] {
            let question = &asked["inputRequests"][question]["params"];
            let message = question["message"].as_str().expect("a message");
            assert!(message.starts_with(&format!("Nothing was decided: {says}")), "{message}");
            let default = |field: &str| question["requestedSchema"]["properties"][field]["default"].clone();
            let defaults = ["decision", "args", "reason"].map(default);
            assert_eq!(defaults, [json!(decision), json!(args), json!(reason)]);
        }
        approval.wrong = None;
        let asked = json!(input_required(&approval, &entered(&answers)));
        let default = &asked["inputRequests"]["call-3"]["params"]["requestedSchema"]["properties"]["args"];
        assert_eq!(default["default"], "{\"n\":[1,2]}", "the next ticket has forms of its own");
    }
}
