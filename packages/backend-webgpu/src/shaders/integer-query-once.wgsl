// Keys whose scales belong to tokens: the query becomes integers once.

// What one is worth in the integers of the query, by row; and the sum of these integers, by group of channels.
var<workgroup> key_factor: vec4<f32>;
var<workgroup> key_totals: array<vec4<f32>, KEY_GROUPS>;

fn prepareKeys(lane: u32) {
  let query = packedQuery(lane);
  let largest = largestOfLanes(
    vec4<f32>(largestOf(query.a), largestOf(query.b), largestOf(query.c), largestOf(query.d)), lane,
  );
  let bytes = signedParts(integersOf(query, factorsOf(largest, LARGEST_SIGNED)));
  parts[lane] = bytes.high;
  if (PARTS == 2u) {
    parts[(PARTS - 1u) * SET + lane] = bytes.low;
  }
  if (lane == 0u) {
    key_factor = largest * (1.0 / LARGEST_SIGNED);
  }
  workgroupBarrier();
  if (lane < KEY_GROUPS) {
    key_totals[lane] = totalsOf(0u, KEY_GROUPS, lane, true);
  }
  workgroupBarrier();
}
