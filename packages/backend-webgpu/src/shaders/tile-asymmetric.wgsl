// Groups of a tile over their minimum.

const FIRST_CODE = 0.0;
const LAST_CODE = tensor_rangeTop;

fn parametersOf(part: vec2<f32>) -> Parameters {
  return overMinimum(part);
}

fn stepOf(parameters: Parameters) -> vec4<f32> {
  return stepOver(scaleValue(parameters.scale), zeroValue(parameters.zero));
}

fn differences(values: vec4<f32>, zeros: vec4<f32>) -> vec4<f32> {
  return exactlyFour(values - zeros);
}
