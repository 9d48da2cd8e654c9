// Rules about source text that a linter's options cannot say. Each returns one line per violation.
import { parseSync } from 'vite';
import type { SourceFile } from './workspace.js';

type SyntaxNode = { readonly type: string; readonly start: number; readonly end: number } & Record<
  string,
  unknown
>;

type ParsedSource = { readonly program: SyntaxNode; readonly code: string };

/** Parses a TypeScript file; `code` is the text with every comment blanked, offsets unchanged. */
function parse(file: SourceFile): ParsedSource {
  const { program, comments, errors } = parseSync(file.path, file.text);
  if (errors.length > 0) throw new Error(`${file.path}: ${errors[0]?.message}`);
  let code = file.text;
  for (const { start, end } of comments) {
    const blank = code.slice(start, end).replace(/[^\n]/g, ' ');
    code = code.slice(0, start) + blank + code.slice(end);
  }
  return { program: program as unknown as SyntaxNode, code };
}

function located(file: SourceFile, offset: number, problem: string): string {
  return `${file.path}:${file.text.slice(0, offset).split('\n').length} ${problem}`;
}

/** `lowbit-kv` and `LowbitKv` are the project, not the scheme whose name they begin with. */
const NOT_THE_PROJECT = '(?!-?kv)';

/** Where one of `names` occurs in `text`, in any case and also inside longer identifiers. */
function occurrences(file: SourceFile, text: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const pattern = new RegExp(`(?:${names.join('|')})${NOT_THE_PROJECT}`, 'gi');
  return [...text.matchAll(pattern)].map((match) =>
    located(file, match.index, `names the scheme '${match[0]}'`),
  );
}

/** Scheme names anywhere in the file, comments included. */
export function schemeNamesInText(file: SourceFile, names: readonly string[]): string[] {
  return occurrences(file, file.text, names);
}

/** Scheme names in code, types and strings. Comments may cite a paper. */
export function schemeNamesInCode(file: SourceFile, names: readonly string[]): string[] {
  return occurrences(file, parse(file).code, names);
}

function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === 'object' && value !== null && typeof (value as SyntaxNode).type === 'string'
  );
}

function* walk(node: SyntaxNode): Generator<SyntaxNode> {
  yield node;
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) yield* walk(child);
  }
}

/** `id`, `schemeId`, `scheme.id`, `plan.schemeId` and the like. */
function readsId(node: unknown): boolean {
  if (!isNode(node)) return false;
  if (node.type === 'ChainExpression') return readsId(node.expression);
  if (node.type === 'MemberExpression') return readsId(node.property);
  return node.type === 'Identifier' && /^(id|(scheme|backend)(Id|Name))$/.test(String(node.name));
}

function isFixedText(node: unknown): boolean {
  if (!isNode(node)) return false;
  return (
    (node.type === 'Literal' && typeof node.value === 'string') || node.type === 'TemplateLiteral'
  );
}

/** Comparisons of an id with fixed text, and switches over an id. */
export function branchesOnId(file: SourceFile): string[] {
  const found: string[] = [];
  for (const node of walk(parse(file).program)) {
    const compares =
      node.type === 'BinaryExpression' &&
      /^[!=]==?$/.test(String(node.operator)) &&
      ((readsId(node.left) && isFixedText(node.right)) ||
        (readsId(node.right) && isFixedText(node.left)));
    const switches = node.type === 'SwitchStatement' && readsId(node.discriminant);
    if (compares || switches) found.push(located(file, node.start, 'branches on an id'));
  }
  return found;
}

/** Work done when a module is imported: top-level calls, assignments, and imports for effect. */
export function effectsOnImport(
  file: SourceFile,
  allowedImports: readonly string[] = [],
): string[] {
  const found: string[] = [];
  for (const node of parse(file).program.body as SyntaxNode[]) {
    if (node.type === 'ExpressionStatement' && typeof node.directive !== 'string') {
      found.push(located(file, node.start, 'runs an expression on import'));
    }
    const source = isNode(node.source) ? String(node.source.value) : '';
    const forEffect =
      node.type === 'ImportDeclaration' &&
      (node.specifiers as unknown[]).length === 0 &&
      node.importKind !== 'type';
    if (forEffect && !allowedImports.includes(source)) {
      found.push(located(file, node.start, `imports '${source}' for its effect`));
    }
  }
  return found;
}
