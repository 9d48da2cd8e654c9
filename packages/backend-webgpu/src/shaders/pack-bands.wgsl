// Parameters and dense codes of vectors with outlier bands.

struct Range {
  minimum: f32,
  maximum: f32,
  some: bool,
}

fn widen(range: ptr<function, Range>, value: f32) {
  (*range).minimum = select(value, min((*range).minimum, value), (*range).some);
  (*range).maximum = select(value, max((*range).maximum, value), (*range).some);
  (*range).some = true;
}

// Minimum and step; `part` is the reciprocal of the largest code.
fn affineParameters(range: Range, part: f32) -> vec2<u32> {
  if (!range.some) {
    return vec2<u32>(0u, 0u);
  }
  let minimum = offsetBits(range.minimum);
  let width = max(exactly(range.maximum - f16Value(minimum)), 0.0);
  return vec2<u32>(minimum, scaleBits(exactly(width * part)));
}

// `first`: index of the first of the elements in the scratch.
fn vectorParameters(first: u32) -> Parameters {
  let edges = edgesOf();
  var outer: Range;
  var inner: Range;
  var middle: Range;
  var largest = 0.0;
  var anyLow = false;
  var anyHigh = false;
  for (var i = 0u; i < tensor_vectorSize; i += 1u) {
    let value = scratchValue(first + i);
    let band = bandOf(value, edges);
    if (band == OUTER) {
      widen(&outer, outerMagnitude(value, edges));
    } else if (band == INNER) {
      widen(&inner, value);
    } else if (isMember(value)) {
      let shift = middleShift(value, edges);
      widen(&middle, shift);
      largest = max(largest, abs(shift));
      anyHigh = anyHigh || value >= edges.innerHigh;
      anyLow = anyLow || value < edges.innerHigh;
    } else {
      anyLow = true;
    }
  }
  let outerBits = affineParameters(outer, 1.0 / 15.0);
  let innerBits = affineParameters(inner, 1.0 / 31.0);
  var middleBits = vec2<u32>(scaleBits(largest), 0u);
  if (!tensor_midRise) {
    // A low side needs a code that decodes below zero.
    if (middle.some && anyLow) {
      middle.minimum = min(middle.minimum, SMALLEST_LOW);
    }
    middleBits = affineParameters(middle, 1.0 / 15.0);
    // A high side needs one that does not: the rounded step may fall short of it.
    if (anyHigh && f16Value(middleBits.x) + 15.0 * f16Value(middleBits.y) < 0.0) {
      middleBits.y += 1u;
    }
  }
  return Parameters(middleBits.x, middleBits.y, outerBits.x, outerBits.y, innerBits.x, innerBits.y);
}

@compute @workgroup_size(PACK_SIZE)
fn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {
  let pack = packOf(id.z);
  let run = (pack.slot / RUN + id.x) * RUN;
  let base = parameterBase(pack.page, id.y);
  for (var slot = max(run, pack.slot); slot < min(run + RUN, pack.slot + pack.count); slot += 1u) {
    let parameters = vectorParameters(elementIndex(pack, slot, id.y, 0u));
    putField(base + tensor_middleWord, slot, 16u, parameters.middle);
    if (!tensor_midRise) {
      putField(base + tensor_middleStepWord, slot, 16u, parameters.middleStep);
    }
    putField(base + tensor_outerMinimumWord, slot, 16u, parameters.outerMinimum);
    putField(base + tensor_outerStepWord, slot, 16u, parameters.outerStep);
    putField(base + tensor_innerMinimumWord, slot, 16u, parameters.innerMinimum);
    putField(base + tensor_innerStepWord, slot, 16u, parameters.innerStep);
  }
}

fn parametersAt(page: u32, head: u32, slot: u32, channel: u32) -> Parameters {
  return vectorParametersAt(page, head, slot);
}

fn storedCode(value: f32, parameters: Parameters) -> u32 {
  let edges = edgesOf();
  return placedCode(bandCode(value, bandOf(value, edges), parameters, edges) & 15u);
}
