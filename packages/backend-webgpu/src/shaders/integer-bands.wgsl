// Middle codes of outlier bands, 4 bits that rise with the value: value = maximum / 8 * (code - 7.5) + threshold of its side, which
// the upper bit says. Beside sums over codes there are sums over upper bits; fields as in integer-fields-4.wgsl.

// Sums over upper bits times these are numbers of the high side, and in the highest field, of keys less all.
const tensor_sideSlopes = vec4<f32>(0.125, 0.0078125, 0.125, 0.0078125);

struct tensor_BandSums {
  codes: Sums,
  sides: Sums,
}

struct tensor_BandNumbers {
  codes: Rows,
  sides: Rows,
}

fn tensor_meetBands(sums: ptr<function, tensor_BandSums>, words: vec4<u32>, at: u32) {
  tensor_meetFields(&(*sums).codes, words, words & vec4<u32>(0x0f0f0f0fu), tensor_firstSet * SET + at);
  tensor_meetFields(
    &(*sums).sides, words & vec4<u32>(0x88888888u), words & vec4<u32>(0x08080808u), tensor_sideSet * SET + at,
  );
}

// Four edges, rising, from the front of the memory.
fn tensor_edges() -> vec4<f32> {
  return vec4<f32>(tensor_edge(0u), tensor_edge(1u), tensor_edge(2u), tensor_edge(3u));
}

fn tensor_edge(number: u32) -> f32 {
  let at = tensor_edgesWord + number;
  return bitcast<f32>(tensor_memory[at / 4u][at % 4u]);
}

// Parameter planes lie in the head, or behind all of them where heads share parameters.
fn tensor_parameterPlane(page: u32, word: u32) -> u32 {
  return page + word / 4u + select(0u, (tensor_heads - attended_head) * (tensor_headWords / 4u), tensor_sharedParameters);
}

// f16 numbers of the lane's four tokens, of the plane that begins at word `word`.
fn tensor_ofTokens(page: u32, word: u32, lane: u32) -> vec4<f32> {
  return tensor_channelParameters(tensor_parameterPlane(page, word), 0u, lane);
}
