//! Smaller jobs that show the same hole.

use super::forms::{Form, parse, write};
use super::job::{Inputs, Job};

/// The smallest job that was found with so many trials; `fails` says whether a job still shows the hole.
pub fn minimise(job: &Job, mut trials: usize, mut fails: impl FnMut(&Job) -> bool) -> Job {
    let mut best = job.clone();
    let mut attempt = |best: &mut Job, smaller: Job| {
        let changed = smaller != *best;
        if trials == 0 || !changed {
            return false;
        }
        trials -= 1;
        let still = fails(&smaller);
        if still {
            *best = smaller;
        }
        still
    };
    for plain in [
        |job: &mut Job| job.record = false,
        |job: &mut Job| job.dump = false,
        |job: &mut Job| job.prelude = false,
        |job: &mut Job| job.signature = None,
        |job: &mut Job| job.inputs = Inputs::Small,
    ] {
        let mut smaller = best.clone();
        plain(&mut smaller);
        attempt(&mut best, smaller);
    }
    let mut at = 0;
    while at < best.steps.len() && best.steps.len() > 1 {
        let mut smaller = best.clone();
        smaller.steps.remove(at);
        if !attempt(&mut best, smaller) {
            at += 1;
        }
    }
    for step in 0..best.steps.len() {
        let mut number = 0;
        // Whenever something was left out, what stands at the number now is tried next.
        while let Some(smaller) = candidates(&best, step, number) {
            if !smaller.into_iter().any(|job| attempt(&mut best, job)) {
                number += 1;
            }
        }
    }
    best
}

/// Jobs with the form of a number left out, replaced by one of its parts, or by nil; nothing if there is no such form.
fn candidates(job: &Job, step: usize, number: usize) -> Option<Vec<Job>> {
    let forms = parse(&job.steps[step].source);
    let mut top = Form::Group { open: "(".to_owned(), items: forms, close: ')' };
    let part = top.part(number + 1)?.clone();
    let mut replacements = vec![None];
    if let Form::Group { items, .. } = &part {
        replacements.extend(items.iter().skip(1).cloned().map(Some));
    }
    replacements.push(Some(Form::Atom("nil".to_owned())));
    let with = |replacement: Option<Form>| {
        let mut top = top.clone();
        match replacement {
            Some(form) => {
                if let Some(part) = top.part(number + 1) {
                    *part = form;
                }
            }
            None => remove(&mut top, number + 1),
        }
        let Form::Group { items, .. } = top else { return job.clone() };
        let mut smaller = job.clone();
        smaller.steps[step].source = write(&items);
        smaller
    };
    let shorter = |smaller: &Job| smaller.steps[step].source.len() < job.steps[step].source.len();
    Some(replacements.into_iter().map(with).filter(shorter).collect())
}

/// Takes the form of a number out of the one that it stands in.
fn remove(form: &mut Form, number: usize) {
    let Form::Group { items, .. } = form else { return };
    let mut left = number - 1;
    for at in 0..items.len() {
        let size = items[at].size();
        if left == 0 {
            items.remove(at);
            return;
        }
        if left < size {
            return remove(&mut items[at], left);
        }
        left -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::generate::{Generator, OPTIMISED};
    use crate::attack::job::Step;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let mut job = Generator::new(1, OPTIMISED).job(1);
        let step = |source: &str| Step { owner: 0, source: source.to_owned() };
        job.steps =
            vec![step("(+ 1 2)"), step("(def a 1) (let [x [1 (boom {:a 2}) 3]] (println x)) (str 4)")];
        let small = minimise(&job, 200, |job| job.steps.iter().any(|step| step.source.contains("(boom")));
        assert_eq!(small.steps, [step("(boom)")]);
        assert_eq!((small.record, small.dump, small.signature), (false, false, None));
    }
}
