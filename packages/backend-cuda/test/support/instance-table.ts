/**
 * The table of docs/instances.md.
 */
import { INSTANCES, type TensorInstance } from '../../src/instances.js';

export function instanceTable(): string {
  const tensor = ({ bits, along, groupSize, hasZero, isHybrid }: TensorInstance) =>
    `${bits} bits, ${groupSize} ${along}${isHybrid ? ', hybrid' : hasZero ? ', zero' : ''}`;
  const rows = INSTANCES.map(
    ({ name, key, value, headDim, blockHeads }) =>
      `| \`${name}\` | ${tensor(key)} | ${tensor(value)} | ${headDim} | ${blockHeads} |`,
  );
  const head = ['kernel', 'keys', 'values', 'head dim', 'query heads of a block'];
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n');
}
