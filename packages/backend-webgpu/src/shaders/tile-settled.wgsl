// Groups of a tile whose parameters follow from what was measured.

fn setGroup(entry: u32, part: vec2<f32>) {
  let parameters = parametersOf(part);
  tile_parameters[entry] = parameters;
  tile_steps[entry] = stepOf(parameters);
}

fn chooseGroups(values: ptr<function, Patch>, lane: u32, row: u32, column: u32) {
}
