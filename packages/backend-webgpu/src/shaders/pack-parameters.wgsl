// Parameters of groups, and codes from them.

@compute @workgroup_size(PACK_SIZE)
fn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let firstEntry = entriesOf(pack.slot);
  let endEntry = entriesOf(pack.slot + pack.count);
  let run = (firstEntry / RUN + id.x) * RUN;
  let base = pack.page + id.y * tensor_headWords;
  for (var entry = max(run, firstEntry); entry < min(run + RUN, endEntry); entry += 1u) {
    let parameters = parametersOf(groupOf(pack, entry, id.y));
    putField(base + tensor_scaleWord, entry, tensor_scaleWidth, parameters.scale);
    if (tensor_hasZero) {
      putField(base + tensor_zeroWord, entry, tensor_zeroWidth, parameters.zero);
    }
  }
}

fn parametersAt(page: u32, head: u32, slot: u32, channel: u32) -> Parameters {
  let base = page + head * tensor_headWords;
  var entry = 0u;
  if (tensor_alongTokens) {
    entry = slot / GROUP_SIZE * tensor_headDim + channel;
  } else {
    entry = slot * tensor_groupsPerRow + channel / GROUP_SIZE;
  }
  var parameters: Parameters;
  if (tensor_hasScale) {
    parameters.scale = fieldAt(base + tensor_scaleWord, entry, tensor_scaleWidth);
  }
  if (tensor_hasZero) {
    parameters.zero = fieldAt(base + tensor_zeroWord, entry, tensor_zeroWidth);
  }
  return parameters;
}

// What is no member of its group has code 0.
fn storedCode(value: f32, parameters: Parameters) -> u32 {
  return select(0u, codeOf(value, parameters) & tensor_codeMask, isMember(value));
}
