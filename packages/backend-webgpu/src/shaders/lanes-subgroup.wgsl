// Reductions over the 32 lanes of a workgroup that is one subgroup.

fn exchangedPair(value: vec2<f32>, mask: u32, lane: u32) -> vec2<f32> {
  return subgroupShuffleXor(value, mask);
}

fn exchangedOne(value: f32, mask: u32, lane: u32) -> f32 {
  return subgroupShuffleXor(value, mask);
}

fn ofLane(value: f32, source: u32, lane: u32) -> f32 {
  return subgroupShuffle(value, source);
}

fn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  // A lane keeps one half of what it has and gives the other: the fewest exchanges.
  let pair = max(
    select(value.xy, value.zw, upperHalf), exchangedPair(select(value.zw, value.xy, upperHalf), 16u, lane),
  );
  var one = max(select(pair.x, pair.y, upperQuarter), exchangedOne(select(pair.y, pair.x, upperQuarter), 8u, lane));
  one = max(one, exchangedOne(one, 4u, lane));
  one = max(one, exchangedOne(one, 2u, lane));
  one = max(one, exchangedOne(one, 1u, lane));
  return vec4<f32>(ofLane(one, 0u, lane), ofLane(one, 8u, lane), ofLane(one, 16u, lane), ofLane(one, 24u, lane));
}

fn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupAdd(value);
}

struct Pair {
  first: vec4<f32>,
  second: vec4<f32>,
}

// Sums of two vectors over all lanes.
fn sumsOfLanes(a: vec4<f32>, b: vec4<f32>, lane: u32) -> Pair {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  let odd = (lane & 4u) != 0u;
  let four = select(a, b, upperHalf) + subgroupShuffleXor(select(b, a, upperHalf), 16u);
  let two = select(four.xy, four.zw, upperQuarter) + exchangedPair(select(four.zw, four.xy, upperQuarter), 8u, lane);
  var one = select(two.x, two.y, odd) + exchangedOne(select(two.y, two.x, odd), 4u, lane);
  one += exchangedOne(one, 2u, lane);
  one += exchangedOne(one, 1u, lane);
  return Pair(
    vec4<f32>(ofLane(one, 0u, lane), ofLane(one, 4u, lane), ofLane(one, 8u, lane), ofLane(one, 12u, lane)),
    vec4<f32>(ofLane(one, 16u, lane), ofLane(one, 20u, lane), ofLane(one, 24u, lane), ofLane(one, 28u, lane)),
  );
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
