//! `ptc models`: which models there are, where their names lead, and which keys are missing.

use std::io::Write;

use ptc_llm::{PROVIDERS, Source};
use serde_json::{Value as Json, json};

use super::eval::ignore_closed_pipe;
use crate::agents::{Models, available};
use crate::exit::Outcome;
use crate::terminal;

/// Show the names of models, where they lead, what they cost and which keys are set. Nobody is asked.
#[derive(Debug, clap::Args)]
pub struct ModelsArgs {
    /// Only these names
    #[arg(value_name = "MODEL")]
    names: Vec<String>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: ModelsArgs) -> anyhow::Result<Outcome> {
    let models = Models::load()?;
    let names = match args.names.is_empty() {
        true => models.names().map(str::to_owned).collect(),
        false => args.names.clone(),
    };
    let rows: Vec<Row> = names.into_iter().map(|name| Row::of(&models, name)).collect::<Result<_, _>>()?;
    let text = match args.json {
        true => Json::from(rows.iter().map(Row::json).collect::<Vec<_>>()).to_string(),
        false => table(&rows, args.names.is_empty()),
    };
    ignore_closed_pipe(writeln!(terminal::stdout(), "{text}"))?;
    Ok(Outcome::Done)
}

/// A name and what is known of it.
struct Row {
    name: String,
    default: bool,
    leads_to: String,
    price: Option<(f64, f64)>,
    missing_key: Option<&'static str>,
}

impl Row {
    fn of(models: &Models, name: String) -> anyhow::Result<Self> {
        let source = models.resolve(&name).map_err(anyhow::Error::msg)?;
        let missing_key =
            source.target().filter(|target| target.key_env.is_none() && !available(target.provider));
        Ok(Row {
            default: name == models.default_model(),
            leads_to: place(&source),
            price: models.price(&name).map(|price| (price.input, price.output)),
            missing_key: missing_key.and_then(|target| target.provider.key_variable()),
            name,
        })
    }

    fn json(&self) -> Json {
        json!({
            "name": self.name, "default": self.default, "leads_to": self.leads_to, "missing_key": self.missing_key,
            "price": self.price.map(|(input, output)| json!({"input": input, "output": output})),
        })
    }

    fn cells(&self) -> [String; 4] {
        let price = self.price.map(|(input, output)| format!("${input} in, ${output} out"));
        let key = self.missing_key.map(|variable| format!("set {variable}"));
        let name = if self.default { format!("{} (default)", self.name) } else { self.name.clone() };
        [name, self.leads_to.clone(), price.unwrap_or_default(), key.unwrap_or_default()]
    }
}

fn place(source: &Source) -> String {
    match source {
        Source::Remote(target) => {
            let url = target.url.as_ref().map(|url| format!(" at {url}")).unwrap_or_default();
            format!("{}:{}{url}", target.provider.prefix(), target.model)
        }
        Source::Script(path) => format!("script:{}", path.display()),
        Source::Replay(path) => format!("replay:{}", path.display()),
        Source::Record(path, inner) => format!("record:{},{}", path.display(), place(inner)),
    }
}

/// Names in columns; prices are for a million tokens.
fn table(rows: &[Row], all: bool) -> String {
    let cells: Vec<[String; 4]> = rows.iter().map(Row::cells).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let columns = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        format!("{}{}", columns.collect::<String>(), row[3]).trim_end().to_owned()
    };
    let mut lines: Vec<String> = cells.iter().map(line).collect();
    if all {
        let state = |provider| if available(provider) { "" } else { " (no key)" };
        let others: Vec<String> =
            PROVIDERS.iter().map(|row| format!("{}{}", row.prefixes[0], state(row.provider))).collect();
        lines.push(format!("or provider:id with {}", others.join(", ")));
    }
    lines.join("\n")
}
