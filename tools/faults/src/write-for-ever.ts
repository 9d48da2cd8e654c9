// A process that writes both versions of everything but graphs, which are written as reports are, into the folder that it is given, in turn, until it is killed. Arguments: folder, first version, endpoint of a hub.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openWriters, type Version } from './writers.js';

const [root = '', first = '0', endpoint] = process.argv.slice(2);
const { writers } = await openWriters(endpoint);
const quick = writers.filter(({ name }) => name !== 'exported graphs');
for (let round = Number(first); ; round++) {
  await Promise.all(
    quick.map(async ({ write }, i) => {
      const folder = join(root, `${i}`);
      await mkdir(folder, { recursive: true });
      await write(folder, (round % 2) as Version);
    }),
  );
  if (round === Number(first)) console.log('written');
}
