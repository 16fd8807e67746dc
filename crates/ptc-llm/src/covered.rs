//! A model whose replies have secrets covered: what a server sends back of a key is gone before a run, a journal or a recording
//! has it, so all of them have the same.

use std::sync::Arc;

use ptc_agent::model::{Llm, Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};
use serde_json::Value as Json;

/// Covers secrets in a value.
pub type Cover = Arc<dyn Fn(&mut Json) + Send + Sync>;

/// Asks another model.
pub struct Covered {
    inner: Llm,
    cover: Cover,
}

impl Covered {
    /// One that covers what this model says.
    pub fn new(inner: Llm, cover: Cover) -> Covered {
        Covered { inner, cover }
    }
}

impl Model for Covered {
    /// Pieces go on as they come. Whoever shows them knows what was shown before, and covers secrets that stand in several.
    fn reply(&self, request: Arc<Request>, chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        let asked: Pending<Result<Reply, ModelError>> = match &self.inner {
            Llm::Model(model) => model.reply(request, chunk),
            Llm::Function(function) => Box::pin(std::future::ready(function(&request))),
            Llm::Named(name) => {
                let message = format!("`{name}` is only a name; open a model");
                Box::pin(std::future::ready(Err(ModelError::new(ModelErrorKind::ConfigError, message))))
            }
        };
        let cover = self.cover.clone();
        Box::pin(async move {
            let text = |text: &mut String| cover_text(&cover, text);
            match asked.await {
                Ok(mut reply) => {
                    reply.content.iter_mut().for_each(text);
                    for call in &mut reply.tool_calls {
                        text(&mut call.id);
                        text(&mut call.name);
                        cover(&mut call.args);
                        call.args_error.iter_mut().for_each(text);
                    }
                    Ok(reply)
                }
                Err(mut error) => {
                    text(&mut error.message);
                    Err(error)
                }
            }
        })
    }

    fn name(&self) -> &str {
        self.inner.label()
    }
}

fn cover_text(cover: &Cover, text: &mut String) {
    let mut value = Json::String(std::mem::take(text));
    cover(&mut value);
    if let Json::String(covered) = value {
        *text = covered;
    }
}

impl std::fmt::Debug for Covered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Covered({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use ptc_agent::model::ToolCall;
    use serde_json::json;

    use super::*;
    use crate::{Registry, Target};

    #[test]
    fn a_key_that_a_server_sends_back_reaches_neither_the_caller_nor_a_recording() {
        let file = std::env::temp_dir().join(format!("ptc-covered-{}.jsonl", std::process::id()));
        let echo = |_: &Target| {
            let call = ToolCall {
                id: "sk-1".to_owned(),
                name: "find".to_owned(),
                args: json!({"key": "sk-1"}),
                args_error: Some("no sk-1".to_owned()),
            };
            Ok(Llm::function(move |_: &Request| {
                let calls = Reply::calls(vec![call.clone()]);
                Ok::<_, ModelError>(Reply { content: Some("your key is sk-1".to_owned()), ..calls })
            }))
        };
        let cover: Cover = Arc::new(|value| {
            *value = serde_json::from_str(&value.to_string().replace("sk-1", "█")).unwrap();
        });
        let registry = Registry::default().adapter(Arc::new(echo)).covering(cover);
        let name = format!("record:{},openai:m", file.display());
        let Llm::Model(model) = registry.model(&name, |_| true).unwrap() else { panic!("a model") };
        let mut asked = model.reply(Arc::new(Request::default()), None);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(Ok(reply)) = asked.as_mut().poll(&mut context) else { panic!("a reply") };
        assert_eq!(reply.content.as_deref(), Some("your key is █"));
        assert_eq!(reply.tool_calls[0].args, json!({"key": "█"}));
        let recorded = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert!(recorded.contains('█') && !recorded.contains("sk-1"), "{recorded}");
    }
}
