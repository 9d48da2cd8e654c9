// Reductions over the 32 lanes of a workgroup through its memory.

var<workgroup> lane_values: array<vec4<f32>, 32>;

fn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  workgroupBarrier();
  lane_values[lane] = value;
  for (var stride = 16u; stride > 0u; stride /= 2u) {
    workgroupBarrier();
    if (lane < stride) {
      lane_values[lane] = max(lane_values[lane], lane_values[lane + stride]);
    }
  }
  workgroupBarrier();
  return lane_values[0];
}

fn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  workgroupBarrier();
  lane_values[lane] = value;
  for (var stride = 16u; stride > 0u; stride /= 2u) {
    workgroupBarrier();
    if (lane < stride) {
      lane_values[lane] += lane_values[lane + stride];
    }
  }
  workgroupBarrier();
  return lane_values[0];
}
