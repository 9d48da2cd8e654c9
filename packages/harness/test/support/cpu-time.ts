/**
 * Processor time of this process in milliseconds: what a limit can be held against on a machine that does other work.
 */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
