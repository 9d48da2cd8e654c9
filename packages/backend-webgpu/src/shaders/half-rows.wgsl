// Rows of an f16 tensor, in chunks of 8 channels: window pages and the input of the step. Composed once for keys and once for
// values.

const tensor_chunks = tensor_headDim / CHUNK;
// From one token of the input to the next.
const tensor_inputStep = tensor_heads * tensor_chunks;

// Where the chunk of the lane begins in the row of a token. `page`: first half of a window page or of the input.
fn tensor_at(source: u32, page: u32, slot: u32, head: u32, lane: u32) -> u32 {
  let chunk = page / CHUNK + min(lane % TOKEN_LANES, tensor_chunks - 1u);
  let row = select(slot * tensor_heads + head, head * WINDOW_TOKENS + slot, source == SOURCE_WINDOW);
  return chunk + row * tensor_chunks;
}

fn tensor_row(source: u32, page: u32, slot: u32, head: u32, lane: u32) -> vec4<u32> {
  let at = tensor_at(source, page, slot, head, lane);
  if (source == SOURCE_WINDOW) {
    return tensor_memory[at];
  }
  return inputs[at];
}

// A tile from `slot` on; tokens past `last` repeat it.
fn tensor_load(source: u32, page: u32, slot: u32, last: u32, head: u32, lane: u32) -> Words {
  let at = tensor_at(source, page, slot, head, lane);
  let token = lane / TOKEN_LANES;
  if (source == SOURCE_WINDOW) {
    return Words(
      tensor_memory[at + min(token, last) * tensor_chunks],
      tensor_memory[at + min(token + LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 2u * LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 3u * LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 4u * LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 5u * LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 6u * LOAD_TOKENS, last) * tensor_chunks],
      tensor_memory[at + min(token + 7u * LOAD_TOKENS, last) * tensor_chunks],
    );
  }
  return Words(
    inputs[at + min(token, last) * tensor_inputStep],
    inputs[at + min(token + LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 2u * LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 3u * LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 4u * LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 5u * LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 6u * LOAD_TOKENS, last) * tensor_inputStep],
    inputs[at + min(token + 7u * LOAD_TOKENS, last) * tensor_inputStep],
  );
}
