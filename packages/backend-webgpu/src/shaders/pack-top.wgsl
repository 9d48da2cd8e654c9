// Takes the top outliers out of rows of the scratch, docs/law.md 6, and puts them into their planes. What stays is NaN: no
// member of any group. One workgroup: one token of one head.

var<workgroup> ranks: array<u32, tensor_headDim>;
var<workgroup> taken: array<u32, tensor_headDim>;

@compute @workgroup_size(PACK_SIZE)
fn takeOutliers(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let pack = packOf(group.z);
  let head = group.y;
  if (group.x >= pack.count) {
    return;
  }
  let slot = pack.slot + group.x;
  let first = elementIndex(pack, slot, head, 0u);
  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {
    let value = scratchValue(first + channel);
    // What is not finite comes last.
    ranks[channel] = select(0u, magnitudeOf(value) + 1u, isFinite(value));
  }
  workgroupBarrier();
  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {
    let rank = ranks[channel];
    var before = 0u;
    for (var other = 0u; other < tensor_headDim; other += 1u) {
      let comesFirst = ranks[other] > rank || (ranks[other] == rank && other < channel);
      before += select(0u, 1u, comesFirst);
    }
    taken[channel] = select(0u, 1u, before < tensor_topCount);
  }
  workgroupBarrier();
  let base = pack.page + head * tensor_headWords;
  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {
    if (taken[channel] == 0u) {
      continue;
    }
    var entry = slot * tensor_topCount;
    for (var other = 0u; other < channel; other += 1u) {
      entry += taken[other];
    }
    let value = scratchValue(first + channel);
    putField(base + tensor_topValuesWord, entry, 16u, select(0u, offsetBits(value), isMember(value)));
    putField(base + tensor_topChannelsWord, entry, tensor_topChannelWidth, channel);
    scratch[first + channel] = 0x7fc00000u;
  }
}
