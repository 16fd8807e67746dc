//! Any text: the reader never panics, every error has a place inside of the text, and what it repairs
//! reads well.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptc_lisp::reader::{ReadLimits, is_incomplete, read_all, read_one};

fuzz_target!(|text: &str| {
    let limits = ReadLimits { max_bytes: 1 << 16, max_depth: 100, max_digits: 200, max_forms: 10_000 };
    match read_all(text, &limits) {
        Ok(forms) => {
            assert!(forms.iter().all(|form| form.span.end as usize <= text.len()));
            assert!(!is_incomplete(text));
        }
        Err(error) => {
            if let Some(span) = error.span {
                assert!(span.start <= span.end && span.end as usize <= text.len(), "{error:?}");
            }
            if let Some(repaired) = &error.repaired {
                read_all(repaired, &limits).expect("a repaired text reads");
            }
            let _ = ptc_lisp::render::for_models(&error, text);
        }
    }
    let _ = read_one(text, &limits);
});
