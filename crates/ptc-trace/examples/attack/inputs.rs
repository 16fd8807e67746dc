//! What programs are given: inputs, tools and a prelude.

use std::sync::Arc;

use ptc_host::{Tool, Tools};
use ptc_lisp::prelude::Prelude;
use serde_json::{Value as Json, json};

use crate::job::Inputs;

/// Constants and functions that machines of a thread share.
const PRELUDE: &str = r#"
(ns shared "Shared.")
(def table "A table." {:a 1 :b [1 2] "c" {:d #{1 2}} [1 2] :pair})
(def rows "Rows." [{:id 1 :name "x"} {:id 2 :name "y"}])
(def nothing "An empty map." {})
(defn base "A map." [] {:parents {} :kind :x})
(defn row "A row." [n] {:id n :tags [n]})
(defn put "A map with one more entry." [m k v] (assoc m k v))
(defn lazily "A lazy sequence of pairs." [xs] (map (fn [x] [x x]) xs))
"#;

/// Things that are made once.
pub struct Prepared {
    pub prelude: Option<Arc<Prelude>>,
}

impl Prepared {
    pub fn new() -> Prepared {
        let compiled = Prelude::compile_text(PRELUDE);
        if let Err(problem) = &compiled {
            eprintln!("the prelude does not compile: {}", problem.placed());
            std::process::exit(2);
        }
        Prepared { prelude: compiled.ok().map(Arc::new) }
    }
}

/// Inputs as JSON text.
pub fn text(inputs: Inputs) -> String {
    let rows =
        json!([{"id": 1, "name": "Ada", "_secret": "x"}, {"id": 2, "name": "\u{202e}B\u{0}", "tags": []}]);
    let plain = json!({"rows": rows, "n": 7, "s": "a,b;c", "huge": 1e308, "max": i64::MAX});
    match inputs {
        Inputs::Small => plain.to_string(),
        Inputs::Colliding(count) => {
            let object = colliding(count);
            format!("{{\"x\":{object},\"s\":{}}}", Json::from(object.as_str()))
        }
        Inputs::Deep(levels) => format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels)),
    }
}

/// Keys of 56 bytes: the second eight make a multiplication come to nothing, so that the last eight do not count.
fn colliding(count: usize) -> String {
    let key = |n: usize| format!("aaaaaaaa\u{1f}9\\.(n\u{7f}n{}{n:08}", "a".repeat(32));
    let fields = (0..count).map(|n| format!("{}:{n}", Json::from(key(n))));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Tools: `t` gives back what it is given, `fail` fails, `items` gives rows; `call` stands for upstreams.
pub fn tools() -> Tools {
    let rows = || json!([{"id": 1, "total": 2.5, "user_id": "u"}, {"id": 2, "total": null, "user_id": "v"}]);
    Tools::new()
        .with("t", Tool::quick(|args: Json| args))
        .with("fail", Tool::quick(|_| Err::<Json, &str>("no\u{202e} such\u{1b}[2J thing")))
        .with("items", Tool::quick(move |_| rows()))
        .with("call", Tool::quick(|args: Json| json!({"ok": true, "value": args["args"]})))
}
