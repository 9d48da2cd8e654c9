// Groups as a codec encodes them, one after another.

@compute @workgroup_size(PACK_SIZE)
fn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let firstEntry = entriesOf(pack.slot);
  let endEntry = entriesOf(pack.slot + pack.count);
  let run = (firstEntry / RUN + id.x) * RUN;
  let base = pack.page + id.y * tensor_headWords;
  for (var entry = max(run, firstEntry); entry < min(run + RUN, endEntry); entry += 1u) {
    let group = groupOf(pack, entry, id.y);
    var values: array<f32, tensor_groupSize>;
    for (var i = 0u; i < tensor_groupSize; i += 1u) {
      values[i] = groupValue(group, i);
    }
    var words = tensor_codec_encodeGroup(values);
    for (var i = 0u; i < tensor_groupBytes; i += 1u) {
      putField(base, entry * tensor_groupBytes + i, 8u, extractBits(words[i / 4u], i % 4u * 8u, 8u));
    }
  }
}
