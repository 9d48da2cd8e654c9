/** "Did you mean": the harness has it for names of metrics, the command for everything else. */
export { nearest } from '@lowbit-kv/harness';
