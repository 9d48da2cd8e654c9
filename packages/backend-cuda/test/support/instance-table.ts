/**
 * The tables of docs/instances.md.
 */
import {
  BAND_INSTANCES,
  INSTANCES,
  ROWS_INSTANCES,
  type TensorInstance,
} from '../../src/instances.js';

const tensor = ({ bits, along, groupSize, hasZero, isHybrid }: TensorInstance) =>
  `${bits} bits, ${groupSize} ${along}${isHybrid ? ', hybrid' : hasZero ? ', zero' : ''}`;

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${' --- |'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

export function instanceTable(): string {
  return table(
    ['kernel', 'keys', 'values', 'head dim', 'query heads of a block'],
    INSTANCES.map(({ name, key, value, headDim, blockHeads }) => [
      ...[`\`${name}\``, tensor(key), tensor(value), headDim, blockHeads],
    ]),
  );
}

/** Of kernels for several query tokens. */
export function rowsTable(): string {
  return table(
    ['kernels', 'keys', 'values', 'head dim', 'rows of a block'],
    ROWS_INSTANCES.map(({ name, key, value, headDim, rows }) => [
      ...[`\`${name}\``, tensor(key), tensor(value), headDim, rows],
    ]),
  );
}

/** Of kernels for outlier bands. */
export function bandsTable(): string {
  return table(
    ['bands', 'head dim', 'query heads of a block'],
    BAND_INSTANCES.map(({ name, headDim, blockHeads }) => [`\`${name}\``, headDim, blockHeads]),
  );
}
