// What outliers add to sums over middle codes: weight * (value - what the code in their place gives). Weights: queries by channel
// (keys), probabilities by token (values), as f32, at WEIGHTS; lines are tokens of keys, channels of values. pack-lines.wgsl.

const tensor_isKey = !tensor_reducesTokens;

// A token's outliers decode by these: x: base, y: step of outer ones, z, w: of inner ones. Steps are 32 codes.
fn tensor_places(maximum: f32, outer: vec2<f32>, inner: vec2<f32>, edges: vec4<f32>) -> vec4<f32> {
  let middle = 0.0625 * maximum;
  let outerStep = 32.0 * outer.y;
  let innerStep = 32.0 * inner.y;
  return vec4<f32>(
    0.5 * ((edges.w - edges.z) + (edges.y - edges.x)) + outer.x - middle - outerStep, outerStep,
    inner.x - edges.z - tensor_shift(edges) - middle - innerStep, innerStep,
  );
}

// What is added to all outliers.
fn tensor_shift(edges: vec4<f32>) -> f32 {
  return 0.5 * ((edges.w - edges.z) - (edges.y - edges.x));
}

fn tensor_isClosed(page: u32) -> bool {
  let last = tensor_endsWord + PAGE - 1u;
  return tensor_memory[page + last / 4u][last % 4u] >= 0x80000000u;
}

// The table's entries of a lane, see pack-lines.wgsl: read early; where lines are open they are something else.
fn tensor_entriesOf(page: u32, lane: u32) -> vec4<u32> {
  return tensor_memory[page + tensor_outliersWord / 4u + lane];
}

// Sums of the lane's four tokens (keys) or channels (values), vectors over rows. The caller has written the weights; uniform.
fn tensor_outliers(slots: Slots, isClosed: bool, entries: vec4<u32>, lane: u32) -> Rows {
  if (isClosed) {
    return tensor_lines(slots.page, entries, lane);
  }
  return tensor_bytes(slots, lane);
}

fn tensor_lines(page: u32, entries: vec4<u32>, lane: u32) -> Rows {
  let edges = tensor_edges();
  let maxima = tensor_ofTokens(page, tensor_middleWord, lane);
  let outer = tensor_ofTokens(page, tensor_outerMinimumWord, lane);
  let outerStep = tensor_ofTokens(page, tensor_outerStepWord, lane);
  let inner = tensor_ofTokens(page, tensor_innerMinimumWord, lane);
  let innerStep = tensor_ofTokens(page, tensor_innerStepWord, lane);
  for (var i = 0u; i < 4u; i += 1u) {
    let places = tensor_places(maxima[i], vec2<f32>(outer[i], outerStep[i]), vec2<f32>(inner[i], innerStep[i]), edges);
    parts[PLACES + 4u * lane + i] = bitcast<vec4<u32>>(places);
  }
  if (lane == 0u) {
    parts[PLACES + NOWHERE] = vec4<u32>(0u);
  }
  let shift = tensor_shift(edges);
  let plane = page + tensor_outliersWord / 4u;
  var lines = entries;
  // The first vectors of all lines are on their way at once.
  var firsts = Integers(
    tensor_memory[plane + lineFirst(lines.x)], tensor_memory[plane + lineFirst(lines.y)],
    tensor_memory[plane + lineFirst(lines.z)], tensor_memory[plane + lineFirst(lines.w)],
  );
  workgroupBarrier();
  var sums = Rows();
  for (var round = 0u; round < 4u + job.zero; round += 1u) {
    let first = plane + lineFirst(lines.x);
    let count = lines.x >> 24u;
    let own = bitcast<vec4<f32>>(parts[PLACES + (lines.x & 0xffu)]);
    var sum = vec4<f32>(0.0);
    var next = firsts.a;
    for (var i = 1u; i <= count; i += 1u) {
      let words = next;
      next = tensor_memory[first + min(i, count - 1u)];
      sum = tensor_twoRecords(sum, words.x, own, shift);
      sum = tensor_twoRecords(sum, words.y, own, shift);
      sum = tensor_twoRecords(sum, words.z, own, shift);
      sum = tensor_twoRecords(sum, words.w, own, shift);
    }
    // After four rounds everything is in its place again.
    sums = Rows(sums.b, sums.c, sums.d, sum);
    lines = lines.yzwx;
    firsts = Integers(firsts.b, firsts.c, firsts.d, firsts.a);
  }
  // Weights have been read.
  workgroupBarrier();
  parts[WEIGHTS + (lines.x & 0xffu)] = bitcast<vec4<u32>>(sums.a);
  parts[WEIGHTS + (lines.y & 0xffu)] = bitcast<vec4<u32>>(sums.b);
  parts[WEIGHTS + (lines.z & 0xffu)] = bitcast<vec4<u32>>(sums.c);
  parts[WEIGHTS + (lines.w & 0xffu)] = bitcast<vec4<u32>>(sums.d);
  workgroupBarrier();
  return fourVectors(WEIGHTS + 4u * lane);
}

fn tensor_twoRecords(sum: vec4<f32>, word: u32, own: vec4<f32>, shift: f32) -> vec4<f32> {
  return tensor_record(tensor_record(sum, word << 16u, own, shift), word, own, shift);
}

// A record is the upper half of `bits`.
fn tensor_record(sum: vec4<f32>, bits: u32, own: vec4<f32>, shift: f32) -> vec4<f32> {
  let position = (bits >> 23u) & 0xffu;
  var places = own;
  if (!tensor_isKey) {
    places = bitcast<vec4<f32>>(parts[PLACES + position]);
  }
  return sum + (outlierTerm(bits, places) + shift) * bitcast<vec4<f32>>(parts[WEIGHTS + position]);
}

// Heads whose outliers have no room as lines: bytes in the order of slots, codes where they are.
fn tensor_bytes(slots: Slots, lane: u32) -> Rows {
  let edges = tensor_edges();
  var sums = Rows();
  if (tensor_isKey) {
    // A lane walks over its tokens.
    for (var i = 0u; i < 4u + job.zero; i += 1u) {
      let token = 4u * lane + i;
      var sum = vec4<f32>(0.0);
      // Others may have any end offsets.
      if (token - slots.first < slots.count) {
        let bytes = tensor_bytesOf(slots.page, token);
        let values = tensor_valuesOf(slots.page, token, edges);
        for (var at = bytes.x; at < bytes.z; at += 1u) {
          let channel = tensor_channelOf(slots.page, at, bytes.y);
          sum += tensor_byteTerm(slots.page, at, token, channel, values, edges) * bitcast<vec4<f32>>(parts[WEIGHTS + channel]);
        }
      }
      sums = Rows(sums.b, sums.c, sums.d, sum);
    }
    return sums;
  }
  // All lanes share the outliers of a token: they are of different channels, whose sums lie at PLACES.
  for (var i = lane; i < DIM; i += LANES) {
    parts[PLACES + i] = vec4<u32>(0u);
  }
  for (var token = slots.first; token < slots.first + slots.count; token += 1u) {
    workgroupBarrier();
    let bytes = tensor_bytesOf(slots.page, token);
    let values = tensor_valuesOf(slots.page, token, edges);
    let weight = bitcast<vec4<f32>>(parts[WEIGHTS + token]);
    for (var at = bytes.x + lane; at < bytes.z; at += LANES) {
      let channel = tensor_channelOf(slots.page, at, bytes.y);
      let sum = bitcast<vec4<f32>>(parts[PLACES + channel]);
      let term = tensor_byteTerm(slots.page, at, token, channel, values, edges);
      parts[PLACES + channel] = bitcast<vec4<u32>>(sum + term * weight);
    }
  }
  workgroupBarrier();
  return fourVectors(PLACES + 4u * lane);
}

fn tensor_wordOf(page: u32, word: u32) -> u32 {
  return tensor_memory[page + word / 4u][word % 4u];
}

// First byte of a token, of its second chunk, and the end.
fn tensor_bytesOf(page: u32, token: u32) -> vec3<u32> {
  let own = tensor_wordOf(page, tensor_endsWord + token);
  let before = tensor_wordOf(page, tensor_endsWord + max(token, 1u) - 1u) >> 16u;
  return vec3<u32>(select(before, 0u, token == 0u), own & 0xffffu, own >> 16u);
}

fn tensor_byteAt(page: u32, at: u32) -> u32 {
  return (tensor_wordOf(page, tensor_outliersWord + at / 4u) >> (8u * (at % 4u))) & 0xffu;
}

fn tensor_channelOf(page: u32, at: u32, secondChunk: u32) -> u32 {
  return (tensor_byteAt(page, at) & 63u) + select(0u, 64u, at >= secondChunk);
}

struct tensor_Values {
  places: vec4<f32>,
  maximum: f32,
}

fn tensor_halfOf(page: u32, word: u32, token: u32) -> f32 {
  let plane = tensor_parameterPlane(page, word);
  return unpack2x16float(tensor_wordOf(plane, token / 2u))[token % 2u];
}

fn tensor_valuesOf(page: u32, token: u32, edges: vec4<f32>) -> tensor_Values {
  let maximum = tensor_halfOf(page, tensor_middleWord, token);
  let outer = vec2<f32>(
    tensor_halfOf(page, tensor_outerMinimumWord, token), tensor_halfOf(page, tensor_outerStepWord, token),
  );
  let inner = vec2<f32>(
    tensor_halfOf(page, tensor_innerMinimumWord, token), tensor_halfOf(page, tensor_innerStepWord, token),
  );
  return tensor_Values(tensor_places(maximum, outer, inner, edges), maximum);
}

fn tensor_byteTerm(page: u32, at: u32, token: u32, channel: u32, values: tensor_Values, edges: vec4<f32>) -> f32 {
  let byte = tensor_byteAt(page, at);
  let number = select(token, channel, tensor_isKey);
  let other = select(channel, token, tensor_isKey);
  let vector = (number / 8u) * LANES + other / 4u;
  let word = tensor_memory[page + vector][(number / 4u % 2u) * 2u + (other / 2u) % 2u];
  let flip = select(tensor_lowFlip, tensor_topFlip, other % 2u == 1u);
  let rising = ((word >> (8u * (number % 4u) + 4u * (other % 2u))) & 15u) ^ flip;
  let code = rising ^ select(15u, 8u, rising >= 8u);
  let outer = (byte >> 6u) & 1u;
  let fifth = byte >> 7u;
  let side = outer & fifth;
  let bits = (outer << 16u) | ((code | select(fifth << 4u, 0u, outer == 1u)) << 18u) | (side << 31u);
  // Middle values of the code that lines would have in its place, and of the one that is there.
  let expected = select(edges.z + 0.0625 * values.maximum, edges.y - 0.0625 * values.maximum, side == 1u);
  let found = 0.125 * values.maximum * (f32(rising) - 7.5) + select(edges.y, edges.z, rising >= 8u);
  return outlierTerm(bits, values.places) + tensor_shift(edges) + (expected - found);
}
