/**
 * Which inputs of a graph a value is computed from, and whether queries and keys belong to the same tokens.
 */
import { type GraphView, inputsOf } from './graph-view.js';

/** Only lengths of their input go into the results of these. */
const SHAPES_ALONE = new Set(['Shape', 'Size']);

/** Inputs that say where tokens are, not which. */
const PLACES = /position|mask|sequence_length|seqlens|beam/;

/** Graph inputs; empty for what is constant. */
export function sourcesOf(view: GraphView, name: string): ReadonlySet<string> {
  const sources = new Set<string>();
  const seen = new Set([name]);
  const open = [name];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (view.isGraphInput(at)) sources.add(at);
    const node = view.producer(at);
    if (node === null || SHAPES_ALONE.has(node.opType)) continue;
    const inputs = inputsOf(node);
    // Of the second only its element type counts.
    if (node.opType === 'CastLike') inputs.length = 1;
    for (const input of inputs) {
      if (seen.has(input)) continue;
      seen.add(input);
      open.push(input);
    }
  }
  return sources;
}

/** Whether a value is made of more than lengths and positions. */
export function dependsOnTokens(view: GraphView, name: string): boolean {
  return tokenSources(view, name).length > 0;
}

function tokenSources(view: GraphView, name: string): string[] {
  return [...sourcesOf(view, name)].filter((source) => !PLACES.test(source)).sort();
}

/**
 * Why keys or values are not those of the tokens of the queries, in words; null when they are. In self-attention all three
 * come from the same states: cross attention has others, and a cache that was not recognised remains among the sources.
 */
export function foreignTokens(
  view: GraphView,
  names: { readonly query: string; readonly key: string; readonly value: string },
): string | null {
  const [query, key, value] = [names.query, names.key, names.value].map((name) =>
    tokenSources(view, name),
  );
  const differs = [key, value].find((list) => list?.join() !== query?.join());
  if (differs === undefined) return null;
  const more = differs.filter((source) => !query?.includes(source));
  if (more.length > 0)
    return `its keys or values come from ${named(more)}, its queries do not: cross attention, or a cache of unknown form`;
  const less = query?.filter((source) => !differs.includes(source)) ?? [];
  return `its queries come from ${named(less)}, its keys or values do not: cross attention, or layers that share a cache`;
}

function named([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}
