// Keys as they are stored.

fn stageKeys(segment: Segment, token: u32, count: u32, head: u32, statisticsPage: u32, lane: u32) {
  key_stage(segment.key_source, segment.key_page, head, segment.key_slot + token, count, lane);
}
