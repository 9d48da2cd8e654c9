// Groups of a tile around zero or over their minimum, by the smaller sum of errors. Half a step of a group around zero has a
// sign.

var<workgroup> tile_symmetric: array<Parameters, TILE_ENTRIES>;

fn prepareTile(lane: u32) {
}

// Both; the steps around zero are the second half of all steps.
fn setGroup(entry: u32, part: vec2<f32>) {
  let over = overMinimum(part);
  let around = parametersAround(select(max(abs(part.x), abs(part.y)), 0.0, part.x > part.y));
  tile_parameters[entry] = over;
  tile_steps[entry] = stepOver(scaleValue(over.scale), zeroValue(over.zero));
  tile_symmetric[entry] = around;
  tile_steps[TILE_ENTRIES + entry] = stepOver(scaleValue(around.scale), 0.0);
}

fn chooseGroups(values: ptr<function, Patch>, lane: u32, row: u32, column: u32) {
  putErrors(values, row, column);
  workgroupBarrier();
  for (var entry = lane; entry < TILE_ENTRIES; entry += TILE_LANES) {
    var over = Tree();
    var around = Tree();
    for (var part = 0u; part < PARTS; part += 1u) {
      let errors = partAt(entry, part);
      treeAdd(&over, errors.x);
      treeAdd(&around, errors.y);
    }
    let first = treeSum(&around);
    let second = treeSum(&over);
    if (second < first || (second == first && tensor_tieAsymmetric)) {
      tile_parameters[entry].scale |= tensor_scaleSign;
    } else {
      let step = tile_steps[TILE_ENTRIES + entry];
      tile_parameters[entry] = tile_symmetric[entry];
      tile_steps[entry] = vec4<f32>(step.xyz, -step.w);
    }
  }
  workgroupBarrier();
}

fn differences(values: vec4<f32>, zeros: vec4<f32>) -> vec4<f32> {
  return exactlyFour(values - zeros);
}

fn hybridSum(values: vec4<f32>, steps: Steps, isSymmetric: vec4<bool>) -> vec4<f32> {
  let first = select(vec4<f32>(0.0), vec4<f32>(tensor_lowestCode), isSymmetric);
  let last = select(vec4<f32>(tensor_rangeTop), vec4<f32>(tensor_highestCode), isSymmetric);
  return nearestSum(differences(values, steps.offset), steps, first, last);
}

fn fourCodes(values: vec4<f32>, steps: Steps) -> vec4<u32> {
  let own = Steps(steps.scale, steps.offset, steps.inverse, abs(steps.half));
  return codesOfSum(hybridSum(values, own, steps.half < vec4<f32>(0.0)));
}

fn fourErrors(values: vec4<f32>, steps: Steps, isSymmetric: bool) -> vec4<f32> {
  let codes = hybridSum(values, steps, vec4<bool>(isSymmetric)) - ROUNDER;
  return abs(exactlyFour(exactlyFour(exactlyFour(codes * steps.scale) + steps.offset) - values));
}
