// Pages as words: every invocation owns one, or several, and keeps the bits in it that belong to other slots.

@group(0) @binding(2) var<storage, read> scratch: array<u32>;
@group(0) @binding(3) var<storage, read_write> memory: array<u32>;

fn wordAt(index: u32) -> u32 {
  return memory[index];
}

fn putField(plane: u32, entry: u32, width: u32, bits: u32) {
  let bit = entry * width;
  let at = plane + bit / 32u;
  memory[at] = insertBits(memory[at], bits, bit % 32u, width);
}
