/** Reports are passed on: the folder of the user who measured is written as `~`. */
import { homedir } from 'node:os';

/** A copy of JSON data in which every text has `~` for the home folder. Keys are kept. */
export function withoutHome<Data>(data: Data, home: string = homedir()): Data {
  if (home.length < 2) return data;
  const folder = home.replace(/[\\/]+$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const pattern = new RegExp(`(?<![\\w./\\\\-])${folder}(?![\\w.-])`, 'g');
  const shortened = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(pattern, '~');
    if (Array.isArray(value)) return value.map(shortened);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, shortened(part)]));
  };
  return shortened(data) as Data;
}
