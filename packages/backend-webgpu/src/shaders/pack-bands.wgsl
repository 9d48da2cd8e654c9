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

// What the parameters of a vector are made of.
struct Measured {
  outer: Range,
  inner: Range,
  middle: Range,
  largest: f32,
  anyLow: bool,
  anyHigh: bool,
}

// Lanes that measure a vector together.
const SHARERS = PACK_SIZE / RUN;

var<workgroup> measured: array<Measured, PACK_SIZE>;
var<workgroup> run_parameters: array<Parameters, RUN>;

fn joinedRange(a: Range, b: Range) -> Range {
  if (!a.some || !b.some) {
    return Range(select(b.minimum, a.minimum, a.some), select(b.maximum, a.maximum, a.some), a.some || b.some);
  }
  return Range(min(a.minimum, b.minimum), max(a.maximum, b.maximum), true);
}

fn joined(a: Measured, b: Measured) -> Measured {
  return Measured(
    joinedRange(a.outer, b.outer), joinedRange(a.inner, b.inner), joinedRange(a.middle, b.middle),
    max(a.largest, b.largest), a.anyLow || b.anyLow, a.anyHigh || b.anyHigh,
  );
}

// Every SHARERS-th element from number `part` on; `first`: index of the vector in the scratch.
fn measure(first: u32, part: u32) -> Measured {
  let edges = edgesOf();
  var result: Measured;
  for (var i = part; i < tensor_vectorSize; i += SHARERS) {
    let value = scratchValue(first + i);
    let band = bandOf(value, edges);
    if (band == OUTER) {
      widen(&result.outer, outerMagnitude(value, edges));
    } else if (band == INNER) {
      widen(&result.inner, value);
    } else if (isMember(value)) {
      let shift = middleShift(value, edges);
      widen(&result.middle, shift);
      result.largest = max(result.largest, abs(shift));
      result.anyHigh = result.anyHigh || value >= edges.innerHigh;
      result.anyLow = result.anyLow || value < edges.innerHigh;
    } else {
      result.anyLow = true;
    }
  }
  return result;
}

fn vectorParameters(vector: Measured) -> Parameters {
  let outerBits = affineParameters(vector.outer, 1.0 / 15.0);
  let innerBits = affineParameters(vector.inner, 1.0 / 31.0);
  var middleBits = vec2<u32>(scaleBits(vector.largest), 0u);
  if (!tensor_midRise) {
    var middle = vector.middle;
    // A low side needs a code that decodes below zero.
    if (middle.some && vector.anyLow) {
      middle.minimum = min(middle.minimum, SMALLEST_LOW);
    }
    middleBits = affineParameters(middle, 1.0 / 15.0);
    // A high side needs one that does not: the rounded step may fall short of it.
    if (vector.anyHigh && f16Value(middleBits.x) + 15.0 * f16Value(middleBits.y) < 0.0) {
      middleBits.y += 1u;
    }
  }
  return Parameters(middleBits.x, middleBits.y, outerBits.x, outerBits.y, innerBits.x, innerBits.y);
}

// One workgroup: RUN neighbour slots.
@compute @workgroup_size(PACK_SIZE)
fn packParameters(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let pack = packOf(group.z);
  let run = (pack.slot / RUN + group.x) * RUN;
  let own = run + lane / SHARERS;
  let part = lane % SHARERS;
  var vector: Measured;
  if (own >= pack.slot && own < pack.slot + pack.count) {
    vector = measure(elementIndex(pack, own, group.y, 0u), part);
  }
  measured[lane] = vector;
  for (var stride = SHARERS / 2u; stride > 0u; stride /= 2u) {
    workgroupBarrier();
    if (part < stride) {
      measured[lane] = joined(measured[lane], measured[lane + stride]);
    }
  }
  if (part == 0u) {
    run_parameters[lane / SHARERS] = vectorParameters(measured[lane]);
  }
  workgroupBarrier();
  // Slots share words.
  if (lane != 0u) {
    return;
  }
  let base = parameterBase(pack.page, group.y);
  for (var slot = max(run, pack.slot); slot < min(run + RUN, pack.slot + pack.count); slot += 1u) {
    let parameters = run_parameters[slot - run];
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
