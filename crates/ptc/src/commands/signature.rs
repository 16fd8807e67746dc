//! `ptc signature`: check a signature, try values against it, and translate it to and from JSON Schema.

use std::io::{self, Write};

use anyhow::Context;
use ptc_signature::{Issue, Mode, SchemaReader, Signature, Style};
use serde_json::{Value, json};

/// What to do with signatures.
#[derive(Debug, clap::Args)]
pub struct SignatureArgs {
    #[command(subcommand)]
    command: SignatureCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SignatureCommand {
    /// Say whether a signature is well formed, and how it is understood
    Check {
        /// The signature, for example "(query :string, limit :int?) -> [{id :int}]"
        #[arg(allow_hyphen_values = true)]
        signature: String,
        /// Arguments of a call (JSON) to convert and check
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
        /// A result (JSON) to check
        #[arg(long, value_name = "JSON")]
        result: Option<String>,
        /// How strictly values are checked: enabled, warn_only, disabled or strict
        #[arg(long, default_value = "enabled", value_parser = mode)]
        mode: Mode,
    },
    /// Print the JSON Schemas of a signature
    Schema {
        /// The signature
        #[arg(allow_hyphen_values = true)]
        signature: String,
        /// Only the schema of the parameters
        #[arg(long, conflicts_with = "output")]
        input: bool,
        /// Only the schema of the result
        #[arg(long)]
        output: bool,
    },
    /// Read a JSON Schema (of a tool's parameters) as a signature
    FromSchema {
        /// The schema (JSON)
        schema: String,
        /// The schema of the result (JSON)
        #[arg(long, value_name = "JSON")]
        output: Option<String>,
        /// Fail on whatever a signature cannot say
        #[arg(long)]
        strict: bool,
    },
}

fn mode(name: &str) -> Result<Mode, String> {
    Mode::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Mode::ALL.iter().map(|(_, name)| *name).collect();
        format!("there is {}", names.join(", "))
    })
}

/// Runs the command, writing what it has to say to `out`.
pub fn execute(args: SignatureArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    match args.command {
        SignatureCommand::Check { signature, args, result, mode } => {
            let signature = Signature::parse(&signature)?;
            describe(&signature, out)?;
            if let Some(args) = args {
                try_args(&signature, &args, mode, out)?;
            }
            if let Some(result) = result {
                try_result(&signature, &result, mode, out)?;
            }
        }
        SignatureCommand::Schema { signature, input, output } => {
            let signature = Signature::parse(&signature)?;
            let schema = match (input, output) {
                (true, _) => signature.input_schema(),
                (_, true) => signature.output_schema(),
                _ => json!({"input": signature.input_schema(), "output": signature.output_schema()}),
            };
            writeln!(out, "{schema:#}")?;
        }
        SignatureCommand::FromSchema { schema, output, strict } => {
            from_schema(&schema, output.as_deref(), strict, out)?
        }
    }
    Ok(())
}

fn describe(signature: &Signature, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{signature}")?;
    let seen = signature.public().render(Style::Prompt);
    if seen != signature.to_string() {
        writeln!(out, "models see: {seen}")?;
    }
    Ok(())
}

fn try_args(signature: &Signature, args: &str, mode: Mode, out: &mut dyn Write) -> anyhow::Result<()> {
    let args = parse_json(args, "--args")?;
    let coerced = signature.coerce_input(&args, mode).map_err(|r| anyhow::anyhow!(r.feedback("Argument")))?;
    writeln!(out, "arguments: {}", coerced.value)?;
    warn(&coerced.warnings, out)
}

fn try_result(signature: &Signature, result: &str, mode: Mode, out: &mut dyn Write) -> anyhow::Result<()> {
    let result = parse_json(result, "--result")?;
    let warnings =
        signature.validate_output(&result, mode).map_err(|r| anyhow::anyhow!(r.feedback("Result")))?;
    writeln!(out, "the result fits")?;
    warn(&warnings, out)
}

fn from_schema(schema: &str, output: Option<&str>, strict: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let input = parse_json(schema, "the schema")?;
    let output = output.map(|text| parse_json(text, "--output")).transpose()?;
    // References point into the schema they stand in, so each is read by itself.
    let reader =
        |document| if strict { SchemaReader::strict(document) } else { SchemaReader::lenient(document) };
    let read = reader(&input).signature(&input, None)?;
    let result = output.as_ref().map(|document| reader(document).ty(document)).transpose()?;
    let (ty, notes) = result.map_or((read.value.output, Vec::new()), |result| (result.value, result.notes));
    writeln!(out, "{}", Signature { input: read.value.input, output: ty })?;
    warn(&read.notes, out)?;
    warn(&notes, out)
}

fn warn(issues: &[Issue], out: &mut dyn Write) -> anyhow::Result<()> {
    for issue in issues {
        writeln!(out, "note: {issue}")?;
    }
    Ok(())
}

fn parse_json(text: &str, what: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| format!("{what} is not JSON"))
}
