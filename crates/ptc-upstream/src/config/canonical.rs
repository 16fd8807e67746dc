//! What an approval is bound to, besides the definition of the tool: where the calls of an upstream go, and what the
//! operator says of its tools. As JSON of a fixed form, so that other processes and later versions come to the same.
//!
//! Structs are taken apart without `..`: a new field does not build before somebody has decided whether it belongs here.

use std::path::{Path, absolute};

use ptc_system::environment::{Part, Template};
use serde_json::{Map, Value as Json, json};

use super::{
    ApprovalRules, AuthRule, Endpoint, HttpConfig, OpenApiConfig, OperationOverride, SchemaSource, Scheme,
    StdioConfig, ToolFilter, TransportConfig, UpstreamConfig,
};

/// Counted up when the same configuration is written in another form; approvals from before do not fit then.
const FORM: u32 = 1;

impl UpstreamConfig {
    /// How it is reached and what is said of its tools. How long anything may take, how large answers may be and texts
    /// for readers change no call, and are no part of it. Credentials are there by name.
    pub(crate) fn canonical(&self) -> Json {
        let UpstreamConfig {
            name: _,
            description: _,
            tags: _,
            effects,
            approval,
            tools,
            max_response_bytes: _,
            call_timeout: _,
            transport,
        } = self;
        let effects: Map<String, Json> =
            effects.iter().map(|(tool, effect)| (tool.clone(), effect.name().into())).collect();
        json!({
            "form": FORM,
            "transport": transport.name(),
            "reached": reached(transport),
            "effects": effects,
            "approval": rules(approval),
            "tools": filter(tools),
        })
    }
}

fn rules(ApprovalRules { rest, tools }: &ApprovalRules) -> Json {
    let tools: Map<String, Json> =
        tools.iter().map(|(tool, approval)| (tool.clone(), approval.name().into())).collect();
    json!({"rest": rest.name(), "tools": tools})
}

fn filter(ToolFilter { include, exclude }: &ToolFilter) -> Json {
    json!({"include": include, "exclude": exclude})
}

fn reached(transport: &TransportConfig) -> Json {
    match transport {
        TransportConfig::Stdio(config) => process(config),
        TransportConfig::Http(HttpConfig { endpoint: to, handshake_timeout: _, legacy_sse: _ }) => {
            endpoint(to)
        }
        TransportConfig::OpenApi(config) => api(config),
    }
}

fn process(config: &StdioConfig) -> Json {
    let StdioConfig { command, args, env, inherit_env, directory, handshake_timeout: _ } = config;
    let env: Map<String, Json> = env.iter().map(|(name, value)| (name.clone(), template(value))).collect();
    let mut process = json!({
        "command": template(command),
        "args": args.iter().map(template).collect::<Vec<_>>(),
        "env": env,
        "directory": directory.as_deref().map(whole),
    });
    // Only where it is said: others keep the form that they had before there was such a setting.
    if *inherit_env {
        process["inherit_env"] = true.into();
    }
    process
}

fn endpoint(to: &Endpoint) -> Json {
    let Endpoint {
        url,
        auth,
        static_headers,
        connect_timeout: _,
        request_timeout: _,
        // What is allowed shows in the address.
        allow_insecure_http: _,
        allow_insecure_auth: _,
    } = to;
    let headers: Map<String, Json> =
        static_headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    json!({"url": url.as_str(), "auth": auth.iter().map(secret).collect::<Vec<_>>(), "headers": headers})
}

fn secret(AuthRule { scheme, binding }: &AuthRule) -> Json {
    let form = match scheme {
        Scheme::Bearer => "bearer",
        Scheme::Basic => "basic",
        Scheme::CustomHeader(_) => "header",
    };
    json!({"scheme": form, "header": scheme.header(), "credential": binding})
}

fn api(config: &OpenApiConfig) -> Json {
    let OpenApiConfig {
        endpoint: to,
        schema,
        allow_schema_auth: _,
        schema_max_bytes: _,
        include_operations,
        overrides,
        allow_writes,
    } = config;
    let schema = match schema {
        SchemaSource::File(path) => json!({"file": whole(path)}),
        SchemaSource::Url(url) => json!({"url": url.as_str()}),
    };
    let mut operations = include_operations.clone();
    operations.sort();
    let overrides: Map<String, Json> =
        overrides.iter().map(|(id, other)| (id.clone(), changed(other))).collect();
    json!({
        "endpoint": endpoint(to),
        "schema": schema,
        "operations": operations,
        "overrides": overrides,
        "allow_writes": allow_writes,
    })
}

fn changed(other: &OperationOverride) -> Json {
    let OperationOverride { name, description, default_args, effect, allow_writes } = other;
    json!({
        "name": name,
        "description": description,
        "default_args": default_args,
        "effect": effect.map(|effect| effect.name()),
        "allow_writes": allow_writes,
    })
}

/// Texts and variables, so that a text that looks like a variable is none. Values of variables are no part of it.
fn template(template: &Template) -> Json {
    let part = |part: &Part| match part {
        Part::Literal(text) => json!({"text": text}),
        Part::Variable { name, default } => json!({"variable": name, "default": default.as_ref().map(value)}),
    };
    template.parts().iter().map(part).collect()
}

/// A default: a text as it is, or its parts where it has variables of its own.
fn value(default: &Template) -> Json {
    match default.parts() {
        [] => "".into(),
        [Part::Literal(text)] => text.as_str().into(),
        _ => template(default),
    }
}

/// A path as it is from anywhere: servers of a store may be started in different folders.
fn whole(path: &Path) -> String {
    absolute(path).unwrap_or_else(|_| path.to_path_buf()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::pins::digest;

    fn read(upstream: &Json) -> Json {
        let config = json!({
            "credentials": {"token": {"source": "env", "var": "TOKEN"}},
            "upstreams": {"crm": upstream},
        });
        let config = Config::from_value(config, Path::new("/etc/ptc")).expect("it is right");
        config.upstreams[0].canonical()
    }

    /// One upstream of each kind with its form, which must not change without [`FORM`].
    fn kinds() -> [(Json, Json); 3] {
        let said = |transport: &str, reached: Json| {
            json!({"form": 1, "transport": transport, "reached": reached, "effects": {"put": "write"},
                   "approval": {"rest": "writes", "tools": {"send": "ask"}},
                   "tools": {"include": null, "exclude": []}})
        };
        let rules = json!({"effects": {"put": "write"}, "approval": {"*": "writes", "send": "ask"}});
        let with = |own: Json| {
            let mut all = rules.clone();
            if let (Json::Object(all), Json::Object(own)) = (&mut all, own) {
                all.extend(own);
            }
            all
        };
        let endpoint = json!({"url": "https://crm.example/mcp", "headers": {"x-team": "a"},
                              "auth": [{"scheme": "bearer", "header": "authorization", "credential": "token"}]});
        let reach = json!({"url": "https://crm.example/mcp", "static_headers": {"X-Team": "a"},
                           "auth": [{"scheme": "bearer", "binding": "token"}]});
        let mut http = with(reach);
        http["transport"] = "mcp_http".into();
        [
            (
                with(json!({"transport": "mcp_stdio", "command": "crm", "args": ["--all"],
                            "env": {"KEY": "a-${KEY}"}})),
                said(
                    "mcp_stdio",
                    json!({"command": [{"text": "crm"}], "args": [[{"text": "--all"}]],
                           "env": {"KEY": [{"text": "a-"}, {"variable": "KEY", "default": null}]},
                           "directory": null}),
                ),
            ),
            (http, said("mcp_http", endpoint)),
            (
                with(
                    json!({"transport": "openapi", "base_url": "https://crm.example/", "schema_file": "crm.json",
                            "include_operations": ["put", "get"], "allow_writes": true}),
                ),
                said(
                    "openapi",
                    json!({"endpoint": {"url": "https://crm.example/", "auth": [], "headers": {}},
                           "schema": {"file": "/etc/ptc/crm.json"}, "operations": ["get", "put"],
                           "overrides": {}, "allow_writes": true}),
                ),
            ),
        ]
    }

    #[test]
    fn the_form_of_every_kind_of_upstream_stays_as_it_is() {
        for (upstream, expected) in kinds() {
            assert_eq!(read(&upstream), expected, "{upstream}");
        }
    }

    #[test]
    fn what_changes_no_call_changes_nothing_and_everything_else_does() {
        let (http, _) = kinds()[1].clone();
        let same = [
            ("description", json!("another text")),
            ("tags", json!(["sales"])),
            ("max_response_bytes", json!(1_000)),
            ("request_timeout_ms", json!(1_000)),
            ("connect_timeout_ms", json!(1_000)),
            ("handshake_timeout_ms", json!(1_000)),
            ("call_timeout_ms", json!(1_000)),
        ];
        let other = [
            ("url", json!("https://other.example/mcp")),
            ("static_headers", json!({"x-team": "b"})),
            ("auth", json!([])),
            ("effects", json!({"put": "read"})),
            ("approval", json!({"*": "writes", "send": "writes"})),
            ("include_tools", json!(["put"])),
            ("exclude_tools", json!(["get"])),
        ];
        let with = |(key, value): &(&str, Json)| {
            let mut changed = http.clone();
            changed[*key] = value.clone();
            digest(&read(&changed))
        };
        let before = digest(&read(&http));
        for setting in &same {
            assert_eq!(with(setting), before, "{setting:?}");
        }
        for setting in &other {
            assert_ne!(with(setting), before, "{setting:?}");
        }
    }

    #[test]
    fn an_environment_that_is_inherited_is_another_one() {
        let child = |more: Json| {
            let mut child = kinds()[0].0.clone();
            child["inherit_env"] = more;
            digest(&read(&child))
        };
        assert_eq!(child(json!(false)), digest(&read(&kinds()[0].0)));
        assert_ne!(child(json!(true)), child(json!(false)));
    }

    #[test]
    fn a_path_is_the_same_from_every_folder() {
        let relative = whole(Path::new("tools/crm.json"));
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(relative, whole(&here.join("tools/crm.json")));
    }
}
