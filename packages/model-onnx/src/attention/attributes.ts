/**
 * Attributes of nodes with their defaults.
 */
import type { AttributeProto, NodeProto } from 'onnx-buf';

export function attributeOf(node: NodeProto, name: string): AttributeProto | null {
  return node.attribute.find((attribute) => attribute.name === name) ?? null;
}

export function intAttribute(node: NodeProto, name: string, absent: number): number {
  const attribute = attributeOf(node, name);
  return attribute === null ? absent : Number(attribute.i);
}

export function floatAttribute(node: NodeProto, name: string, absent: number): number {
  return attributeOf(node, name)?.f ?? absent;
}

export function stringAttribute(node: NodeProto, name: string, absent: string): string {
  const attribute = attributeOf(node, name);
  return attribute === null ? absent : new TextDecoder().decode(attribute.s);
}

/** Null where the attribute is not there. */
export function intsAttribute(node: NodeProto, name: string): number[] | null {
  return attributeOf(node, name)?.ints.map(Number) ?? null;
}
