import type { CopiedLedger } from '../../operations/copying/copy-ledger.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';

/** Returns the report of a copy, or of what a copy would do. */
export function copyText({ from, to, isContinued, tables, logins }: CopiedLedger, dryRun: boolean): string {
  const counted = Object.entries(tables).filter(([, rows]) => rows > 0);
  const width = Math.max(0, ...counted.map(([table]) => table.length));
  const list = counted.map(([table, rows]) => `  ${table.padEnd(width)}  ${countOf(rows, 'row')}\n`).join('');
  if (dryRun)
    return `The ledger in ${printable(from)} can be copied to ${printable(to)}${isContinued ? ', where an earlier copy was not finished' : ''}:\n${list}Nothing was changed.\n`;
  return `The ledger in ${printable(from)} was copied to ${printable(to)}, and both are equal:\n${list}The old ledger is marked as moved: leadsync does not run on it.\n${loginsText(logins)}`;
}

function loginsText({ sources, left }: CopiedLedger['logins']): string {
  const names = (some: readonly string[]) => printable(some.join(', '));
  const moved = sources.length > 0 ? `Its tokens were moved too: ${names(sources)}.\n` : '';
  return left.length > 0
    ? `${moved}data_dir has other tokens of ${names(left)}. leadsync uses those; if they no longer work, give \`leadsync login\`.\n`
    : moved;
}
