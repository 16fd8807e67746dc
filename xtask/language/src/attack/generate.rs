//! Jobs by number: the same seed and number give the same job.

use super::calls::Library;
use super::exits::{self, EXITS};
use super::job::{Allowed, Inputs, Job, Step, Way};
use super::pairs;
use super::random::Random;
use super::values::Sort;

/// What answers are checked against.
const SIGNATURES: &[&str] = &[
    "{a :any, n :int}",
    "[:string]",
    ":int",
    "{seen :string}",
    "{a {b [:float]}, _hidden :string?}",
    "[{id :int, tags [:keyword]}]",
    "[{a :int, b :string, c :float, d [:int], e {f :bool}}]",
];

/// What is done after an earlier program of the session.
pub const AFTERWARDS: &[&str] = &[
    "*1",
    "[*1 *2 *3]",
    "(task \"gather\" 1)",
    "(task-reset \"gather\")",
    "[(dir user) (doc map)]",
    "(def e [*1 *1])",
    "(tool/t {:a *1})",
    "(vary-meta [1] assoc :m *1)",
];

/// What is done with the definition that an earlier program left behind.
pub const WITH_DEFINITION: &[&str] = &[
    "d",
    "(def e [d d])",
    "(str d)",
    "(pr-str (deref d))",
    "(d)",
    "[(meta #'d) (doc d) (source d) (dir user)]",
    "(alter-meta! #'d assoc :m d)",
    "(swap! d (fn [x] [x x]))",
    "(tool/t {:a d})",
    "(return d)",
    "(throw (ex-info \"again\" {:d d}))",
    "(vary-meta d assoc :m *1)",
];

/// How a build is treated: unoptimised code gets less work and more time.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub fuel: [u64; 4],
    pub millis: u64,
    /// The fuel of programs that make one call again and again.
    pub again: u64,
}

/// The last is more than the time is enough for, as it is in servers.
pub const OPTIMISED: Pace =
    Pace { fuel: [200_000, 1_000_000, 20_000_000, 200_000_000], millis: 500, again: 200_000_000 };
pub const UNOPTIMISED: Pace =
    Pace { fuel: [50_000, 200_000, 1_000_000, 200_000_000], millis: 5_000, again: 200_000 };

/// One job of so many makes one call again and again; it takes all of its time.
const AGAIN: u64 = 200;

/// Makes jobs.
pub struct Generator {
    pub library: Library,
    pub seed: u64,
    pub pace: Pace,
}

impl Generator {
    pub fn new(seed: u64, pace: Pace) -> Generator {
        Generator { library: Library::new(), seed, pace }
    }

    /// The job with a number.
    pub fn job(&self, number: u64) -> Job {
        let random = &mut Random::of(self.seed, number);
        if number % AGAIN == AGAIN - 1 {
            return self.again(random, number);
        }
        let way = match random.below(100) {
            0..50 => Way::Eval,
            50..85 => Way::Sessions,
            _ => Way::Agents,
        };
        let steps = match way {
            Way::Eval => vec![self.step(random, 0)],
            Way::Sessions if random.percent(30) => pairs::steps(random, false),
            Way::Sessions if random.percent(20) => self.interleaved(random),
            Way::Sessions => self.session(random, 0),
            Way::Agents if random.percent(30) => pairs::steps(random, true),
            Way::Agents => self.session(random, 0),
        };
        let shared = steps.iter().any(|step| step.source.contains("shared/"));
        Job {
            number,
            way,
            allowed: self.allowed(random),
            inputs: self.inputs(random),
            signature: random.percent(40).then(|| (*random.pick(SIGNATURES)).to_owned()),
            prelude: shared || random.percent(10),
            dump: random.percent(30),
            record: random.percent(15),
            steps,
        }
    }

    /// One call again and again, for as long as the time is enough.
    fn again(&self, random: &mut Random, number: u64) -> Job {
        let step = Step { owner: 0, source: exits::once("$", &self.library.repeated(random)) };
        let allowed = Allowed { fuel: self.pace.again, memory: 16 << 20, millis: self.pace.millis };
        Job {
            number,
            way: Way::Eval,
            allowed,
            inputs: Inputs::Small,
            signature: None,
            prelude: false,
            dump: false,
            record: false,
            steps: vec![step],
        }
    }

    fn allowed(&self, random: &mut Random) -> Allowed {
        let fuel = match random.below(100) {
            0..70 => self.pace.fuel[0],
            70..97 => self.pace.fuel[1],
            97..99 => self.pace.fuel[2],
            _ => self.pace.fuel[3],
        };
        let memory = match random.below(100) {
            0..10 => 1 << 20,
            10..80 => 8 << 20,
            80..97 => 16 << 20,
            // Not a power of two, where what doubles comes to its end in time.
            _ => 70_000_000,
        };
        Allowed { fuel, memory, millis: self.pace.millis }
    }

    fn inputs(&self, random: &mut Random) -> Inputs {
        match random.below(1_000) {
            0..3 => Inputs::Colliding(20_000),
            3..6 => Inputs::Deep(*random.pick(&[100, 990, 5_000, 200_000])),
            _ => Inputs::Small,
        }
    }

    /// An expression through a way out, or kept again and again.
    fn step(&self, random: &mut Random, owner: usize) -> Step {
        if random.percent(12) {
            let expression = self.library.hostile_of(random, Sort::Odd);
            return Step { owner, source: exits::hoard(random, &expression) };
        }
        let ((_, exit), expression) = (random.pick(EXITS), self.leaving(random));
        Step { owner, source: exits::program(random, exit, &expression) }
    }

    /// What takes a way out.
    fn leaving(&self, random: &mut Random) -> String {
        match random.percent(35) {
            true => self.library.hostile(random),
            false => self.library.expression(random, 2),
        }
    }

    /// Programs of one owner, the later ones with what the earlier ones left behind.
    fn session(&self, random: &mut Random, owner: usize) -> Vec<Step> {
        let (more, defined) = (random.below(3), random.percent(60));
        let first = match defined && more > 0 {
            true => {
                let definitions: Vec<&str> =
                    EXITS.iter().filter(|(name, _)| *name == "definition").map(|(_, exit)| *exit).collect();
                let expression = self.leaving(random);
                Step { owner, source: exits::once(random.pick::<&str>(&definitions), &expression) }
            }
            false => self.step(random, owner),
        };
        let mut steps = vec![first];
        for _ in 0..more {
            let source = match random.below(10) {
                0..5 if defined => (*random.pick(WITH_DEFINITION)).to_owned(),
                0..7 => (*random.pick(AFTERWARDS)).to_owned(),
                _ => self.step(random, owner).source,
            };
            steps.push(Step { owner, source });
        }
        steps
    }

    /// The programs of two owners, in turns; often the same, whose code machines of a thread share.
    fn interleaved(&self, random: &mut Random) -> Vec<Step> {
        let first = self.session(random, 0);
        let second = if random.percent(50) { first.clone() } else { self.session(random, 1) };
        let mut steps = Vec::new();
        for at in 0..first.len().max(second.len()) {
            steps.extend(first.get(at).cloned());
            steps.extend(second.get(at).map(|step| Step { owner: 1, source: step.source.clone() }));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::attack::calls::SPECIAL_FORMS;

    /// Jobs that are looked at: fewer than run in half an hour.
    const JOBS: u64 = 60_000;

    fn sources() -> (Generator, String) {
        let generator = Generator::new(1, OPTIMISED);
        let jobs = (0..JOBS).flat_map(|number| generator.job(number).steps);
        let text = jobs.map(|step| step.source).collect::<Vec<_>>().join("\n");
        (generator, text)
    }

    #[test]
    fn every_documented_function_every_form_and_every_hostile_value_occurs() {
        let (generator, text) = sources();
        let ends = |c: char| c.is_whitespace() || "()[]{}\"'@,#^".contains(c);
        let words: BTreeSet<&str> = text.split(ends).collect();
        let functions = generator.library.functions.iter().map(|entry| entry.name);
        let missing = functions.filter(|name| match name.ends_with('\'') {
            true => !text.contains(&format!("({name} ")),
            false => !words.contains(name),
        });
        let missing: Vec<&str> = missing.collect();
        assert!(missing.is_empty(), "functions: {missing:?}");
        let forms = SPECIAL_FORMS.iter().map(|(name, _)| *name);
        let missing: Vec<&str> = forms.filter(|name| *name != "quote" && !words.contains(name)).collect();
        assert!(missing.is_empty(), "forms: {missing:?}");
        let hostile = generator.library.hostile.iter().filter(|value| !text.contains(&value.source));
        let missing: Vec<&str> = hostile.map(|value| value.name.as_str()).collect();
        assert!(missing.is_empty(), "values: {missing:?}");
    }

    #[test]
    fn every_way_out_and_every_pair_occurs() {
        let (generator, text) = sources();
        let hoards = exits::HOARDS.iter().map(|hoard| ("kept", *hoard));
        for (name, exit) in EXITS.iter().copied().chain(hoards) {
            // The beginning of a way out, up to what leaves.
            let head = exit.split('$').next().and_then(|head| head.split("ID").next()).unwrap_or_default();
            assert!(text.contains(head), "{name}: {exit}");
        }
        let parts = pairs::BASES.iter().chain(pairs::KEYS.iter().map(|(_, plain)| plain));
        for part in parts {
            assert!(text.contains(part), "{part}");
        }
        let ways: BTreeSet<Way> = (0..100).map(|number| generator.job(number).way).collect();
        assert_eq!(ways.len(), 3);
    }

    #[test]
    fn a_job_is_the_same_for_the_same_seed_and_number() {
        let jobs = |seed: u64| {
            let generator = Generator::new(seed, OPTIMISED);
            (0..200).map(|number| generator.job(number)).collect::<Vec<_>>()
        };
        assert_eq!(jobs(7), jobs(7));
        assert_ne!(jobs(7), jobs(8));
    }
}
