// The residual kernel: rows of the scratch become parameters and codes of packed pages. What packs runs on, in whatever
// order the kernels of a quantizer use it.

const PACK_SIZE = 64u;
const PACK_WORDS = 4u;
// An invocation that owns entries of planes owns four: whole words of every type of parameter.
const RUN = 4u;

struct Pack {
  // First word of the page.
  page: u32,
  slot: u32,
  count: u32,
  // Row of the scratch.
  row: u32,
}

fn packOf(number: u32) -> Pack {
  let at = job.table + number * PACK_WORDS;
  return Pack(commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u]);
}

fn elementIndex(pack: Pack, slot: u32, head: u32, channel: u32) -> u32 {
  return ((slot - pack.slot + pack.row) * tensor_heads + head) * tensor_headDim + channel;
}

fn scratchValue(index: u32) -> f32 {
  return bitcast<f32>(scratch[index]);
}

// Entry `entry` of a plane of entries of `width` bits.
fn fieldAt(plane: u32, entry: u32, width: u32) -> u32 {
  let bit = entry * width;
  return extractBits(wordAt(plane + bit / 32u), bit % 32u, width);
}
