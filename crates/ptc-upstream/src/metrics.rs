//! `ptc_metrics`: how much upstream payload a program collapsed into its answer. Bytes are exact, tokens are
//! estimates, and what cannot be known is said to be unavailable.

use serde_json::{Value as Json, json};

use crate::ledger::{LedgerEntry, Status};

/// What a program gave back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returned {
    /// The bytes of its answer; 0 if it failed.
    pub result_bytes: usize,
    /// The bytes that it printed.
    pub prints_bytes: usize,
}

/// What a planning model cost on the server's side. Sizes are always known, tokens only if the provider told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planner {
    /// How often it was asked.
    pub calls: usize,
    /// The bytes that it was sent.
    pub prompt_bytes: usize,
    /// The bytes that it answered.
    pub completion_bytes: usize,
    /// Tokens in and out, as the provider counted them.
    pub tokens: Option<(u64, u64)>,
}

const METHOD: &str = "utf8_bytes_div_4";

/// The block for a program that made these calls; none if it made no calls.
pub fn ptc_metrics(calls: &[LedgerEntry], returned: Returned) -> Option<Json> {
    if calls.is_empty() {
        return None;
    }
    let is_ok = |call: &&LedgerEntry| !call.oversize && call.status == Status::Ok;
    let is_error = |call: &&LedgerEntry| !call.oversize && call.status == Status::Error;
    let is_oversize = |call: &&LedgerEntry| call.oversize;
    let count = |kind: &dyn Fn(&&LedgerEntry) -> bool| calls.iter().filter(kind).count();
    let bytes = |kind: &dyn Fn(&&LedgerEntry) -> bool| -> usize {
        calls.iter().filter(kind).filter_map(|call| call.result_bytes).sum()
    };
    let fetched = bytes(&is_ok);
    // What was printed goes to the model with the answer.
    let answer = if returned.result_bytes == 0 { 0 } else { returned.result_bytes + returned.prints_bytes };
    let ratio = ratio(fetched, answer);
    Some(json!({
        "schema_version": 1,
        "final_result_bytes": returned.result_bytes,
        "prints_bytes": returned.prints_bytes,
        "upstream_call_count": calls.len(),
        "upstream_ok_count": count(&is_ok),
        "upstream_error_count": count(&is_error),
        "upstream_oversize_count": count(&is_oversize),
        "upstream_result_bytes": fetched,
        "upstream_error_bytes": bytes(&is_error),
        "upstream_oversize_bytes": bytes(&is_oversize),
        "payload_reduction_ratio": ratio,
        "estimated_final_result_tokens": tokens(returned.result_bytes),
        "estimated_upstream_result_tokens": tokens(fetched),
        "token_estimate_method": METHOD,
        "baseline": {
            "conservative": {
                "name": "successful_upstream_results_only",
                "bytes": fetched,
                "ratio": ratio,
                "note": "Results of successful upstream calls, compared with the answer and what was printed. \
                         What failed or was too large does not count.",
            },
            "optimistic": {
                "name": "no_ptc_direct_llm_workflow",
                "available": false,
                "note": "What a model calling the tools directly would have used cannot be known here.",
            },
        },
    }))
}

/// Adds what the planning model cost.
pub fn add_planner(metrics: &mut Json, planner: &Planner) {
    let (prompt, completion) = planner.tokens.unzip();
    metrics["server_side_llm"] = json!({
        "planner_calls": planner.calls,
        "provider_reported": planner.tokens.is_some(),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": planner.tokens.map(|(prompt, completion)| prompt + completion),
        "prompt_bytes": planner.prompt_bytes,
        "completion_bytes": planner.completion_bytes,
        "estimated_prompt_tokens": tokens(planner.prompt_bytes),
        "estimated_completion_tokens": tokens(planner.completion_bytes),
        "estimate_method": METHOD,
    });
    metrics["efficiency_note"] =
        "payload_reduction_ratio compares the answer and what was printed with upstream results only; it \
                                  excludes the cost of the planner and the envelope of the response."
            .into();
}

/// How many times smaller the answer is, to two digits; nothing if one side is empty.
fn ratio(fetched: usize, returned: usize) -> Option<f64> {
    (fetched > 0 && returned > 0).then(|| (fetched as f64 / returned as f64 * 100.0).round() / 100.0)
}

/// About how many tokens so many bytes are.
pub fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reason;

    fn call(status: Status, result_bytes: Option<usize>, oversize: bool) -> LedgerEntry {
        let failed = status == Status::Error;
        LedgerEntry {
            server: "github".to_owned(),
            tool: "search_issues".to_owned(),
            status,
            duration_ms: 142,
            result_bytes,
            oversize,
            reason: failed.then_some(Reason::ToolError),
            error: failed.then(|| "no".to_owned()),
            recalled: false,
            unsent: false,
            effect: "read",
            args_hash: String::new(),
            overview: None,
        }
    }

    #[test]
    fn the_example_of_the_contract() {
        let calls = [40_000, 8_000, 122].map(|bytes| call(Status::Ok, Some(bytes), false));
        let metrics = ptc_metrics(&calls, Returned { result_bytes: 812, prints_bytes: 0 }).expect("calls");
        for (key, expected) in [
            ("schema_version", json!(1)),
            ("final_result_bytes", json!(812)),
            ("prints_bytes", json!(0)),
            ("upstream_call_count", json!(3)),
            ("upstream_ok_count", json!(3)),
            ("upstream_error_count", json!(0)),
            ("upstream_oversize_count", json!(0)),
            ("upstream_result_bytes", json!(48_122)),
            ("upstream_error_bytes", json!(0)),
            ("upstream_oversize_bytes", json!(0)),
            ("payload_reduction_ratio", json!(59.26)),
            ("estimated_final_result_tokens", json!(203)),
            ("estimated_upstream_result_tokens", json!(12_031)),
            ("token_estimate_method", json!("utf8_bytes_div_4")),
        ] {
            assert_eq!(metrics[key], expected, "{key}");
        }
        let conservative = &metrics["baseline"]["conservative"];
        assert_eq!(conservative["name"], "successful_upstream_results_only");
        assert_eq!((&conservative["bytes"], &conservative["ratio"]), (&json!(48_122), &json!(59.26)));
        let optimistic = &metrics["baseline"]["optimistic"];
        assert_eq!(optimistic["name"], "no_ptc_direct_llm_workflow");
        assert_eq!((optimistic["available"].as_bool(), optimistic.get("ratio")), (Some(false), None));
    }

    #[test]
    fn only_good_results_enter_the_ratio() {
        let calls = [
            call(Status::Ok, Some(100), false),
            call(Status::Error, Some(30), false),
            call(Status::Error, None, false),
            call(Status::Error, Some(9_000), true),
        ];
        let metrics = ptc_metrics(&calls, Returned { result_bytes: 8, prints_bytes: 3 }).expect("calls");
        let keys = ["upstream_result_bytes", "upstream_error_bytes", "upstream_oversize_bytes"];
        assert_eq!(keys.map(|key| metrics[key].clone()), [json!(100), json!(30), json!(9_000)]);
        let counts = ["upstream_ok_count", "upstream_error_count", "upstream_oversize_count"];
        assert_eq!(counts.map(|key| metrics[key].clone()), [json!(1), json!(2), json!(1)]);
        // 100 bytes came in, 8 of the answer and 3 that were printed went out.
        assert_eq!(metrics["payload_reduction_ratio"], json!(9.09));
    }

    #[test]
    fn an_empty_side_has_no_ratio_and_no_calls_no_block() {
        let calls = [call(Status::Ok, Some(100), false)];
        let failed = ptc_metrics(&calls, Returned::default()).expect("calls");
        assert_eq!(
            (&failed["payload_reduction_ratio"], &failed["upstream_result_bytes"]),
            (&json!(null), &json!(100))
        );
        let nothing = [call(Status::Ok, Some(0), false)];
        let metrics = ptc_metrics(&nothing, Returned { result_bytes: 5, prints_bytes: 0 }).expect("calls");
        assert_eq!(metrics["payload_reduction_ratio"], json!(null));
        assert_eq!(ptc_metrics(&[], Returned::default()), None);
    }

    #[test]
    fn a_planner_is_a_line_of_its_own() {
        let calls = [call(Status::Ok, Some(100), false)];
        let mut metrics = ptc_metrics(&calls, Returned { result_bytes: 50, prints_bytes: 0 }).expect("calls");
        let planner = Planner { calls: 2, prompt_bytes: 401, completion_bytes: 40, tokens: None };
        add_planner(&mut metrics, &planner);
        let line = &metrics["server_side_llm"];
        assert_eq!((&line["provider_reported"], &line["total_tokens"]), (&json!(false), &json!(null)));
        assert_eq!(line["estimated_prompt_tokens"], json!(101));
        add_planner(&mut metrics, &Planner { tokens: Some((120, 30)), ..planner });
        assert_eq!(metrics["server_side_llm"]["total_tokens"], json!(150));
        assert_eq!(metrics["payload_reduction_ratio"], json!(2.0));
    }
}
