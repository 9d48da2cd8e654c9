/**
 * One entry point of a shader, with what it binds.
 */
export interface Program {
  readonly name: string;
  readonly code: string;
  readonly entryPoint: string;
  /** Bindings after the uniform and the commands, in order. */
  readonly bindings: readonly ('read' | 'write')[];
}

export function program(
  entryPoint: string,
  code: string,
  bindings: readonly ('read' | 'write')[],
): Program {
  return { name: entryPoint, code, entryPoint, bindings };
}

/** A WGSL function whose body is these lines. */
export function functionText(signature: string, lines: readonly string[]): string {
  return `fn ${signature} {\n${lines.map((line) => `  ${line}\n`).join('')}}\n`;
}
