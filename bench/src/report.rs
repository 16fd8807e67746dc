//! What was measured, as tables for people and as JSON for programs.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::engines::Peer;
use crate::extras::Extras;
use crate::measure::Row;

/// All results of a run.
pub struct Report<'a> {
    /// The engines, ours first.
    pub engines: &'a [Box<dyn Peer>],
    /// Workloads.
    pub rows: &'a [Row],
    /// Figures that are not times of programs.
    pub extras: &'a Extras,
}

impl Report<'_> {
    /// Tables in Markdown: our median with the growth, and for every peer its median as a multiple of ours.
    pub fn table(&self) -> String {
        let mut out = String::new();
        if !self.rows.is_empty() {
            out += "Median of ours, and how many times ours each peer takes (above 1: we are faster).\n";
            out += "Growth: cost at 4× and 16× the size, 1.00 is proportional. * has a JIT.\n\n";
            self.header(&mut out);
            for row in self.rows {
                self.line(&mut out, row);
            }
            out.push('\n');
        }
        self.figures(&mut out);
        let failures = self.rows.iter().flat_map(|row| row.failures.iter().map(move |text| (row.id, text)));
        for (id, failure) in failures.chain(self.extras.failures.iter().map(|text| ("extra", text))) {
            out += &format!("FAILED {id} {failure}\n");
        }
        out
    }

    fn header(&self, out: &mut String) {
        *out += "| | ours | growth |";
        for engine in &self.engines[1..] {
            *out += &format!(" {}{} |", engine.name(), if engine.jit() { "*" } else { "" });
        }
        *out += &format!("\n|---|---|---|{}\n", "---|".repeat(self.engines.len() - 1));
    }

    fn line(&self, out: &mut String, row: &Row) {
        let ours = row.ns[0].unwrap_or(f64::NAN);
        let growth = row.growth.map_or("–".to_owned(), |[four, all]| format!("{four:.2} {all:.2}"));
        *out += &format!("| {} {} | {} | {growth} |", row.id, row.title, time(ours));
        for ns in &row.ns[1..] {
            *out += &ns.map_or(" – |".to_owned(), |ns| format!(" {:.2} |", ns / ours));
        }
        out.push('\n');
    }

    fn figures(&self, out: &mut String) {
        if self.extras.figures.is_empty() {
            return;
        }
        *out += "| | engine | |\n|---|---|---|\n";
        for extra in &self.extras.figures {
            let figure = match extra.unit {
                "ns" => time(extra.figure),
                "×" => format!("{:.2} ×", extra.figure),
                unit => format!("{:.0} {unit}", extra.figure),
            };
            *out += &format!("| {} {} | {} | {figure} |\n", extra.id, extra.what, extra.engine);
        }
        out.push('\n');
    }

    /// The same as JSON.
    pub fn json(&self) -> Json {
        let engines: Vec<Json> =
            self.engines.iter().map(|engine| json!({"name": engine.name(), "jit": engine.jit()})).collect();
        let rows: Vec<Json> = self.rows.iter().map(|row| self.row_json(row)).collect();
        let extras: Vec<Json> = self.extras.figures.iter().map(|extra| {
            json!({"id": extra.id, "what": extra.what, "engine": extra.engine, "figure": extra.figure, "unit": extra.unit})
        }).collect();
        json!({"engines": engines, "rows": rows, "figures": extras, "failures": self.extras.failures})
    }

    fn row_json(&self, row: &Row) -> Json {
        let ours = row.ns[0].unwrap_or(f64::NAN);
        let by_engine = |figure: &dyn Fn(f64) -> f64| -> Map<String, Json> {
            let named = self.engines.iter().zip(&row.ns);
            named.filter_map(|(engine, ns)| Some((engine.name().to_owned(), json!(figure((*ns)?))))).collect()
        };
        json!({
            "id": row.id, "title": row.title, "median_ns": by_engine(&|ns| ns),
            "times_ours": by_engine(&|ns| ns / ours), "growth": row.growth, "failures": row.failures,
        })
    }
}

/// A time with three digits.
fn time(ns: f64) -> String {
    let (figure, unit) = match ns {
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns if ns >= 1e3 => (ns / 1e3, "µs"),
        ns => (ns, "ns"),
    };
    let digits = if figure >= 100.0 {
        0
    } else if figure >= 10.0 {
        1
    } else {
        2
    };
    let mut out = String::new();
    write!(out, "{figure:.digits$} {unit}").expect("a string takes any text");
    out
}

/// Writes to standard output; a reader that has gone is no failure.
pub fn print(text: &str) {
    std::io::stdout().write_all(text.as_bytes()).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let shown = [1.0, 999.0, 1_234.0, 12_345.0, 123_456.0, 2.5e6, 2.5e9].map(time);
        assert_eq!(shown, ["1.00 ns", "999 ns", "1.23 µs", "12.3 µs", "123 µs", "2.50 ms", "2500 ms"]);
    }
}
