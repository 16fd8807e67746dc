//! `java.text.Normalizer`: the forms of Unicode, by which text loses its accents.

use unicode_normalization::UnicodeNormalization;

use super::super::{Builtin, args, constant, native};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

/// A form of Unicode with what it does.
macro_rules! forms {
    ($($name:literal $ordinal:literal $doc:literal;)*) => {
        &[
            native(
                "Normalizer/normalize",
                "[s form]",
                normalize,
                "Text in a form of Unicode. Without its accents: (str/replace (Normalizer/normalize s Normalizer$Form/NFD) \
                 #\"\\p{M}\" \"\").",
                &[(
                    r#"(str/replace (Normalizer/normalize "Zo\u00eb" Normalizer$Form/NFD) #"\p{M}" "")"#,
                    r#""Zoe""#,
                )],
            ),
            $(constant(
                concat!("Normalizer$Form/", $name),
                |_| Value::time(Time::constant(Class::NormalizerForm, $ordinal)),
                $doc,
                &[(concat!("(str Normalizer$Form/", $name, ")"), concat!("\"", $name, "\""))],
            ),)*
        ]
    };
}

pub(super) static TABLE: &[Builtin] = forms! {
    "NFC" 0 "Letters and their marks as one character where there is one.";
    "NFD" 1 "Letters and their marks as characters of their own.";
    "NFKC" 2 "As NFC, and ligatures, full-width letters and their like as plain ones.";
    "NFKD" 3 "As NFD, and ligatures, full-width letters and their like as plain ones.";
};

fn normalize(heap: &mut Heap, args: &mut [Value]) -> Res {
    let form = match &args[1] {
        Value::Time(time) => match **time {
            Time::Constant(Constant { class: Class::NormalizerForm, ordinal }) => ordinal,
            _ => return args::fail(args, 1, "a form such as Normalizer$Form/NFD"),
        },
        _ => return args::fail(args, 1, "a form such as Normalizer$Form/NFD"),
    };
    let text = args::text(args, 0)?;
    heap.work(1 + text.len())?;
    // Marks are sorted behind their letter, and there may be nothing but marks.
    heap.reserve(text.len().saturating_mul(8))?;
    let length = |chars: &mut dyn Iterator<Item = char>| chars.map(char::len_utf8).sum::<usize>();
    let bytes = match form {
        0 => length(&mut text.nfc()),
        1 => length(&mut text.nfd()),
        2 => length(&mut text.nfkc()),
        _ => length(&mut text.nfkd()),
    };
    heap.work(bytes / 4)?;
    heap.reserve(bytes)?;
    let made: String = match form {
        0 => text.nfc().collect(),
        1 => text.nfd().collect(),
        2 => text.nfkc().collect(),
        _ => text.nfkd().collect(),
    };
    Ok(made.into())
}
