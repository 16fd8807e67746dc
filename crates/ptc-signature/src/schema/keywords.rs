//! Which JSON Schema keywords mean what to the reader.

/// Keywords that are turned into types.
const HANDLED: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "additionalItems",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "nullable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
];

/// Keywords that say nothing about which values are valid.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$comment",
    "$defs",
    "definitions",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "discriminator",
    "externalDocs",
    "xml",
    "markdownDescription",
    "enumNames",
    "enumDescriptions",
];

/// Whether a keyword narrows the values in a way types cannot say (or is not known at all).
pub(super) fn is_unsupported(keyword: &str) -> bool {
    !HANDLED.contains(&keyword) && !ANNOTATIONS.contains(&keyword) && !keyword.starts_with("x-")
}
