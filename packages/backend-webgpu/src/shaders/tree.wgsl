// Sums over the fixed pairwise tree, docs/law.md 5.

// Sums f32 terms over the fixed pairwise tree, one after the other as they come.
struct Tree {
  levels: array<f32, 12>,
  count: u32,
}

fn treeAdd(tree: ptr<function, Tree>, term: f32) {
  var sum = term;
  var level = 0u;
  var full = (*tree).count;
  while ((full & 1u) != 0u) {
    sum = exactly((*tree).levels[level] + sum);
    full >>= 1u;
    level += 1u;
  }
  (*tree).levels[level] = sum;
  (*tree).count += 1u;
}

// The last of an odd number of terms moves up unchanged: what is left over is added from the smallest subtree on.
fn treeSum(tree: ptr<function, Tree>) -> f32 {
  var sum = 0.0;
  var some = false;
  var full = (*tree).count;
  for (var level = 0u; full != 0u; level += 1u) {
    if ((full & 1u) != 0u) {
      sum = select((*tree).levels[level], exactly((*tree).levels[level] + sum), some);
      some = true;
    }
    full >>= 1u;
  }
  return sum;
}
