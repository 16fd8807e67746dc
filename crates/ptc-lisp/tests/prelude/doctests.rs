//! Examples in docstrings.

use crate::support::prelude;
use ptc_lisp::Limits;
use ptc_lisp::prelude::Verdict;

#[test]
fn examples_are_found_and_run() {
    let prelude = prelude(
        r#"(ns tax "Tax.")
           (defn with-tax
             "Adds tax.

              (comment
                (with-tax 100) ;=> 119.0
                (tax/with-tax 0) ;=> 0.0
                (with-tax
                  (+ 50 50))
                ;=> 120.0
                (rate) ;=> {:rate (inc 18)})"
             [x] (* x 1.19))
           (defn rate "No example (really)." [] {:rate 19})
           (defn broken "(broken) ;=> 1" [] (throw (ex-info "no" {})))
           (defn fetch "(fetch 1) ;=> 1" [x] (tool/call {:server "a" :tool "b" :args {:x x}}))
           (defn list "(list) ;=> [:own]" [] [:own])"#,
    );
    let tests = prelude.doctests();
    let sources: Vec<(&str, &str, &str)> =
        tests.iter().map(|test| (test.of.as_str(), test.source.as_str(), test.expected.as_str())).collect();
    assert_eq!(
        sources,
        [
            ("tax/with-tax", "(with-tax 100)", "119.0"),
            ("tax/with-tax", "(tax/with-tax 0)", "0.0"),
            ("tax/with-tax", "(with-tax\n(+ 50 50))", "120.0"),
            ("tax/with-tax", "(rate)", "{:rate (inc 18)}"),
            ("tax/broken", "(broken)", "1"),
            ("tax/fetch", "(fetch 1)", "1"),
            ("tax/list", "(list)", "[:own]"),
        ]
    );
    let verdicts: Vec<Verdict> =
        tests.iter().map(|test| prelude.run_doctest(test, &Limits::default())).collect();
    assert_eq!(verdicts[..2], [Verdict::Passed, Verdict::Passed]);
    assert_eq!(verdicts[2], Verdict::Failed("119.0".to_owned()));
    assert_eq!(verdicts[3], Verdict::Passed);
    assert!(
        matches!(&verdicts[4], Verdict::Broken(error) if error.message.contains("no")),
        "{:?}",
        verdicts[4]
    );
    assert!(matches!(&verdicts[5], Verdict::Skipped(why) if why.contains("tool/call")), "{:?}", verdicts[5]);
    assert_eq!(verdicts[6], Verdict::Passed);
}
