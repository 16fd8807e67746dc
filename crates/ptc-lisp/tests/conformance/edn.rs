//! Printed values as neutral trees, compared by meaning: lists equal vectors, characters equal one-character
//! strings, `1N` equals 1, a ratio equals its double, maps and sets are unordered, records are maps, dates and
//! tagged literals are their text, and all opaque values are alike. The twin of `conformance/edn.py`.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// A value without the differences that printers may make.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    Nil,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Text(String),
    Keyword(String),
    Symbol(String),
    Regex(String),
    Var(String),
    Seq(Vec<Tree>),
    Set(Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
    /// Functions, atoms and other values without a readable form.
    Opaque,
    /// Text that is no printed value.
    Raw(String),
}

/// The tree of one printed value; text that is no value is kept as it is.
pub fn parse(text: &str) -> Tree {
    let mut reader = Reader { chars: text.chars().collect(), at: 0 };
    match reader.form() {
        Some(tree) if reader.at_end() => tree,
        _ => Tree::Raw(text.to_owned()),
    }
}

/// Whether two trees mean the same value.
pub fn same(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Tree::Int(x), Tree::Int(y)) => x == y,
        (Tree::Int(_) | Tree::Float(_), Tree::Int(_) | Tree::Float(_)) => close(number(a), number(b)),
        (Tree::Seq(x), Tree::Seq(y)) => x.len() == y.len() && x.iter().zip(y).all(|(p, q)| same(p, q)),
        (Tree::Set(x), Tree::Set(y)) => paired(x, y, same),
        (Tree::Map(x), Tree::Map(y)) => paired(x, y, |p, q| same(&p.0, &q.0) && same(&p.1, &q.1)),
        _ => a == b,
    }
}

fn number(tree: &Tree) -> f64 {
    match tree {
        Tree::Int(n) => n.to_f64().unwrap_or(f64::NAN),
        Tree::Float(x) => *x,
        _ => f64::NAN,
    }
}

fn close(x: f64, y: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= (1e-9 * x.abs().max(y.abs())).max(1e-10)
}

/// Whether the items pair up one to one in any order.
fn paired<T>(left: &[T], right: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
    let mut rest: Vec<&T> = right.iter().collect();
    left.len() == right.len()
        && left.iter().all(|item| match rest.iter().position(|other| same(item, other)) {
            Some(at) => {
                rest.swap_remove(at);
                true
            }
            None => false,
        })
}

/// A cursor over printed text; `None` means that the text is no value.
struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn at_end(&mut self) -> bool {
        self.skip();
        self.at >= self.chars.len()
    }

    fn skip(&mut self) {
        while self.peek().is_some_and(|c| c.is_whitespace() || c == ',') {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn token(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|c| !c.is_whitespace() && !",()[]{}\"".contains(c)) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn form(&mut self) -> Option<Tree> {
        self.skip();
        match self.take()? {
            '(' => Some(Tree::Seq(self.until(')')?)),
            '[' => Some(Tree::Seq(self.until(']')?)),
            '{' => self.map(),
            '"' => Some(Tree::Text(self.string()?)),
            '\\' => self.character(),
            '\'' => self.form(),
            ':' => Some(Tree::Keyword(self.token())),
            '#' => self.dispatch(),
            ')' | ']' | '}' => None,
            _ => {
                self.at -= 1;
                atom(&self.token())
            }
        }
    }

    fn until(&mut self, closer: char) -> Option<Vec<Tree>> {
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.peek()? == closer {
                self.at += 1;
                return Some(items);
            }
            items.push(self.form()?);
        }
    }

    fn map(&mut self) -> Option<Tree> {
        let flat = self.until('}')?;
        let pairs = flat.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        (flat.len() % 2 == 0).then(|| Tree::Map(pairs.collect()))
    }

    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        loop {
            match self.take()? {
                '"' => return Some(out),
                '\\' => match self.take()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'u' => out.push(self.unicode()?),
                    c => out.push(c),
                },
                c => out.push(c),
            }
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let digits: String = self.chars.get(self.at..self.at + 4)?.iter().collect();
        self.at += 4;
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }

    fn character(&mut self) -> Option<Tree> {
        let first = self.take()?;
        let rest = self.token();
        let text = match format!("{first}{rest}").as_str() {
            "newline" => "\n".to_owned(),
            "space" => " ".to_owned(),
            "tab" => "\t".to_owned(),
            "return" => "\r".to_owned(),
            "backspace" => "\u{8}".to_owned(),
            "formfeed" => "\u{c}".to_owned(),
            _ if rest.is_empty() => first.to_string(),
            _ if first == 'u' => char::from_u32(u32::from_str_radix(&rest, 16).ok()?)?.to_string(),
            _ => return None,
        };
        Some(Tree::Text(text))
    }

    fn dispatch(&mut self) -> Option<Tree> {
        match self.peek()? {
            '{' => {
                self.at += 1;
                Some(Tree::Set(self.until('}')?))
            }
            '"' => {
                self.at += 1;
                self.regex()
            }
            '\'' => {
                let name = self.token();
                Some(Tree::Var(name.trim_start_matches('\'').rsplit('/').next()?.to_owned()))
            }
            '#' => match self.token().as_str() {
                "#Inf" => Some(Tree::Float(f64::INFINITY)),
                "#-Inf" => Some(Tree::Float(f64::NEG_INFINITY)),
                "#NaN" => Some(Tree::Float(f64::NAN)),
                _ => None,
            },
            '<' => self.balanced('<', '>').map(|_| Tree::Opaque),
            _ => self.tagged(),
        }
    }

    fn regex(&mut self) -> Option<Tree> {
        let mut out = String::new();
        loop {
            match self.take()? {
                '"' => return Some(Tree::Regex(out)),
                '\\' => out.extend(['\\', self.take()?]),
                c => out.push(c),
            }
        }
    }

    fn balanced(&mut self, open: char, close: char) -> Option<String> {
        let start = self.at;
        let mut depth = 0;
        loop {
            let c = self.take()?;
            depth += i32::from(c == open) - i32::from(c == close);
            if depth == 0 {
                return Some(self.chars[start..self.at].iter().collect());
            }
        }
    }

    /// Records are their map, host objects are opaque, every other tagged literal is its text.
    fn tagged(&mut self) -> Option<Tree> {
        let tag = self.token();
        if self.peek() == Some('[') {
            return self.balanced('[', ']').map(|_| Tree::Opaque);
        }
        match self.form()? {
            Tree::Text(text) if tag == "inst" => {
                Some(Tree::Text(text.replace(".000", "").replace("-00:00", "Z")))
            }
            tree => Some(tree),
        }
    }
}

fn atom(token: &str) -> Option<Tree> {
    match token {
        "" => return None,
        "nil" => return Some(Tree::Nil),
        "true" => return Some(Tree::Bool(true)),
        "false" => return Some(Tree::Bool(false)),
        _ => {}
    }
    if !token.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Tree::Symbol(token.to_owned()));
    }
    if let Ok(n) = token.trim_end_matches('N').parse::<BigInt>() {
        return Some(Tree::Int(n));
    }
    if let Some((n, d)) = token.split_once('/') {
        return Some(Tree::Float(n.parse::<f64>().ok()? / d.parse::<f64>().ok()?));
    }
    token.trim_end_matches('M').parse().ok().map(Tree::Float)
}
