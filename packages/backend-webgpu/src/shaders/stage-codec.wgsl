// Groups of a codec are decoded as wholes, one to a lane.

fn tensor_stagePacked(page: u32, head: u32, slot: u32, count: u32, lane: u32) {
  let base = (page + head * tensor_headWords) * 4u;
  if (!tensor_alongTokens) {
    for (var i = lane; i < count * tensor_groupsPerRow; i += ATTENTION_SIZE) {
      var values = tensor_codec_decodeGroup(base + (slot * tensor_groupsPerRow + i) * tensor_groupBytes);
      for (var element = 0u; element < tensor_groupSize; element += 1u) {
        staged[i * tensor_groupSize + element] = values[element];
      }
    }
    return;
  }
  let firstRow = slot / tensor_groupSize;
  let rows = (slot + count - 1u) / tensor_groupSize + 1u - firstRow;
  for (var i = lane; i < rows * tensor_headDim; i += ATTENTION_SIZE) {
    var values = tensor_codec_decodeGroup(base + (firstRow * tensor_headDim + i) * tensor_groupBytes);
    let start = (firstRow + i / tensor_headDim) * tensor_groupSize;
    for (var at = max(slot, start); at < min(slot + count, start + tensor_groupSize); at += 1u) {
      staged[(at - slot) * tensor_headDim + i % tensor_headDim] = values[at - start];
    }
  }
}
