// nearestCodeOfHalf for four elements at once, with a product by the reciprocal for the quotient.

// 1.5 2^23. The sum with a number is rounded to an integer, which is in its low bits then.
const ROUNDER = 12582912.0;

// ROUNDER plus the nearest integers. The first and last that there are count only where others can be reached.
fn nearestSum(difference: vec4<f32>, steps: Steps, first: vec4<f32>, last: vec4<f32>) -> vec4<f32> {
  var limited = difference;
  if (LIMITED) {
    limited = clamp(difference, first * steps.scale, last * steps.scale);
  }
  let sum = exactlyFour(limited * steps.inverse + ROUNDER);
  let error = limited - (sum - ROUNDER) * steps.scale;
  // Rare: the product was off, or an element lies half-way.
  if (!all(abs(error) < steps.half)) {
    return settledSum(sum, error, steps.half);
  }
  return sum;
}

// See settledCode.
fn settledSum(sum: vec4<f32>, error: vec4<f32>, half: vec4<f32>) -> vec4<f32> {
  let odd = (bitcast<vec4<u32>>(sum) & vec4<u32>(1u)) != vec4<u32>(0u);
  let above = (error > half) | ((error == half) & odd);
  let below = (error < -half) | ((error == -half) & odd);
  return sum + select(vec4<f32>(0.0), vec4<f32>(1.0), above) - select(vec4<f32>(0.0), vec4<f32>(1.0), below);
}

fn codesOfSum(sum: vec4<f32>) -> vec4<u32> {
  return bitcast<vec4<u32>>(sum) & vec4<u32>(tensor_codeMask);
}
