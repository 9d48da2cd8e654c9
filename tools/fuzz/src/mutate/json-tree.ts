/**
 * JSON as it is written, not as it is read: members may come twice, and scalars are any text.
 */
export interface ObjectNode {
  readonly kind: 'object';
  readonly members: [name: string, value: JsonNode][];
}

export interface ArrayNode {
  readonly kind: 'array';
  readonly items: JsonNode[];
}

/** Text as it stands in the file. */
export interface ScalarNode {
  readonly kind: 'scalar';
  readonly text: string;
}

export type JsonNode = ObjectNode | ArrayNode | ScalarNode;

export function treeOf(value: unknown): JsonNode {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return scalar(value);
  return {
    kind: 'object',
    members: Object.entries(value).map(([name, member]) => [name, treeOf(member)]),
  };
}

export function scalar(value: unknown): ScalarNode {
  return raw(JSON.stringify(value) ?? 'null');
}

export function raw(text: string): ScalarNode {
  return { kind: 'scalar', text };
}

export function textOf(node: JsonNode): string {
  if (node.kind === 'scalar') return node.text;
  if (node.kind === 'array') return `[${node.items.map(textOf).join(',')}]`;
  const members = node.members.map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`);
  return `{${members.join(',')}}`;
}

/** A place in a tree: what is there, and how it is replaced (undefined: removed). */
export interface JsonPlace {
  readonly node: JsonNode;
  replace(node: JsonNode | undefined): void;
  /** Where it is a member of an object. */
  readonly owner?: { readonly object: ObjectNode; readonly index: number };
}

/** Every place below the root, the root itself last. */
export function placesIn(root: { node: JsonNode }): JsonPlace[] {
  const places: JsonPlace[] = [];
  const visit = (node: JsonNode): void => {
    if (node.kind === 'array') {
      for (const [index, item] of node.items.entries()) {
        const replace = (other: JsonNode | undefined) => {
          node.items.splice(index, 1, ...(other === undefined ? [] : [other]));
        };
        places.push({ node: item, replace });
        visit(item);
      }
    } else if (node.kind === 'object') {
      for (const [index, [name, value]] of node.members.entries()) {
        const replace = (other: JsonNode | undefined) => {
          if (other === undefined) node.members.splice(index, 1);
          else node.members[index] = [name, other];
        };
        places.push({ node: value, replace, owner: { object: node, index } });
        visit(value);
      }
    }
  };
  visit(root.node);
  const replace = (other: JsonNode | undefined) => {
    root.node = other ?? raw('');
  };
  places.push({ node: root.node, replace });
  return places;
}
