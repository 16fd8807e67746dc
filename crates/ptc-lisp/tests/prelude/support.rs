//! Preludes and machines for the tests.

use std::sync::Arc;

use ptc_lisp::machine::{Call, Machine, Step};
use ptc_lisp::prelude::{Prelude, Problem};
use ptc_lisp::{Error, Limits};
use serde_json::{Value as Json, json};

/// The prelude of the guide.
pub const CRM: &str = r#"
(ns crm "CRM helpers." {:visibility :prompt})

(def page-size 50)

(defn- normalize-id
  "Trim and tag a raw id."
  [raw]
  (str "norm:" raw))

(defn- dead [] :nobody-calls-me)

(defn get-user
  "Return a CRM user by id."
  [id]
  (tool/call {:server "crm" :tool "get_user" :args {:id (normalize-id id)}}))

(defn get-user!
  "Return a CRM user, or abort the program."
  [id]
  (let [res (get-user id)]
    (if (res :ok) (res :value) (fail {:reason (res :reason)}))))

(defn list-users
  "List CRM users."
  {:visibility :discoverable}
  []
  (tool/call {:server "crm" :tool "list_users" :args {}}))
"#;

pub fn compile(source: &str) -> Result<Arc<Prelude>, Problem> {
    Prelude::compile_text(source).map(Arc::new)
}

pub fn prelude(source: &str) -> Arc<Prelude> {
    compile(source).unwrap_or_else(|problem| panic!("{problem}\n{source}"))
}

/// A machine with a prelude and these tools.
pub fn machine(prelude: &Arc<Prelude>, tools: &[&str]) -> Machine {
    let mut machine = Machine::new(Limits::default());
    machine.attach(prelude).expect("the machine is fresh");
    machine.set_tools(tools.iter().map(|tool| (*tool).to_owned()));
    machine
}

/// Runs a program; calls are answered with what `answer` says.
pub fn drive(
    machine: &mut Machine,
    program: &str,
    mut answer: impl FnMut(&Call) -> Json,
) -> Result<String, Error> {
    machine.load(program)?;
    loop {
        match machine.run(u64::MAX) {
            Step::Yield => {}
            Step::Done(_) => return Ok(machine.value()),
            Step::Failed(error) => return Err(error),
            Step::Calls(calls) => {
                for call in calls {
                    machine.resume(call.id, Ok(answer(&call))).expect("it waits");
                }
            }
        }
    }
}

/// The value of a program with the prelude `source`, whose upstream calls echo their arguments.
pub fn value(source: &str, program: &str) -> Result<String, Error> {
    drive(
        &mut machine(&prelude(source), &["call"]),
        program,
        |call| json!({"ok": true, "value": call.args["args"]}),
    )
}
