import { contactMatcher } from '../../leads/find-contact.ts';
import type { FoundLead, FoundLeads, PersonSearch } from '../../ledger/contract/page-rows.ts';
import { countOf, printMomentAndAge } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { foundLeadJson } from '../../status/record-json.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { firstLine } from '../arguments/subject.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { readableConfigOf, widthOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { table } from '../shell/table.ts';

/** Maximum number of leads listed. */
const MAX_LEADS = 200;

const COLUMNS = [
  { head: 'FIRST SEEN', dropOrder: 2 },
  { head: 'SOURCE', dropOrder: 3 },
  { head: 'LEAD' },
  { head: 'NAME' },
  { head: 'EMAIL' },
  { head: 'PHONE' },
  { head: 'SERVICE', dropOrder: 1 },
  { head: 'DELIVERED' },
] as const;

/** `leadsync find TEXT`: lists the leads of a person, by part of the name, email address or phone number. */
export const command = defineCommand<{ source?: string; json?: boolean }>({
  examples: ['leadsync find lovelace', "leadsync find '020 7946'", 'leadsync find - < person.txt'],
  notes: `Every word must be part of the client's name or email address, in upper or lower case and with or without accents; or the text must be part of the phone number, in any grouping. Earlier versions of a lead count too.\nThe output is personal data, and the audit log records who searched, without the text. With - the command reads the text from standard input, because arguments appear in the process list and in the shell history. It lists at most ${MAX_LEADS} leads, newest first.`,
  declare: (command) =>
    command
      .option('--source <name>', 'only leads of this source')
      .option('--json', 'print the leads as JSON'),
  run: async (options, surroundings, [given = '']) => {
    const { stdout, stderr, stdin, clock } = surroundings;
    const text = (given === '-' ? await firstLine(stdin) : given).trim();
    if (contactMatcher(text) === undefined)
      throw new CommandFailure(
        ExitCode.usage,
        'The text is too short to search for.',
        'Enter at least two letters, or four digits of a phone number.',
      );
    const config = readableConfigOf(options, surroundings);
    await recordAction(config, surroundings, 'find', { source: options.source });
    const { leads, more } = await withLedger(config, surroundings, async (ledger) => {
      requireName('source', options.source, sourceNames(config, await ledger.status()));
      return findAll({ text, source: options.source }, (search, limit) => ledger.findLeads(search, limit));
    });
    if (options.json) stdout.write(printJson({ leads: leads.map(foundLeadJson), more }));
    else if (leads.length > 0)
      stdout.write(
        table(
          COLUMNS,
          leads.map((lead) => cellsOf(lead, clock.now())),
          widthOf(surroundings),
        ),
      );
    if (leads.length === 0) stderr.write('No lead has this name, email address or phone number.\n');
    if (more)
      stderr.write(
        `These are the newest ${countOf(leads.length, 'lead')}; there are more. Search for a longer text.\n`,
      );
    return leads.length > 0 ? ExitCode.done : ExitCode.notDone;
  },
});

type Find = (search: PersonSearch, limit: number) => Promise<FoundLeads>;

async function findAll(search: PersonSearch, find: Find): Promise<{ leads: FoundLead[]; more: boolean }> {
  const leads: FoundLead[] = [];
  let before: number | undefined;
  do {
    const found = await find({ ...search, before }, MAX_LEADS - leads.length);
    leads.push(...found.rows);
    before = found.next?.before;
  } while (before !== undefined && leads.length < MAX_LEADS);
  return { leads, more: before !== undefined };
}

function cellsOf(lead: FoundLead, now: Date): string[] {
  const shown = (text: string | null) => (text === null ? '–' : printable(text));
  const { firstSeenAt, source, name, email, phone, service } = lead;
  return [
    printMomentAndAge(new Date(firstSeenAt), now),
    source,
    lead.lead,
    shown(name),
    shown(email),
    shown(phone),
    shown(service),
    deliveredOf(lead),
  ];
}

/** Returns how many of the sinks to which the lead was owed have it, and for how many it is dead. */
function deliveredOf({ owedSinks, deliveredSinks, deadSinks }: FoundLead): string {
  if (owedSinks === 0) return '–';
  const dead = deadSinks > 0 ? `, ${deadSinks} dead` : '';
  return `${deliveredSinks} of ${owedSinks}${dead}`;
}
