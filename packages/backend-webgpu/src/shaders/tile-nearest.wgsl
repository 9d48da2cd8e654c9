// Codes of four elements at once: nearestCodeOfHalf, with a product by the reciprocal for the quotient.

// How a group becomes codes. `offset` is what `differences` makes of it.
struct Steps {
  scale: vec4<f32>,
  offset: vec4<f32>,
  inverse: vec4<f32>,
  // Half the scale; more than any error where the scale is 0, and the only code with it.
  half: vec4<f32>,
}

// 1.5 2^23. The sum with a number is rounded to an integer, which is in its low bits then.
const ROUNDER = 12582912.0;

fn stepOver(scale: f32, offset: f32) -> vec4<f32> {
  if (scale == 0.0) {
    return vec4<f32>(0.0, offset, 0.0, 3.4028234663852886e38);
  }
  return vec4<f32>(scale, offset, 1.0 / scale, 0.5 * scale);
}

fn exactlyFour(values: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) ^ vec4<u32>(job.zero));
}

fn fourCodes(values: vec4<f32>, steps: Steps) -> vec4<u32> {
  var difference = exactlyFour(differences(values, steps.offset));
  if (LIMITED) {
    difference = clamp(difference, FIRST_CODE * steps.scale, LAST_CODE * steps.scale);
  }
  var sum = exactlyFour(difference * steps.inverse + ROUNDER);
  let error = difference - (sum - ROUNDER) * steps.scale;
  // Rare: the product was off, or the element lies half-way.
  if (!all(abs(error) < steps.half)) {
    sum = settledSum(sum, error, steps.half);
  }
  return bitcast<vec4<u32>>(sum) & vec4<u32>(tensor_codeMask);
}

// See settledCode.
fn settledSum(sum: vec4<f32>, error: vec4<f32>, half: vec4<f32>) -> vec4<f32> {
  let odd = (bitcast<vec4<u32>>(sum) & vec4<u32>(1u)) != vec4<u32>(0u);
  let above = (error > half) | ((error == half) & odd);
  let below = (error < -half) | ((error == -half) & odd);
  return sum + select(vec4<f32>(0.0), vec4<f32>(1.0), above) - select(vec4<f32>(0.0), vec4<f32>(1.0), below);
}
