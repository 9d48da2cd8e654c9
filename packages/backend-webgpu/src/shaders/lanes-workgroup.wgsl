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

// Sums over all lanes of four vectors; a lane gets the one of its quarter of the lanes.
fn sumsByQuarter(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {
  let sumA = sumOfLanes(a, lane);
  let sumB = sumOfLanes(b, lane);
  let sumC = sumOfLanes(c, lane);
  let sumD = sumOfLanes(d, lane);
  return select(
    select(sumA, sumB, (lane & 8u) != 0u), select(sumC, sumD, (lane & 8u) != 0u), (lane & 16u) != 0u,
  );
}

struct Pair {
  first: vec4<f32>,
  second: vec4<f32>,
}

// Sums of two vectors over all lanes.
fn sumsOfLanes(a: vec4<f32>, b: vec4<f32>, lane: u32) -> Pair {
  return Pair(sumOfLanes(a, lane), sumOfLanes(b, lane));
}
