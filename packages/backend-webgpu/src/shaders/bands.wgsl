// Outlier bands, docs/law.md 6: which band a value is in, what its shift leaves, and its code.

const MIDDLE = 0u;
const OUTER = 1u;
const INNER = 2u;
const SMALLEST_LOW = -0.00006103515625;

struct Edges {
  outerLow: f32,
  innerLow: f32,
  innerHigh: f32,
  outerHigh: f32,
}

// Bits of f16 numbers; a band without members has zeros.
struct Parameters {
  // `middleMaximum`, or `middleMinimum`.
  middle: u32,
  middleStep: u32,
  outerMinimum: u32,
  outerStep: u32,
  innerMinimum: u32,
  innerStep: u32,
}

fn edgesOf() -> Edges {
  let at = tensor_edgesWord;
  return Edges(
    bitcast<f32>(wordAt(at)),
    bitcast<f32>(wordAt(at + 1u)),
    bitcast<f32>(wordAt(at + 2u)),
    bitcast<f32>(wordAt(at + 3u)),
  );
}

fn bandOf(value: f32, edges: Edges) -> u32 {
  if (!isMember(value)) {
    return MIDDLE;
  }
  if (value <= edges.outerLow || value >= edges.outerHigh) {
    return OUTER;
  }
  return select(MIDDLE, INNER, value > edges.innerLow && value < edges.innerHigh);
}

fn outerMagnitude(value: f32, edges: Edges) -> f32 {
  return exactly(select(edges.outerLow - value, value - edges.outerHigh, value >= edges.outerHigh));
}

fn middleShift(value: f32, edges: Edges) -> f32 {
  return exactly(value - select(edges.innerLow, edges.innerHigh, value >= edges.innerHigh));
}

fn affineCode(difference: f32, step: f32, highest: f32) -> u32 {
  if (step == 0.0) {
    return 0u;
  }
  return u32(nearestCodeOfHalf(difference, step, 0.0, highest));
}

// Codes below this one decode to the low side of a uniform middle band.
fn lowCodes(minimum: f32, step: f32) -> u32 {
  var codes = 0u;
  while (codes < 16u && minimum + f32(codes) * step < 0.0) {
    codes += 1u;
  }
  return codes;
}

fn middleCode(value: f32, parameters: Parameters, edges: Edges) -> u32 {
  let high = value >= edges.innerHigh;
  let shift = middleShift(value, edges);
  if (tensor_midRise) {
    let maximum = f16Value(parameters.middle);
    let scaled = 8.0 * abs(shift);
    var cell = 0u;
    while (cell < 7u && maximum != 0.0 && scaled >= f32(cell + 1u) * maximum) {
      cell += 1u;
    }
    return select(8u, 0u, high) | cell;
  }
  let minimum = f16Value(parameters.middle);
  let step = f16Value(parameters.middleStep);
  let code = affineCode(exactly(shift - minimum), step, 15.0);
  let low = lowCodes(minimum, step);
  return select(min(code, max(low, 1u) - 1u), max(code, low), high);
}

// Four bits in the codes plane; an inner code has a fifth.
fn bandCode(value: f32, band: u32, parameters: Parameters, edges: Edges) -> u32 {
  if (band == OUTER) {
    let difference = exactly(outerMagnitude(value, edges) - f16Value(parameters.outerMinimum));
    return affineCode(difference, f16Value(parameters.outerStep), 15.0);
  }
  if (band == INNER) {
    let difference = exactly(value - f16Value(parameters.innerMinimum));
    return affineCode(difference, f16Value(parameters.innerStep), 31.0);
  }
  return middleCode(value, parameters, edges);
}

// A middle code as pages keep it: where attention reduces over it, as a number that rises with the value.
fn placedCode(code: u32) -> u32 {
  return select(code, code ^ select(15u, 8u, code < 8u), tensor_rises);
}

fn canonicalMiddle(placed: u32) -> u32 {
  return select(placed, placed ^ select(8u, 15u, placed < 8u), tensor_rises);
}

// The planes lie in the head block, or behind all of them where heads share parameters.
fn parameterBase(page: u32, head: u32) -> u32 {
  return page + select(head, tensor_heads, tensor_sharedParameters) * tensor_headWords;
}

fn vectorParametersAt(page: u32, head: u32, slot: u32) -> Parameters {
  let base = parameterBase(page, head);
  var parameters: Parameters;
  parameters.middle = fieldAt(base + tensor_middleWord, slot, 16u);
  if (!tensor_midRise) {
    parameters.middleStep = fieldAt(base + tensor_middleStepWord, slot, 16u);
  }
  parameters.outerMinimum = fieldAt(base + tensor_outerMinimumWord, slot, 16u);
  parameters.outerStep = fieldAt(base + tensor_outerStepWord, slot, 16u);
  parameters.innerMinimum = fieldAt(base + tensor_innerMinimumWord, slot, 16u);
  parameters.innerStep = fieldAt(base + tensor_innerStepWord, slot, 16u);
  return parameters;
}
