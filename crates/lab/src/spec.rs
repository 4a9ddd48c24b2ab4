//! The experiment file as typed, and its check into a plan.
