//! Commands as tools: the arguments come on standard input as JSON, what the command prints is the result. Their
//! environment is that of MCP servers: a short list, and what the file of the agent names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use ptc_agent::{Tool, ToolResult};
use ptc_host::parts;
use ptc_system::environment::{self, Template};
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Bytes of output that are read. How many values may be in them depends on the memory of the program.
const MAX_OUTPUT: u64 = 32 << 20;

/// Bytes of complaints that an error repeats.
const MAX_COMPLAINT: usize = 2_000;

/// A command that a file names.
struct Line {
    words: Vec<String>,
    folder: PathBuf,
    /// What is added to its environment.
    environment: Vec<(String, Template)>,
    /// How many values may be in what it prints.
    most_values: usize,
}

/// What the file of an agent adds to the environment of a command; the error names the entry that is wrong.
pub(crate) fn environment(
    given: BTreeMap<String, String>,
) -> Result<Vec<(String, Template)>, (String, String)> {
    let entry = |(name, text): (String, String)| match Template::parse(&text) {
        Ok(template) if environment::is_name(&name) => Ok((name, template)),
        Ok(_) => Err((name, "is no name of a variable".to_owned())),
        Err(problem) => Err((name, problem)),
    };
    given.into_iter().map(entry).collect()
}

/// A command as a tool of programs with so much memory. It runs in the folder of the file that names it, without a shell,
/// and ends with the call.
pub(crate) fn tool(
    name: &str,
    words: Vec<String>,
    folder: &Path,
    environment: Vec<(String, Template)>,
    memory: usize,
) -> Result<Tool, String> {
    if words.first().is_none_or(|program| program.trim().is_empty()) {
        return Err("command must name a program: command = [\"./tool.sh\", \"argument\"]".to_owned());
    }
    // The command is started from its folder, where a relative one would lead elsewhere.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let line = Arc::new(Line { words, folder, environment, most_values: parts::values_within(memory) });
    Ok(Tool::future(name, move |args: Json| {
        let line = line.clone();
        async move { run(&line, &args).await }
    }))
}

/// Covers the secrets of a command's environment in what it says, as those of upstreams are covered: neither programs nor
/// models see them. Without upstreams this crate has nothing that knows secrets.
struct Cover(#[cfg(feature = "upstreams")] ptc_upstream::Redactor);

#[cfg(feature = "upstreams")]
impl Cover {
    fn of(environment: &[(String, Template)]) -> Cover {
        Cover(ptc_upstream::Redactor::new(&ptc_upstream::credentials::in_environment(environment, &variable)))
    }

    fn text(&self, text: String) -> String {
        self.0.redact_string(text)
    }

    fn answer(&self, mut answer: Json) -> Json {
        self.0.redact_json(&mut answer);
        answer
    }
}

#[cfg(not(feature = "upstreams"))]
impl Cover {
    fn of(_environment: &[(String, Template)]) -> Cover {
        Cover()
    }

    fn text(&self, text: String) -> String {
        text
    }

    fn answer(&self, answer: Json) -> Json {
        answer
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

async fn run(line: &Line, args: &Json) -> Result<Json, String> {
    let Line { words, folder, environment, most_values } = line;
    let program = &words[0];
    let mut own = Vec::new();
    for (name, template) in environment {
        let missing =
            |variable| format!("`{program}` needs the environment variable {variable}, which is not set");
        own.push((name, template.fill(&variable).map_err(missing)?));
    }
    // A path is meant from the folder of the file, a bare name from the search path.
    let found = if program.contains('/') { folder.join(program).into_os_string() } else { program.into() };
    let mut command = Command::new(found);
    // Ctrl-C at a terminal stops the run, which stops its commands; they shall not fail before that.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command
        .args(&words[1..])
        .env_clear()
        .envs(environment::inherited())
        .envs(own)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let group = Group(child.id());
    let (input, output, complaints) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let text = args.to_string();
    let write = async move {
        if let Some(mut input) = input {
            // A command that does not read its input may be done with it already.
            let _ = input.write_all(text.as_bytes()).await;
        }
    };
    let ((), printed, complained) = tokio::join!(write, read(output, MAX_OUTPUT), heard(complaints));
    let printed = printed?;
    // Asked before how the command ended: it may have failed only because nobody read on.
    if printed.len() as u64 > MAX_OUTPUT {
        return Err(format!("`{program}` printed more than {MAX_OUTPUT} bytes; ask it for less at once"));
    }
    let status = child.wait().await.map_err(|error| format!("`{program}`: {error}"))?;
    group.release();
    let cover = Cover::of(environment);
    if !status.success() {
        // Secrets first: a cut must not leave a part of one.
        let complained = cover.text(String::from_utf8_lossy(&complained?).trim().to_owned());
        let end = complained.char_indices().nth(MAX_COMPLAINT).map_or(complained.len(), |(at, _)| at);
        return Err(format!("`{program}` ended with {status}: {}", &complained[..end]));
    }
    let text =
        String::from_utf8(printed).map_err(|_| format!("`{program}` printed something that is no text"))?;
    let printed = printed_value(&text, *most_values).map(|value| cover.answer(value));
    printed.map_err(|error| format!("`{program}`: {}", cover.text(error)))
}

/// What a command printed: JSON, or text. Digits that a number could not hold are a text, and a document with such a number
/// is refused, as it is from upstreams. So is one with more than `most` values, before it is built: they would take many
/// times the bytes of their text.
fn printed_value(text: &str, most: usize) -> ToolResult {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = || Json::from(text.trim_end_matches('\n'));
    let values = parts::extent(text.as_bytes()).values;
    if values > most {
        // What is no JSON stays a text, however many commas are in it.
        return match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => Err(format!(
                "printed {values} values, more than the {most} that the memory of the program allows; ask it for less at once"
            )),
            Err(_) => Ok(plain()),
        };
    }
    match ptc_host::strict_json(text) {
        // It is JSON, of which nobody could say which value counts.
        Err(error) if error.is_data() => Err(error.to_string()),
        Err(_) => Ok(plain()),
        Ok(Json::Number(_)) if ptc_host::rounded_integer(text).is_some() => Ok(plain()),
        Ok(value) => ptc_host::exact(text).map(|()| value).map_err(|rounded| rounded.to_string()),
    }
}

/// A command with everything it has started. Whoever drops it before it is over ends them all.
struct Group(Option<u32>);

impl Group {
    /// The command ended by itself; what it left behind is its own business.
    fn release(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|id| i32::try_from(id).ok()) {
            use nix::sys::signal::{Signal, killpg};
            // It may be gone already.
            let _ = killpg(nix::unistd::Pid::from_raw(leader), Signal::SIGKILL);
        }
    }
}

/// The beginning of what a command complains of. The rest is read too, so that nobody fails for having said much.
async fn heard(from: Option<impl tokio::io::AsyncRead + Unpin>) -> Result<Vec<u8>, String> {
    let Some(mut from) = from else { return Ok(Vec::new()) };
    let first = read(Some(&mut from), 64 << 10).await?;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await.map_err(|error| error.to_string())?;
    Ok(first)
}

async fn read(from: Option<impl tokio::io::AsyncRead + Unpin>, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit + 1).read_to_end(&mut bytes).await.map_err(|error| error.to_string())?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_command_printed_is_a_value_and_no_digit_of_it_is_lost() {
        for (text, value) in [
            ("{\"n\": 1}\n", json!({"n": 1})),
            ("18446744073709551615\n", json!(u64::MAX)),
            ("36893488147419103232123\n", json!("36893488147419103232123")),
            ("two words\n", json!("two words")),
        ] {
            assert_eq!(printed_value(text, 9), Ok(value), "{text}");
        }
        let refused = printed_value("{\"id\": 36893488147419103232123}", 9).unwrap_err();
        assert!(
            refused.contains("36893488147419103232123 does not fit 64 bits and would be rounded"),
            "{refused}"
        );
    }

    #[test]
    fn what_a_command_printed_has_as_many_values_as_the_memory_of_the_program_allows() {
        assert_eq!(printed_value("[1, [2]]", 3), Ok(json!([1, [2]])));
        assert_eq!(
            printed_value("[1, [2, {}]]", 3),
            Err("printed 4 values, more than the 3 that the memory of the program allows; ask it for less at once"
                .to_owned())
        );
        let prose = "[1] a, b, c, d, e";
        assert_eq!(printed_value(prose, 3), Ok(json!(prose)));
    }
}
