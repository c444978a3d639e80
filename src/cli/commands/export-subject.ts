import { printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { requireName, sourceNames } from '../shell/names.ts';
import { subjectOf } from '../shell/subject.ts';

/** `leadsync export-subject LEAD|EMAIL|PHONE`: everything that is held of a person. */
export const command = defineCommand<{ source?: string }>({
  examples: [
    'leadsync export-subject 42',
    'leadsync export-subject ada@example.com > ada.json',
    'leadsync export-subject - < person.txt',
    "leadsync export-subject '+44 20 7946 0018' --source main",
  ],
  notes:
    'The person is a lead id, an email address or a phone number; the latter two mean every lead that ever had it. It is personal data: each content as received, what destinations answered, and what was set aside. `deliveries` says which sinks were given it. With - the person is read from standard input, since an argument shows in the list of processes and in the shell history.',
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
          'The ledger holds nobody of that id, address or number.',
          'Of somebody who was erased, or is past `retention`, only the lead id is left.',
        );
      const record = await ledger.personRecord(person);
      surroundings.stdout.write(printJson({ exported_at: surroundings.clock.now(), ...record }));
      return ExitCode.done;
    });
  },
});
