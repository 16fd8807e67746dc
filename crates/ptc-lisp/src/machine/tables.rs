//! Instructions that fill the tables of loops, where that takes more than `window/walks.rs` does.

use super::Machine;
use super::window::Window;
use crate::builtins::gather;
use crate::code::{Op, Reg};
use crate::signal::{Res, Signal};
use crate::value::ledger;

impl Machine {
    /// Runs an instruction that adds to a collection. Whether the meters need a look afterwards.
    ///
    /// What may have to be realised first, or does not fit, is found before anything is taken out of its register.
    #[inline(never)]
    pub(super) fn fill(&mut self, mut regs: Window, op: &Op) -> Result<bool, Box<Signal>> {
        match *op {
            Op::Group { map, key, item } => {
                let hint = self.hints.of_key(op, regs.get(key));
                let (mut table, mut own) = (regs.take(map), regs.take(item));
                let done = gather::group(&mut self.heap, &mut table, regs.get(key), &mut own, hint);
                regs.put(map, table);
                regs.put(item, own);
                self.filled(&mut regs, key, done)?;
            }
            Op::GroupItem { map, key, walk } => {
                let hint = self.hints.of_key(op, regs.get(key));
                let (mut table, mut own) = (regs.take(map), regs.item_at(walk).clone());
                let done = gather::group(&mut self.heap, &mut table, regs.get(key), &mut own, hint);
                regs.put(map, table);
                self.filled(&mut regs, key, done)?;
            }
            Op::Tally { map, key } => {
                let hint = self.hints.of_key(op, regs.get(key));
                let mut table = regs.take(map);
                let done = gather::tally(&mut self.heap, &mut table, regs.get(key), hint);
                regs.put(map, table);
                self.filled(&mut regs, key, done)?;
            }
            Op::Include { dst, set, item } => {
                let mut table = regs.take(set);
                let done = gather::include(&mut self.heap, &mut table, regs.get(item));
                regs.put(set, table);
                let is_new = self.filled(&mut regs, item, done)?;
                regs.put_bool(dst, is_new);
            }
            _ => {}
        }
        Ok(self.heap.fresh_bytes >= self.census_at || self.heap.fuel_used > self.heap.limits.fuel)
    }

    /// What is done behind every one of them: keys are paid for, and the one that was added is left to the table.
    fn filled<T>(&mut self, regs: &mut Window, key: Reg, done: Res<T>) -> Result<T, Box<Signal>> {
        self.heap.fuel_used = self.heap.fuel_used.saturating_add(ledger::take());
        let answer = done?;
        self.reclaimed = false;
        regs.release(key);
        Ok(answer)
    }
}
