// Reductions over the 32 lanes of a workgroup that is one subgroup.

fn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupMax(value);
}

fn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupAdd(value);
}

// Sums over all lanes of four vectors; a lane gets the one of its quarter of the lanes.
fn sumsByQuarter(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  let first = select(a, c, upperHalf) + subgroupShuffleXor(select(c, a, upperHalf), 16u);
  let second = select(b, d, upperHalf) + subgroupShuffleXor(select(d, b, upperHalf), 16u);
  var sum = select(first, second, upperQuarter) + subgroupShuffleXor(select(second, first, upperQuarter), 8u);
  sum += subgroupShuffleXor(sum, 4u);
  sum += subgroupShuffleXor(sum, 2u);
  sum += subgroupShuffleXor(sum, 1u);
  return sum;
}
