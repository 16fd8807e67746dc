//! The examples of the declarations.

use crate::builtins::trial::check_examples;

#[test]
fn examples_hold() {
    super::TABLES.iter().for_each(|table| check_examples(table));
}
