/**
 * The table of docs/instances.md.
 */
import { INSTANCES, type TensorInstance } from '../../src/instances.js';

export function instanceTable(): string {
  const tensor = ({ bits, along, groupSize, hasZero }: TensorInstance) =>
    `${bits} bits, ${groupSize} ${along}${hasZero ? ', zero' : ''}`;
  const rows = INSTANCES.map(
    ({ name, key, value, headDim, queryHeads }) =>
      `| \`${name}\` | ${tensor(key)} | ${tensor(value)} | ${headDim} | ${queryHeads} |`,
  );
  const head = ['kernel', 'keys', 'values', 'head dim', 'query heads of a kv head'];
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n');
}
