// Reductions over the 32 lanes of a workgroup that is one subgroup.

fn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupMax(value);
}

fn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupAdd(value);
}
