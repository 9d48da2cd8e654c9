// Outliers stay in the order of slots.

fn openLines(base: u32, slots: u32, lane: u32) {}

fn closeLines(base: u32, slots: u32, lane: u32) {}
