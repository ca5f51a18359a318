//! The seeds of pictures, and several pictures from one command: `-n`, and several seeds.

use clap::{Arg, ArgMatches, Command};

use super::flag;
use crate::{failure::Failure, process::Process, text::parse};
use imagekiln::Request;

pub use crate::models::SEED;

/// The id of `-n`.
pub const COUNT: &str = "count";

/// The maximum number of pictures of one command.
pub const MOST: usize = 1000;

/// `-n`, for commands that save pictures of new tasks.
pub fn arg() -> Arg {
    Arg::new(COUNT)
        .long(COUNT)
        .short('n')
        .value_name("N")
        // Otherwise -1 would be an unknown flag.
        .allow_negative_numbers(true)
        .value_parser(parse_count)
        .help("How many pictures to make, each with a random seed [default: 1]")
}

fn parse_count(text: &str) -> Result<u16, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST).contains(&usize::from(*count)));
    count.ok_or_else(|| format!("nothing was sent; give a number of pictures from 1 to {MOST}"))
}

/// The largest seed that is drawn. Larger ones are tedious to type, and programs that read numbers
/// as floating point change those above 2^53.
const LARGEST: f64 = i32::MAX as f64;

/// Sets the seed of a picture: `given`, or a random one unless the request has one. The service
/// would draw one, too, but nobody could learn it.
pub fn with_seed(process: &Process, request: Request, given: Option<i64>) -> Request {
    if let Some(seed) = given {
        return request.field(SEED, seed);
    }
    match request.operation().field(SEED) {
        Some(field) if !request.has_field(SEED) => {
            let least = field.limits.minimum.map_or(0.0, |least| least.max(0.0));
            let most = field.limits.maximum.map_or(LARGEST, |most| most.min(LARGEST));
            request.field(SEED, (process.seed)(least as i64..=most.max(least) as i64))
        }
        _ => request,
    }
}

/// Says that `--seed` of a command with `-n` takes several seeds.
pub fn describe_seed(command: Command) -> Command {
    let id = flag::field_id(SEED);
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    if !has(COUNT) || !has(&id) {
        return command;
    }
    command.mut_arg(id, |arg| {
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.value_name("SEEDS").help(format!("{help} [default: random; several: 1..4 or 1,5,9]"))
    })
}

/// The seeds of the pictures that differ only in them. One picture has the seed of the request.
pub fn seeds(matches: &ArgMatches) -> Result<Vec<Option<i64>>, Failure> {
    let count = matches.try_get_one::<u16>(COUNT).ok().flatten().copied();
    match (count, list(matches)?) {
        (None | Some(1), Some(seeds)) => Ok(seeds.into_iter().map(Some).collect()),
        (None | Some(1), None) => Ok(vec![None]),
        (Some(count), None) if seed(matches).is_none() => Ok(vec![None; count.into()]),
        (Some(count), _) => Err(Failure::usage(format!(
            "-n {count} and --seed are both given, and pictures of the same seed are the same"
        ))
        .advise(
            "nothing was sent; leave -n out, and pass a seed for each picture, such as --seed 1..4",
        )),
    }
}

/// Whether `--seed` names a list, which is not the value of the field.
pub fn has_list(matches: &ArgMatches) -> bool {
    matches.try_contains_id(COUNT).is_ok() && seed(matches).is_some_and(is_list)
}

fn list(matches: &ArgMatches) -> Result<Option<Vec<i64>>, Failure> {
    if !has_list(matches) {
        return Ok(None);
    }
    let text = seed(matches).unwrap_or_default();
    let seeds = parse::seeds(text).map_err(|problem| {
        Failure::usage(format!("invalid --seed `{text}`: {problem}")).advise("nothing was sent")
    })?;
    Ok(Some(seeds))
}

fn is_list(text: &str) -> bool {
    text.contains(',') || text.contains("..")
}

fn seed(matches: &ArgMatches) -> Option<&str> {
    matches.try_get_one::<String>(&flag::field_id(SEED)).ok().flatten().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed_of(request: Request, given: Option<i64>) -> Option<i64> {
        let process = Process { seed: Box::new(|range| *range.end()), ..Process::current() };
        with_seed(&process, request, given).integer(SEED)
    }

    #[test]
    fn a_seed_is_drawn_only_if_nobody_chose_one() {
        let model = imagekiln::find_operation("gen-2-pro").unwrap();
        assert_eq!(seed_of(Request::new(model), None), Some(i32::MAX.into()));
        assert_eq!(seed_of(Request::new(model), Some(-5)), Some(-5));
        assert_eq!(seed_of(Request::new(model).field(SEED, 7), None), Some(7));
        let null = Request::new(model).field(SEED, serde_json::Value::Null);
        assert_eq!(seed_of(null, None), None);
        let training = imagekiln::find_operation("finetune").unwrap();
        assert_eq!(seed_of(Request::new(training), None), None);
    }
}
