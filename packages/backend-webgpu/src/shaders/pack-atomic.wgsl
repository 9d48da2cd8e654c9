// Pages whose words are shared by invocations that write different fields of them.

@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(3) var<storage, read_write> memory: array<atomic<u32>>;

fn wordAt(index: u32) -> u32 {
  return atomicLoad(&memory[index]);
}

fn putField(plane: u32, entry: u32, width: u32, bits: u32) {
  let bit = entry * width;
  let at = plane + bit / 32u;
  atomicAnd(&memory[at], ~insertBits(0u, 0xffffffffu, bit % 32u, width));
  atomicOr(&memory[at], insertBits(0u, bits, bit % 32u, width));
}
