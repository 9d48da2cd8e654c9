// Symmetric or asymmetric by the smaller sum of errors, docs/law.md 5; the sign bit of the scale says which.

fn hybridParameters(group: Group) -> Parameters {
  let symmetric = symmetricParameters(group);
  let asymmetric = rangeParameters(group);
  let symmetricScale = scaleValue(symmetric.scale);
  let asymmetricScale = scaleValue(asymmetric.scale);
  let zero = zeroValue(asymmetric.zero);
  var symmetricErrors: Tree;
  var asymmetricErrors: Tree;
  for (var i = 0u; i < GROUP_SIZE; i += 1u) {
    let value = groupValue(group, i);
    let first = exactly(signedCode(symmetricCode(value, symmetric)) * symmetricScale);
    let second = exactly(exactly(f32(uniformCode(value, asymmetric)) * asymmetricScale) + zero);
    treeAdd(&symmetricErrors, select(0.0, abs(exactly(first - value)), isMember(value)));
    treeAdd(&asymmetricErrors, select(0.0, abs(exactly(second - value)), isMember(value)));
  }
  let first = treeSum(&symmetricErrors);
  let second = treeSum(&asymmetricErrors);
  if (second < first || (second == first && tensor_tieAsymmetric)) {
    return Parameters(asymmetric.scale | tensor_scaleSign, asymmetric.zero);
  }
  return symmetric;
}

fn hybridCode(value: f32, parameters: Parameters) -> u32 {
  if ((parameters.scale & tensor_scaleSign) != 0u) {
    return uniformCode(value, parameters);
  }
  return symmetricCode(value, parameters);
}
