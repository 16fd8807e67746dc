//! Arguments of a command that are made when the command is asked for. All of them together are some hundred, and
//! making them takes longer than a small program runs. Commands with commands of their own are declared at once:
//! completions list them behind `ptc help`.

use clap::builder::Resettable;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments of a command, declared late.
#[derive(Debug)]
pub struct Late<T>(pub T);

impl<T: Args> Args for Late<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(declare::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// Declares the arguments. What the list of commands says about the command stays.
fn declare<T: Args>(command: Command) -> Command {
    let (short, long) = (command.get_about().cloned(), command.get_long_about().cloned());
    T::augment_args(command).about(Resettable::from(short)).long_about(Resettable::from(long))
}

impl<T: Args> FromArgMatches for Late<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Late<T>, Error> {
        T::from_arg_matches(matches).map(Late)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Late<T>, Error> {
        T::from_arg_matches_mut(matches).map(Late)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
