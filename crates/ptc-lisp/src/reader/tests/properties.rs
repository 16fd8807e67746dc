//! What holds for every text.

use proptest::prelude::*;

use super::{print, read};
use crate::reader::{ReadLimits, is_incomplete, read_all, read_one};

/// Reads in every way and checks what the results must have in common.
fn check(source: &str) {
    let limits = ReadLimits::default();
    let forms = read(source);
    assert_eq!(format!("{forms:?}"), format!("{:?}", read(source)), "reading twice gives the same");
    match &forms {
        Ok(forms) => {
            assert!(!is_incomplete(source));
            let first = read_one(source, &limits).expect("the whole text reads");
            assert_eq!(print(&forms[..forms.len().min(1)]), print(first.map(|(form, _)| form).as_slice()));
        }
        Err(error) => {
            let span = error.span.expect("a short text fails at a place");
            assert!(span.start <= span.end && span.end as usize <= source.len());
            assert!(error.hint.is_some(), "every error says how to fix it: {error:?}");
            if let Some(repaired) = &error.repaired {
                assert!(read(repaired).is_ok(), "a repaired text reads: {repaired:?}");
            }
            for (span, _) in &error.notes {
                assert!(source.get(span.start as usize..span.end as usize).is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text(source in any::<String>()) {
        check(&source);
    }

    #[test]
    fn texts_full_of_delimiters(source in "[()\\[\\]{}#\"\\\\'^@_?:;~` \n\ta1./é%-]{0,60}") {
        check(&source);
    }

    #[test]
    fn texts_of_lines(lines in prop::collection::vec("[ ]{0,4}[(\\[{]?[a-c ]{0,4}[)\\]}]{0,3}", 0..8)) {
        check(&lines.join("\n"));
    }

    #[test]
    fn small_limits_hold(source in "[()\\[\\]' 123a]{0,60}", max in 0usize..6) {
        let limits = ReadLimits { max_bytes: max * 10, max_depth: max, max_digits: max, max_forms: max, data: false };
        if let Ok(forms) = read_all(&source, &limits) {
            prop_assert!(source.len() <= limits.max_bytes && forms.len() <= max);
        }
    }
}
