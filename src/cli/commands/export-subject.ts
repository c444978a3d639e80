import { printJson } from '../../platform/text/printable.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { subjectOf } from '../arguments/subject.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync export-subject LEAD|EMAIL|PHONE`: prints everything that the ledger holds about a person. */
export const command = defineCommand<{ source?: string }>({
  examples: [
    'leadsync export-subject 42',
    'leadsync export-subject ada@example.com > ada.json',
    'leadsync export-subject - < person.txt',
    "leadsync export-subject '+44 20 7946 0018' --source main",
  ],
  notes:
    "Identify the person by a lead id, an email address or a phone number. An address or number selects every lead that ever had it.\nThe output is personal data: every version of the leads as received, the destinations' answers, and rejected leads. In the output, `deliveries` shows which sinks received the leads. With - the command reads the person from standard input, because arguments appear in the process list and in the shell history.",
  declare: (command) => command.option('--source <name>', 'only leads of this source'),
  run: async (options, surroundings, [given = '']) => {
    const subject = await subjectOf(given, surroundings.stdin);
    const config = ledgerConfigOf(options, surroundings);
    return withLedger(config, surroundings, async (ledger) => {
      requireName('source', options.source, sourceNames(config, await ledger.status()));
      const person = await ledger.findPerson(subject, options.source);
      if (person.leads.length + person.rejected.length === 0)
        throw new CommandFailure(
          ExitCode.notDone,
          'The ledger holds no person with that id, address or number.',
          'If the person was erased, or `retention` removed the content, only the lead id is left.',
        );
      const record = await ledger.personRecord(person);
      surroundings.stdout.write(printJson({ exported_at: surroundings.clock.now(), ...record }));
      return ExitCode.done;
    });
  },
});
