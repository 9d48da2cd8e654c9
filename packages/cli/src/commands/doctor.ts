/**
 * `lowbit-kv doctor`: what works on this machine, what does not, and what to do about it.
 */
import { type DoctorReport, examine } from '../doctor/doctor-report.js';
import type { Terminal } from '../terminal.js';

export interface DoctorOptions {
  readonly json?: boolean;
}

/** Exit code 1 when something required is broken. */
export async function doctor(terminal: Terminal, options: DoctorOptions): Promise<number> {
  terminal.status('probing ...');
  const report = await examine(terminal.directory);
  terminal.clearStatus();
  if (options.json === true) terminal.print(JSON.stringify(report, null, 2));
  else printReport(terminal, report);
  return report.ok ? 0 : 1;
}

function printReport(terminal: Terminal, report: DoctorReport): void {
  const { bold, dim, green, red, yellow } = terminal.outColors;
  const line = (good: boolean, text: string) =>
    terminal.print(`  ${good ? green('ok') : yellow('no')}  ${text}`);

  terminal.print(bold('Node'));
  terminal.print(`  ${report.node.version} on ${report.platform} (needs ${report.node.required})`);

  terminal.print(bold('Packages'));
  for (const { name, version, path } of report.packages)
    line(path !== null, `${name} ${version ?? 'is not installed'} ${dim(path ?? '')}`.trimEnd());
  terminal.print(bold('Copies of @lowbit-kv/core'));
  for (const { version, path, usedBy } of report.coreCopies)
    line(report.coreCopies.length === 1, `${version} ${path}, used by ${usedBy.join(', ')}`);

  terminal.print(bold('Schemes'));
  for (const { id, source, reason, support } of report.schemes) {
    line(reason === null, `${id} ${dim(reason ?? source)}`);
    for (const answer of support) {
      if (answer.kind !== 'native')
        terminal.print(
          dim(`      ${answer.backend}: ${answer.kind}, ${answer.reasons.join('; ')}`),
        );
    }
  }

  terminal.print(bold('Backends'));
  for (const { id, device, reason } of report.backends)
    line(reason === null, `${id}: ${device ?? reason}`);
  if (report.onnxRuntime !== null) {
    const { installed, version, path, loads } = report.onnxRuntime;
    const state = installed
      ? `${version} at ${path}${loads ? '' : ', does not load'}`
      : 'not installed';
    line(loads, `onnxruntime-node ${state}`);
  }

  terminal.print('');
  if (report.problems.length === 0) {
    terminal.print(green('Everything works.'));
    return;
  }
  for (const { severity, what, next } of report.problems) {
    const label = severity === 'required' ? red('broken') : yellow('optional');
    terminal.print(`${label}  ${what}`);
    terminal.print(`        fix: ${next}`);
  }
}
