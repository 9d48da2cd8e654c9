// Decodes tokens that lie in one page into workgroup memory: groups of a codec as wholes, one to a lane.

fn tensor_stage(source: u32, page: u32, head: u32, slot: u32, count: u32, lane: u32) {
  if (source != SOURCE_PACKED) {
    for (var i = lane; i < count * tensor_headDim; i += ATTENTION_SIZE) {
      staged[i] = tensor_element(source, page, head, slot + i / tensor_headDim, i % tensor_headDim);
    }
    return;
  }
  let base = (page + head * tensor_headWords) * 4u;
  if (tensor_alongTokens) {
    let firstRow = slot / tensor_groupSize;
    let rows = (slot + count - 1u) / tensor_groupSize + 1u - firstRow;
    for (var i = lane; i < rows * tensor_headDim; i += ATTENTION_SIZE) {
      let row = firstRow + i / tensor_headDim;
      var values = tensor_codec_decodeGroup(base + (firstRow * tensor_headDim + i) * tensor_groupBytes);
      let start = row * tensor_groupSize;
      for (var at = max(slot, start); at < min(slot + count, start + tensor_groupSize); at += 1u) {
        staged[(at - slot) * tensor_headDim + i % tensor_headDim] = values[at - start];
      }
    }
    return;
  }
  for (var i = lane; i < count * tensor_groupsPerRow; i += ATTENTION_SIZE) {
    var values = tensor_codec_decodeGroup(base + (slot * tensor_groupsPerRow + i) * tensor_groupBytes);
    for (var element = 0u; element < tensor_groupSize; element += 1u) {
      staged[i * tensor_groupSize + element] = values[element];
    }
  }
}
