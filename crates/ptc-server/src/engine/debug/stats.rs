//! What the records say together: calls and errors by tool, upstream calls, and how much payload programs
//! collapsed into their answers.

use std::collections::BTreeMap;

use ptc_upstream::metrics::tokens;
use serde_json::{Map, Value as Json, json};

use super::ring::RingEntry;

/// Top reducers that are listed.
const TOP: usize = 10;

/// All figures for these records, oldest first.
pub fn stats(entries: &[RingEntry]) -> Json {
    let records: Vec<&Json> = entries.iter().map(|entry| &*entry.record).collect();
    let at = |entry: Option<&RingEntry>| entry.map(|entry| entry.record["ts"].clone()).unwrap_or_default();
    json!({
        "window": {"from": at(entries.first()), "to": at(entries.last()), "calls": records.len()},
        "by_tool": by_tool(&records),
        "errors": {"by_reason": counted(records.iter().filter_map(|record| record["reason"].as_str()))},
        "upstream_calls": upstream(&records),
        "agentic": agentic(&records),
        "payload_reduction": payload_reduction(&records),
    })
}

fn by_tool(records: &[&Json]) -> Json {
    let mut groups: BTreeMap<&str, Vec<&Json>> = BTreeMap::new();
    for record in records {
        groups.entry(record["tool"].as_str().unwrap_or_default()).or_default().push(record);
    }
    let of = |records: &[&Json]| {
        let failed = records.iter().filter(|record| record["status"] == "error").count();
        let mut durations: Vec<u64> =
            records.iter().filter_map(|record| record["duration_ms"].as_u64()).collect();
        durations.sort_unstable();
        json!({
            "calls": records.len(),
            "ok": records.len() - failed,
            "error": failed,
            "error_rate": rounded(failed as f64 / records.len() as f64, 1_000.0),
            "duration_ms": {"p50": rank(&durations, 50), "p95": rank(&durations, 95), "max": durations.last()},
        })
    };
    Json::Object(groups.iter().map(|(tool, records)| ((*tool).to_owned(), of(records))).collect())
}

fn upstream(records: &[&Json]) -> Json {
    let calls: Vec<&Json> =
        records.iter().flat_map(|record| record["upstream_calls"].as_array().into_iter().flatten()).collect();
    let ok = calls.iter().filter(|call| call["status"] == "ok").count();
    let mut servers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for call in &calls {
        let (total, failed) = servers.entry(call["server"].as_str().unwrap_or_default()).or_default();
        *total += 1;
        *failed += usize::from(call["status"] == "error");
    }
    let by_server: Map<String, Json> = servers
        .iter()
        .map(|(name, (total, failed))| ((*name).to_owned(), json!({"calls": total, "error": failed})))
        .collect();
    json!({
        "total": calls.len(),
        "ok": ok,
        "by_reason": counted(calls.iter().filter_map(|call| call["reason"].as_str())),
        "by_server": by_server,
    })
}

fn agentic(records: &[&Json]) -> Json {
    let tasks: Vec<&Json> = records
        .iter()
        .filter(|record| record.get("agentic").is_some())
        .map(|record| &record["agentic"])
        .collect();
    let sum = |key: &str| tasks.iter().filter_map(|task| task[key].as_u64()).sum::<u64>();
    json!({
        "tasks": tasks.len(),
        "planner_calls": sum("planner_calls"),
        "planner_errors": tasks.iter().filter(|task| task["planner_status"] == "error").count(),
        "planner_rejects": sum("planner_rejects"),
        "retries": sum("retries"),
    })
}

/// Sums over the calls that have metrics. Ratios that are null count nowhere.
fn payload_reduction(records: &[&Json]) -> Json {
    let measured: Vec<&&Json> = records.iter().filter(|record| record["ptc_metrics"].is_object()).collect();
    let sum = |key: &str| {
        measured.iter().filter_map(|record| record["ptc_metrics"][key].as_u64()).sum::<u64>() as usize
    };
    let ratio = |record: &Json| record["ptc_metrics"]["payload_reduction_ratio"].as_f64();
    let mut ratios: Vec<f64> = measured.iter().filter_map(|record| ratio(record)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let with_ratio = |key: &str| {
        let counted = measured.iter().filter(|record| ratio(record).is_some());
        counted.filter_map(|record| record["ptc_metrics"][key].as_u64()).sum::<u64>()
    };
    let fetched = with_ratio("upstream_result_bytes");
    let returned = with_ratio("final_result_bytes") + with_ratio("prints_bytes");
    let weighted = (returned > 0).then(|| rounded(fetched as f64 / returned as f64, 100.0));
    let mut top: Vec<&&&Json> = measured.iter().filter(|record| ratio(record).is_some()).collect();
    // Newest first among equals: the sort is stable.
    top.reverse();
    top.sort_by(|left, right| f64::total_cmp(&ratio(right).unwrap_or(0.0), &ratio(left).unwrap_or(0.0)));
    let top: Vec<Json> = top
        .iter()
        .take(TOP)
        .map(|record| {
            let metrics = &record["ptc_metrics"];
            json!({
                "request_id": record["request_id"],
                "tool": record["tool"],
                "ratio": metrics["payload_reduction_ratio"],
                "upstream_result_bytes": metrics["upstream_result_bytes"],
                "final_result_bytes": metrics["final_result_bytes"],
            })
        })
        .collect();
    let mut block = json!({
        "schema_version": 1,
        "calls_with_metrics": measured.len(),
        "totals": {
            "upstream_call_count": sum("upstream_call_count"),
            "upstream_result_bytes": sum("upstream_result_bytes"),
            "upstream_error_bytes": sum("upstream_error_bytes"),
            "upstream_oversize_bytes": sum("upstream_oversize_bytes"),
            "final_result_bytes": sum("final_result_bytes"),
        },
        "reduction_ratio": {
            "p50": rank(&ratios, 50),
            "p95": rank(&ratios, 95),
            "max": ratios.last(),
            "weighted": weighted,
        },
        "estimated_tokens": {
            "upstream_result": tokens(sum("upstream_result_bytes")),
            "final_result": tokens(sum("final_result_bytes")),
        },
        "top_reducers": top,
    });
    if let Some(planner) = planner(&measured) {
        block["agentic_planner"] = planner;
    }
    block
}

fn planner(measured: &[&&Json]) -> Option<Json> {
    let lines: Vec<&Json> = measured
        .iter()
        .map(|record| &record["ptc_metrics"]["server_side_llm"])
        .filter(|line| line.is_object())
        .collect();
    let sum = |key: &str| lines.iter().filter_map(|line| line[key].as_u64()).sum::<u64>();
    (!lines.is_empty()).then(|| {
        json!({
            "planner_calls": sum("planner_calls"),
            "prompt_tokens": sum("prompt_tokens"),
            "completion_tokens": sum("completion_tokens"),
            "prompt_bytes": sum("prompt_bytes"),
            "completion_bytes": sum("completion_bytes"),
        })
    })
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> Json {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    json!(counts)
}

/// The value of a percentile by nearest rank; the values are sorted.
fn rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    let at = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(at - 1).copied()
}

fn rounded(number: f64, to: f64) -> f64 {
    (number * to).round() / to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let sorted: Vec<u64> = (1..=20).collect();
        assert_eq!((rank(&sorted, 50), rank(&sorted, 95)), (Some(10), Some(19)));
        assert_eq!((rank(&[7], 95), rank::<u64>(&[], 50)), (Some(7), None));
    }
}
