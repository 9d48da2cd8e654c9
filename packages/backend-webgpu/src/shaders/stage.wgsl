// Decodes tokens that lie in one page, or in the input, into workgroup memory.

fn tensor_stage(source: u32, page: u32, head: u32, slot: u32, count: u32, lane: u32) {
  if (source == SOURCE_PACKED) {
    tensor_stagePacked(page, head, slot, count, lane);
    return;
  }
  for (var i = lane; i < count * tensor_headDim; i += ATTENTION_SIZE) {
    staged[i] = tensor_element(source, page, head, slot + i / tensor_headDim, i % tensor_headDim);
  }
}
