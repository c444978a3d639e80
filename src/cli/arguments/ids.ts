import { readFileSync } from 'node:fs';
import { isDeliveryId, isLeadId, KINDS_OF_IDS, MAX_IDS } from '../../leads/selected-id.ts';
import type { SelectedIds } from '../../ledger/contract/ledger-queries.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** Maximum length of a list on standard input, in characters. It leaves room for more characters per id than any id has. */
const MAX_CHARACTERS = MAX_IDS * 300;

/**
 * Reads a list of lead ids and delivery ids, one on each line, from a file or, with `-`, from standard input. Ignores empty lines, repeated ids
 * and lines that begin with `#`. @throws CommandFailure
 */
export async function readIds(file: string, stdin: Surroundings['stdin']): Promise<SelectedIds> {
  const name = file === '-' ? 'Standard input' : printable(file);
  const lines = (file === '-' ? await textOf(stdin) : fileText(file)).replace(/^\uFEFF/, '').split(/\r?\n/);
  const [leads, deliveries] = [new Set<bigint>(), new Set<string>()];
  for (const [at, line] of lines.entries()) {
    const id = line.trim();
    if (id === '' || id.startsWith('#')) continue;
    if (isLeadId(id)) leads.add(BigInt(id));
    else if (isDeliveryId(id)) deliveries.add(id);
    else throw notAnId(name, at + 1);
  }
  const count = leads.size + deliveries.size;
  if (count === 0)
    throw usage(`${name} contains no ids.`, 'It needs one lead id or delivery id on each line.');
  if (count > MAX_IDS)
    throw usage(
      `${name} contains ${countOf(count, 'id')}; the maximum is ${printCount(MAX_IDS)}.`,
      'Split the list.',
    );
  return { leads: [...leads], deliveries: [...deliveries] };
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`The list of ids ${printable(file)} cannot be read (${codeOf(error) ?? 'unknown error'}).`);
  }
}

async function textOf(stdin: Surroundings['stdin']): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > MAX_CHARACTERS)
      throw usage('Standard input is too long for a list of ids.', 'Split the list.');
  }
  return text;
}

/** Returns the failure for a line that is not an id. Does not quote the line, which may contain personal data. */
function notAnId(name: string, line: number): CommandFailure {
  return usage(
    `${name}, line ${line}: this is neither a lead id nor the id of a delivery.`,
    `Write one id on each line: ${KINDS_OF_IDS}.`,
  );
}

function usage(message: string, hint = ''): CommandFailure {
  return new CommandFailure(ExitCode.usage, message, hint);
}
