//! Numbers within bounds that are multiples of a step.

use serde_json::{Map, Value as Json, json};

/// A number that a schema asks for, as near to zero as it may be.
pub fn number(fields: &Map<String, Json>, is_integer: bool) -> Json {
    if is_integer { whole(fields) } else { fraction(fields) }
}

/// Integers are counted exactly: ids have more digits than a float.
fn whole(fields: &Map<String, Json>) -> Json {
    let exact = |key: &str| {
        let bound = fields.get(key)?;
        let whole = bound.as_i64().map(i128::from).or_else(|| bound.as_u64().map(i128::from));
        whole.map(|whole| (whole, true)).or_else(|| Some((bound.as_f64()?.floor() as i128, false)))
    };
    // The next integer above a fraction is above its floor; that of a whole bound is the bound itself.
    let at_least = exact("minimum").map(|(bound, is_whole)| if is_whole { bound } else { bound + 1 });
    let above = exact("exclusiveMinimum").map(|(bound, _)| bound + 1);
    let at_most = exact("maximum").map(|(bound, _)| bound);
    let below = exact("exclusiveMaximum").map(|(bound, is_whole)| if is_whole { bound - 1 } else { bound });
    let least = at_least.into_iter().chain(above).max();
    let most = at_most.into_iter().chain(below).min();
    let step = fields.get("multipleOf").and_then(Json::as_f64).filter(|step| *step >= 1.0);
    let step = step.map_or(1, |step| step as i128);
    let up = |from: i128| from + (step - from.rem_euclid(step)) % step;
    let down = |from: i128| from - from.rem_euclid(step);
    let value = match (least, most) {
        (Some(least), _) if least > 0 => up(least),
        (_, Some(most)) if most < 0 => down(most),
        _ => 0,
    };
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => json!(value),
        (_, Ok(value)) => json!(value),
        _ => json!(0),
    }
}

fn fraction(fields: &Map<String, Json>) -> Json {
    let bound = |key: &str| fields.get(key).and_then(Json::as_f64);
    let is_within = |value: &f64| {
        bound("minimum").is_none_or(|least| *value >= least)
            && bound("exclusiveMinimum").is_none_or(|least| *value > least)
            && bound("maximum").is_none_or(|most| *value <= most)
            && bound("exclusiveMaximum").is_none_or(|most| *value < most)
    };
    let least = [bound("minimum"), bound("exclusiveMinimum")].into_iter().flatten().reduce(f64::max);
    let most = [bound("maximum"), bound("exclusiveMaximum")].into_iter().flatten().reduce(f64::min);
    let near = match (least, most) {
        (Some(least), Some(most)) => vec![least, f64::midpoint(least, most), most],
        (Some(least), None) => vec![least, least + 1.0],
        (None, Some(most)) => vec![most, most - 1.0],
        (None, None) => vec![],
    };
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let mut tried: Vec<f64> = vec![0.0];
    match step {
        None => tried.extend(&near),
        Some(step) => tried.extend(near.iter().flat_map(|near| {
            let count = near / step;
            [count.ceil(), count.ceil() + 1.0, count.floor(), count.floor() - 1.0].map(|count| count * step)
        })),
    }
    json!(tried.into_iter().find(is_within).unwrap_or(0.0))
}
