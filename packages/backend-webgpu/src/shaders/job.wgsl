// What a dispatch is told: numbers of its own, and where its table begins in the ring of commands.

struct Job {
  // Index into commands.
  table: u32,
  entries: u32,
  // Always 0, which the compiler cannot know.
  zero: u32,
  first: u32,
}

@group(0) @binding(0) var<uniform> job: Job;
@group(0) @binding(1) var<storage, read> commands: array<u32>;

const SOURCE_PACKED = 0u;
const SOURCE_WINDOW = 1u;
const SOURCE_INPUT = 2u;
const WINDOW_TOKENS = 32u;

// One of the two 16-bit halves of a word.
fn halfAt(word: u32, index: u32) -> u32 {
  return select(word & 0xffffu, word >> 16u, (index & 1u) != 0u);
}
