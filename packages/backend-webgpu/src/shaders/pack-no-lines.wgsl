// Outliers stay in the order of slots.

@compute @workgroup_size(PACK_SIZE)
fn packOutliers(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let pack = packOf(group.z);
  putBytes(pack, group.y, pack.page + group.y * tensor_headWords, lane);
}
