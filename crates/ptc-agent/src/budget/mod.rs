//! Budgets as one tree of reservations.
