//! Prompts with placeholders: section 9, and rule 1.46 on names.

use ptc_signature::{OnMissing, Placeholder, Signature, Template, TemplateError, mask};
use serde_json::{Value, json};

fn render(template: &str, context: &Value) -> Result<String, TemplateError> {
    Template::parse(template)?.render(context, OnMissing::Error)
}

#[test]
fn r9_1_variables_paths_sections_comments() {
    let context = json!({"name": "Ada", "user": {"name": "Eve", "a": {"b": 1}}, "list": ["x", "y"], "html": "<&>", "on": true, "f": 1.5});
    let cases = [
        ("Hi {{name}}!", "Hi Ada!"),
        ("{{ name }} {{user.name}} {{ user.a.b }}", "Ada Eve 1"),
        ("{{#list}}({{.}}){{/list}}", "(x)(y)"),
        ("{{#list}}{{name}} {{/list}}", "Ada Ada "),
        ("{{^none}}nothing{{/none}}", "nothing"),
        ("{{^list}}nothing{{/list}}", ""),
        ("a{{! a comment }}b", "ab"),
        ("{{html}}", "<&>"),
        ("{{on}} {{f}}", "true 1.5"),
        ("no tags } { here", "no tags } { here"),
        ("{{#user}}{{name}}/{{a.b}}{{/user}}", "Eve/1"),
        ("{{#on}}yes{{/on}}", "yes"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(template, &context).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn r1_46_names_begin_with_a_letter_and_spaces_are_trimmed() {
    for good in [
        "{{name}}",
        "{{user.name}}",
        "{{user.address.city}}",
        "{{user-name}}",
        "{{user_name}}",
        "{{ name }}",
        "{{_ids}}",
    ] {
        assert!(Template::parse(good).is_ok(), "{good}");
    }
    for bad in ["{{123}}", "{{}}", "{{ }}", "{{a b}}", "{{a..b}}", "{{.a}}", "{{a.1}}"] {
        assert!(Template::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn r9_2_syntax_errors_have_a_place() {
    let cases = [
        ("ab {{name", "tag is not closed", 4),
        ("{{}}", "placeholder has no name", 1),
        ("{{#}}{{/}}", "section has no name", 1),
        ("x {{#a}} y", "section `a` is not closed", 3),
        ("{{#a}}{{#b}}{{/a}}", "section `b` is open, but `a` is closed", 13),
        ("{{/a}}", "closed but was not opened", 1),
        ("{{{a}}}", "nothing is escaped", 1),
        ("{{> a}}", "partials", 1),
        ("{{=<% %>=}}", "delimiters", 1),
    ];
    for (template, message, column) in cases {
        let error = Template::parse(template).expect_err(template);
        assert!(error.message.contains(message), "{template}: {error}");
        assert_eq!((error.line, error.column), (1, column), "{template}");
    }
    assert_eq!(Template::parse("a\nb {{").expect_err("open").line, 2);
}

#[test]
fn r9_3_tags_alone_on_a_line_take_the_line() {
    let context = json!({"items": [{"n": 1}, {"n": 2}]});
    let cases = [
        ("List:\n{{#items}}\n- {{n}}\n{{/items}}\nEnd", "List:\n- 1\n- 2\nEnd"),
        ("a\n  {{! note }}  \nb", "a\nb"),
        ("a {{! note }}\nb", "a \nb"),
        ("{{#items}}\r\n{{n}}\r\n{{/items}}\r\n", "1\r\n2\r\n"),
        ("x\n{{^items}}\nnone\n{{/items}}", "x\n"),
        ("  {{#items}}{{n}}{{/items}}\n", "  12\n"),
    ];
    for (template, expected) in cases {
        assert_eq!(render(template, &context).as_deref(), Ok(expected), "{template:?}");
    }
}

#[test]
fn r9_4_what_counts_as_empty() {
    let falsy = [json!(null), json!(false), json!([]), json!("")];
    let truthy = [json!(0), json!(" "), json!(true), json!([0]), json!({})];
    for (values, expected) in [(&falsy[..], "no"), (&truthy[..], "yes")] {
        for value in values {
            let context = json!({"x": value});
            assert_eq!(render("{{#x}}yes{{/x}}{{^x}}no{{/x}}", &context).as_deref(), Ok(expected), "{value}");
        }
    }
    assert_eq!(
        render("{{#missing}}yes{{/missing}}{{^missing}}no{{/missing}}", &json!({})).as_deref(),
        Ok("no")
    );
    assert_eq!(render("[{{#items}}x{{/items}}]", &json!({"items": []})).as_deref(), Ok("[]"));
}

#[test]
fn r9_4_lookup_goes_outward() {
    let context =
        json!({"title": "T", "rows": [{"id": 1, "sub": [{"k": "a"}]}, {"id": 2, "sub": [], "title": "own"}]});
    let template = "{{#rows}}{{title}}{{id}}{{#sub}}-{{k}}{{id}}{{/sub}};{{/rows}}";
    assert_eq!(render(template, &context).as_deref(), Ok("T1-a1;own2;"));
    assert_eq!(render("{{user-name}}", &json!({"user_name": "Ada"})).as_deref(), Ok("Ada"));
}

#[test]
fn r9_5_variables_are_scalars_and_sections_have_a_depth() {
    for (template, kind) in [("{{x}}", "list"), ("{{m}}", "map"), ("{{#m}}{{.}}{{/m}}", "map")] {
        let error = render(template, &json!({"x": [1], "m": {"a": 1}})).expect_err(template);
        assert!(error.to_string().contains(&format!("is a {kind}: use a section")), "{error}");
    }
    assert_eq!(render("[{{x}}]", &json!({"x": null})).as_deref(), Ok("[]"));
    let nested = |n: usize| format!("{}x{}", "{{#a}}".repeat(n), "{{/a}}".repeat(n));
    assert!(Template::parse(&nested(20)).is_ok());
    assert!(Template::parse(&nested(21)).expect_err("too deep").message.contains("20 levels"));
    assert!(Template::parse(&nested(10_000)).is_err());
}

#[test]
fn r9_6_r9_8_missing_values_are_an_error_or_stay() {
    let template = Template::parse("{{a}} {{ b.c }} {{a}} {{d}}").expect("a template");
    let context = json!({"d": 1, "b": {}});
    let error = template.render(&context, OnMissing::Error).expect_err("two are missing");
    assert_eq!(error, TemplateError::Missing(vec!["a".into(), "b.c".into()]));
    assert_eq!(error.to_string(), "missing values for {{a}}, {{b.c}}");
    assert_eq!(template.render(&context, OnMissing::Keep).as_deref(), Ok("{{a}} {{ b.c }} {{a}} 1"));
}

#[test]
fn r9_7_references_instead_of_values() {
    let template = Template::parse("Count {{user.id}} of {{n}}").expect("a template");
    let context = json!({"n": 5, "user": {"id": 7}, "a": [1, 2]});
    let instead = |template: &Template, path: &str| {
        let text = |place: &Placeholder| (place.path == path).then(|| "<that>".to_owned());
        template.render_or(&context, OnMissing::Error, text)
    };
    assert_eq!(instead(&template, "user.id").as_deref(), Ok("Count <that> of 5"));
    let section = Template::parse("{{#a}}{{.}},{{/a}} {{n}}").expect("a template");
    assert_eq!(instead(&section, "a").as_deref(), Ok("<that> 5"), "a section goes as a whole");
    assert_eq!(instead(&section, ".").as_deref(), Ok("1,2, 5"));
}

#[test]
fn r9_9_placeholders_are_listed() {
    let template = Template::parse("{{a.b}} {{#items}}{{.}} {{x}}{{/items}} {{a.b}}").expect("a template");
    let listed: Vec<(String, bool)> =
        template.placeholders().into_iter().map(|Placeholder { path, section }| (path, section)).collect();
    assert_eq!(
        listed,
        [("a.b".into(), false), ("items".into(), true), (".".into(), false), ("x".into(), false)]
    );
}

#[test]
fn placeholders_are_checked_against_the_parameters() {
    let signature = Signature::parse("(user {name :string, tags [:string]}, items [{subject :string, ids [:int]}], topic :string, opts :map, any :any) -> :any").expect("a signature");
    let good = [
        "{{topic}} {{user.name}}",
        "{{#items}}{{subject}} {{topic}} {{#ids}}{{.}}{{/ids}}{{/items}}",
        "{{#user}}{{name}}{{#tags}}{{.}}{{/tags}}{{/user}}",
        "{{opts.whatever}} {{#opts}}{{x}}{{/opts}} {{#any}}{{y}} {{.}}{{/any}}",
        "{{^items}}none for {{topic}}{{/items}}",
    ];
    for template in good {
        assert!(Template::checked(template, &signature).is_ok(), "{template}");
    }
    let bad = [
        ("{{topics}}", "placeholder {{topics}}: `topics` is not declared (did you mean `topic`?)"),
        ("{{user.nmae}}", "placeholder {{user.nmae}}: `nmae` is not declared (did you mean `name`?)"),
        ("{{items}}", "placeholder {{items}}: is a list, use a section: {{#items}}…{{/items}}"),
        ("{{user}}", "placeholder {{user}}: is a map, use a section: {{#user}}…{{/user}}"),
        (
            "{{items.subject}}",
            "placeholder {{items.subject}}: `subject` is inside a list, use a section for the list",
        ),
        (
            "{{#items}}{{sbject}}{{/items}}",
            "placeholder {{sbject}}: `sbject` is not declared (there is user, items, topic, opts, any)",
        ),
        ("{{topic.x}}", "placeholder {{topic.x}}: `x` is not declared"),
        ("{{.}}", "placeholder {{.}}: there is no current value outside of a section"),
    ];
    for (template, message) in bad {
        assert_eq!(Template::checked(template, &signature).expect_err(template).to_string(), message);
    }
    // Where placeholders may be names, lists and maps are no problem outside of sections.
    let named = |template: &str| Template::parse(template).expect("a template").check_names(&signature);
    for template in ["{{items}} {{user}}", "{{user.tags}} {{#items}}{{subject}}{{/items}}"] {
        assert_eq!(named(template), Ok(()), "{template}");
    }
    for template in ["{{topics}}", "{{items.subject}}", "{{#items}}{{ids}}{{/items}}", "{{.}}"] {
        assert!(named(template).is_err(), "{template}");
    }
    let two = Template::checked("{{x1}} {{x2}}", &signature).expect_err("two problems").to_string();
    assert_eq!(two.lines().count(), 2);
}

#[test]
fn a_masked_context_keeps_hidden_values_out_of_a_prompt() {
    let context = mask(&json!({"_ids": [1, 2], "name": "Ada"}));
    assert_eq!(render("{{name}} {{_ids}}", &context).as_deref(), Ok("Ada <Firewalled>"));
}
