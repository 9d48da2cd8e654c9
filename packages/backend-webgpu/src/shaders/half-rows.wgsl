// Rows of an f16 tensor, in chunks of 8 channels: window pages and the input of the step. Composed once for keys and once for
// values. `tensor_lanes` lanes share a token, a power of two.

const tensor_chunks = tensor_headDim / CHUNK;
// Tokens that one load of all lanes reads.
const tensor_rows = LANES / tensor_lanes;
const tensor_loads = TILE / tensor_rows;

alias tensor_Words = array<vec4<u32>, tensor_loads>;

// One load a lane, the chunk of the lane in its token. `page`: first half of a window page or of the input.
fn tensor_row(source: u32, page: u32, slot: u32, head: u32, lane: u32) -> vec4<u32> {
  let at = page / CHUNK + min(lane % tensor_lanes, tensor_chunks - 1u);
  if (source == SOURCE_WINDOW) {
    return tensor_memory[at + (head * WINDOW_TOKENS + slot) * tensor_chunks];
  }
  return inputs[at + (slot * tensor_heads + head) * tensor_chunks];
}

// A tile of `count` tokens from `slot` on, from token `start` on. Tokens past the last repeat it.
fn tensor_load(source: u32, page: u32, slot: u32, count: u32, start: u32, head: u32, lane: u32) -> tensor_Words {
  let last = count - 1u - start;
  let own = lane / tensor_lanes;
  let at = page / CHUNK + min(lane % tensor_lanes, tensor_chunks - 1u);
  var words: tensor_Words;
  if (source == SOURCE_WINDOW) {
    let first = at + (head * WINDOW_TOKENS + slot + start) * tensor_chunks;
    for (var i = 0u; i < tensor_loads; i += 1u) {
      words[i] = tensor_memory[first + min(i * tensor_rows + own, last) * tensor_chunks];
    }
  } else {
    let first = at + ((slot + start) * tensor_heads + head) * tensor_chunks;
    for (var i = 0u; i < tensor_loads; i += 1u) {
      words[i] = inputs[first + min(i * tensor_rows + own, last) * (tensor_heads * tensor_chunks)];
    }
  }
  return words;
}
