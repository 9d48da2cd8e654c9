// Groups of a tile around zero. A scale below zero turns them round.

const FIRST_CODE = tensor_lowestCode;
const LAST_CODE = tensor_highestCode;

fn parametersOf(part: vec2<f32>) -> Parameters {
  return parametersAround(part.x);
}

fn stepOf(parameters: Parameters) -> vec4<f32> {
  let scale = scaleValue(parameters.scale);
  return stepOver(abs(scale), select(1.0, -1.0, scale < 0.0));
}

fn differences(values: vec4<f32>, signs: vec4<f32>) -> vec4<f32> {
  return values * signs;
}
