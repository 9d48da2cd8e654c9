// Vectors with outlier bands, eight channels to a lane: one word of codes, and the bytes of its outliers in their order.

fn tensor_stagePacked(page: u32, head: u32, slot: u32, count: u32, lane: u32) {
  let base = page + head * tensor_headWords;
  let parameters = tensor_parameterBase(page, head);
  for (var i = lane; i < count * tensor_rowWords; i += ATTENTION_SIZE) {
    let at = slot + i / tensor_rowWords;
    let first = i % tensor_rowWords * 8u;
    let codes = tensor_memory[base + slot * tensor_rowWords + i];
    let bytes = tensor_outliersOf(base, at, first);
    var next = tensor_findOutlier(base, bytes, first % 64u);
    for (var channel = first; channel < min(first + 8u, tensor_headDim); channel += 1u) {
      let code = (codes >> (4u * (channel - first))) & 15u;
      let outlier = tensor_outlierAt(base, bytes, next, channel % 64u);
      staged[(at - slot) * tensor_headDim + channel] = tensor_bandValue(parameters, at, code, outlier);
      next += select(1u, 0u, outlier == tensor_NO_OUTLIER);
    }
  }
}
