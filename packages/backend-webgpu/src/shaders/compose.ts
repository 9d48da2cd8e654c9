/**
 * Composes a shader from its parts: constants first, then the .wgsl files in order.
 */
import { SHADER_PARTS } from './parts.generated.js';
import { unrolled } from './unroll.js';

export type ShaderPart = keyof typeof SHADER_PARTS;

/** A value of a WGSL constant; `type` where the literal does not say it. */
export type Constant = boolean | number | { readonly f32: number } | { readonly i32: number };

export type Constants = Readonly<Record<string, Constant>>;

/** A part, the same with its loops written out or under another prefix than `tensor_`, or text made for one plan. */
export type Piece =
  | ShaderPart
  | { readonly unrolled: ShaderPart }
  | { readonly part: ShaderPart; readonly prefix: string }
  | { readonly text: string };

/** `features` are named first, as WGSL wants it. Constants that no piece names are left out: equal work has equal text. */
export function composeShader(
  constants: Constants,
  pieces: readonly Piece[],
  features: readonly string[] = [],
  diagnostics: readonly string[] = [],
): string {
  const enabled = features.map((feature) => `enable ${feature};`);
  const body = pieces.map((piece) => textOf(piece, constants)).join('\n');
  const names = new Set(body.match(/\w+/g));
  const lines = Object.entries(constants)
    .filter(([name]) => names.has(name))
    .map(([name, value]) => `const ${name} = ${literal(value)};`);
  const filters = diagnostics.map((filter) => `diagnostic(${filter});`);
  return [...enabled, ...filters, ...lines, body].join('\n');
}

function textOf(piece: Piece, constants: Constants): string {
  if (typeof piece === 'string') return SHADER_PARTS[piece];
  if ('unrolled' in piece) return unrolled(SHADER_PARTS[piece.unrolled], constants);
  if ('text' in piece) return piece.text;
  return SHADER_PARTS[piece.part].replace(/\btensor_/g, piece.prefix);
}

function literal(value: Constant): string {
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return `${value}u`;
  return 'f32' in value ? float(value.f32) : `${value.i32}i`;
}

/** Digits enough for the f32 nearest to `value`. */
function float(value: number): string {
  return `${Math.fround(value)}f`;
}
