//! JSON Schemas of arguments and answers.

use ptc_upstream::model::Reason as Fault;
use serde_json::{Value as Json, json};

use super::sessions::{CLEAR, VIEWS};
use super::settings::Profile;

/// Arguments of `lisp_eval`.
pub fn eval_input() -> Json {
    closed(program_properties(), &["program"])
}

fn program_properties() -> Json {
    json!({
        "program": {"type": "string"},
        "context": {"type": "object", "description": "Inputs: the program reads each as data/name."},
        "output_schema": {"type": "object", "description": "JSON Schema (types, items, properties) of the result."},
    })
}

/// The structured answer of `lisp_eval`; the slim profile has none.
pub fn eval_output(profile: Profile, upstreams: bool) -> Option<Json> {
    const FLAGS: &[&str] = &[
        "truncated",
        "prints_truncated",
        "feedback_truncated",
        "validated_preview_truncated",
        "output_truncated",
    ];
    let mut success = json!({
        "status": {"const": "ok"},
        "result": {"type": "string"},
        "validated": {},
        "validated_preview": {"type": "string"},
        "validated_bytes": {"type": "integer"},
        "resource": {"type": "object"},
    });
    let mut error = json!({
        "status": {"const": "error"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "feedback": {"type": "string"},
        "result": {"type": "string"},
    });
    for branch in [&mut success, &mut error] {
        FLAGS.iter().for_each(|flag| branch[*flag] = json!({"type": "boolean"}));
    }
    let (ok_required, error_required) = match profile {
        Profile::Slim => return None,
        Profile::Structured => (json!(["status"]), json!(["status", "reason", "message"])),
        Profile::Debug => (
            json!(["status", "prints", "feedback", "truncated"]),
            json!(["status", "reason", "message", "feedback"]),
        ),
    };
    if profile == Profile::Debug {
        success["feedback"] = json!({"type": "string"});
        success["prints"] = json!({"type": "array", "items": {"type": "string"}});
        error["prints"] = success["prints"].clone();
    }
    if upstreams {
        for branch in [&mut success, &mut error] {
            branch["upstream_results"] = json!({"type": "array", "items": {"type": "object"}});
            branch["upstream_calls"] = json!({"type": "array", "items": upstream_call(profile)});
            branch["ptc_metrics"] = json!({"type": ["object", "null"]});
        }
    }
    Some(one_of(&success, &ok_required, &error, &error_required))
}

/// One entry of `upstream_calls`; compact answers show less of it.
pub fn upstream_call(profile: Profile) -> Json {
    let reasons: Vec<&str> = Fault::ALL.iter().map(|reason| reason.name()).collect();
    let required = match profile {
        Profile::Debug => json!(["server", "tool", "status", "duration_ms"]),
        _ => json!(["server", "tool", "status"]),
    };
    json!({
        "type": "object",
        "required": required,
        "properties": {
            "server": {"type": "string"},
            "tool": {"type": "string"},
            "status": {"enum": ["ok", "error"]},
            "duration_ms": {"type": "integer"},
            "reason": {"enum": reasons},
            "error": {"type": "string"},
            "result_bytes": {"type": ["integer", "null"]},
            "oversize": {"type": "boolean"},
        },
    })
}

/// An object that is a success or an error, told apart by `status`.
pub fn one_of(success: &Json, ok_required: &Json, error: &Json, error_required: &Json) -> Json {
    json!({
        "type": "object",
        "oneOf": [
            {"type": "object", "properties": success, "required": ok_required, "additionalProperties": true},
            {"type": "object", "properties": error, "required": error_required, "additionalProperties": true},
        ],
    })
}

/// The same, for programs that may wait for approval.
pub fn or_waits(mut schema: Json) -> Json {
    let waits = json!({
        "type": "object",
        "properties": {
            "status": {"const": "approval_required"},
            "id": {"type": "string"},
            "ticket": {"type": "string"},
            "page": {"type": ["string", "null"]},
            "expires_at": {"type": "string"},
            "pending": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["status", "id", "pending"],
        "additionalProperties": true,
    });
    if let Some(branches) = schema.get_mut("oneOf").and_then(Json::as_array_mut) {
        branches.push(waits);
    }
    schema
}

/// An error as every tool answers it.
pub fn error_properties() -> Json {
    json!({
        "status": {"const": "error"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
        "feedback": {"type": "string"},
    })
}

/// Arguments of `lisp_check`.
pub fn check_input() -> Json {
    closed(json!({"program": {"type": "string"}}), &["program"])
}

/// The answer of `lisp_check`. It stands in every list of tools, so what errors have besides is left out.
pub fn check_output() -> Json {
    let list = json!({"type": "array"});
    json!({
        "type": "object",
        "properties": {
            "status": {"enum": ["ok", "error"]},
            "valid": {"type": "boolean"},
            "allowed": {"type": "boolean"},
            "refusal": {"type": "string"},
            "tools": list,
            "uses": list,
            "effect": {"enum": ["none", "read", "write", "unknown"]},
            "max_calls": {"type": ["integer", "null"]},
            "errors": list,
            "warnings": list,
        },
        "required": ["status"],
    })
}

/// Arguments of `lisp_task`.
pub fn task_input() -> Json {
    closed(
        json!({
            "task": {"type": "string", "description": "What to find out or do, in plain words."},
            "context": {"type": "object", "additionalProperties": true, "description": "Data for the task."},
            "constraints": {
                "type": "object",
                "properties": {
                    "max_items": {"type": "integer", "minimum": 1},
                    "preferred_fields": {"type": "array", "items": {"type": "string"}},
                },
            },
        }),
        &["task"],
    )
}

/// The answer of `lisp_task`.
pub fn task_output() -> Json {
    let mut call = upstream_call(Profile::Debug);
    call["properties"]["status"] = json!({"enum": ["attempted", "ok", "error"]});
    call["properties"]["effect"] = json!({"enum": ["read", "write", "unknown"]});
    let common = json!({
        "warnings": {"type": "array", "items": {"type": "object"}},
        "planner": {"type": ["object", "null"]},
        "execution": {"type": ["object", "null"]},
        "upstream_calls": {"type": "array", "items": call},
        "ptc_metrics": {"type": ["object", "null"]},
        "program": {"type": "string"},
        "trace_id": {"type": "string"},
    });
    let with = |own: Json| {
        let mut all = own;
        if let (Json::Object(all), Json::Object(common)) = (&mut all, common.clone()) {
            all.extend(common);
        }
        all
    };
    let success =
        with(json!({"status": {"const": "ok"}, "answer": {"type": "string"}, "structured_result": {}}));
    let error = with(error_properties());
    let shared = ["warnings", "planner", "execution", "upstream_calls"];
    let required = |own: &[&str]| json!(own.iter().copied().chain(shared).collect::<Vec<_>>());
    let (ok, failed) =
        (required(&["status", "answer", "structured_result"]), required(&["status", "reason", "message"]));
    one_of(&success, &ok, &error, &failed)
}

/// Arguments of `lisp_debug`.
pub fn debug_input() -> Json {
    closed(
        json!({
            "op": {"enum": ["stats", "recent", "get"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
            "since_seconds": {"type": "integer", "minimum": 1, "maximum": 86_400},
            "errors_only": {"type": "boolean", "default": false},
            "request_id": {"type": "string", "maxLength": 256, "description": "Needed for get."},
        }),
        &["op"],
    )
}

/// An object with these properties and no others.
pub fn closed(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// The property that names a session.
pub fn session_id() -> Json {
    json!({"session_id": {"type": "string", "description": "From lisp_session_start."}})
}

fn with_session_id(properties: Json, required: &[&str]) -> Json {
    let mut all = session_id();
    if let (Json::Object(all), Json::Object(more)) = (&mut all, properties) {
        all.extend(more);
    }
    closed(all, required)
}

/// Arguments of `lisp_session_start`.
pub fn session_start_input() -> Json {
    let reference = json!({
        "anyOf": [
            {"type": "string"},
            closed(
                json!({"id": {"type": "string"}, "version": {"type": "integer", "minimum": 1},
                       "checksum": {"type": "string"}}),
                &["id", "version"],
            ),
        ],
    });
    closed(
        json!({
            "title": {"type": "string"},
            "ttl_ms": {"type": "integer", "minimum": 1},
            "mode": {"enum": ["read_only", "write_capable"], "default": "read_only",
                     "description": "Whether programs may write preludes. It says nothing about upstream tools."},
            "role": {"type": "string"},
            "scoped_base_surface": {"type": "boolean"},
            "preludes": {"type": "array", "items": reference,
                         "description": "Preludes by id, id@version or {id, version, checksum}."},
            "tags": {"type": "object", "maxProperties": 32,
                     "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
        }),
        &[],
    )
}

/// Arguments of `lisp_session_eval`.
pub fn session_eval_input() -> Json {
    with_session_id(program_properties(), &["session_id", "program"])
}

/// Arguments of `lisp_session_inspect`.
pub fn session_inspect_input() -> Json {
    with_session_id(json!({"view": {"enum": VIEWS, "default": "overview"}}), &["session_id"])
}

/// Arguments of `lisp_session_forget`.
pub fn session_forget_input() -> Json {
    let properties = json!({
        "bindings": {"type": "array", "items": {"type": "string"}},
        "clear": {"type": "array", "items": {"enum": CLEAR}},
    });
    with_session_id(properties, &["session_id"])
}

/// Arguments of `lisp_session_close`.
pub fn session_close_input() -> Json {
    with_session_id(json!({"reason": {"type": "string"}}), &["session_id"])
}

/// The answer of a session tool.
pub fn session_output(required: &[&str]) -> Json {
    let success = json!({"status": {"const": "ok"}});
    let error_required = json!(["status", "reason", "message", "feedback"]);
    // The compact object of a program that failed may leave out feedback that says nothing new.
    let error_required = match required.contains(&"session") && !required.contains(&"session_id") {
        true => json!(["status", "reason", "message"]),
        false => error_required,
    };
    one_of(&success, &json!(required), &error_properties(), &error_required)
}
