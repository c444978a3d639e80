import {
  erase as eraseEverywhere,
  type PersonToErase,
  personToErase,
} from '../../operations/erasure/erase.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { subjectOf } from '../arguments/subject.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf, withExportStates, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { certificateJson, certificateText } from '../views/erasure-text.ts';

interface Options {
  readonly source?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `leadsync erase LEAD|EMAIL|PHONE`: erases a person's data. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync erase 42',
    'leadsync erase ada@example.com --yes',
    "leadsync erase '+44 20 7946 0018' --source main --yes --json",
    'leadsync erase - --yes < person.txt',
    'leadsync erase --yes',
  ],
  notes:
    'Identify the person by a lead id, an email address or a phone number. An address or number selects every lead that ever had it, even if only PostgreSQL still holds its content. With - the command reads the person from standard input, because arguments appear in the process list and in the shell history.\nWithout --yes it shows what it would erase, and changes nothing. Ids and hashes are kept, so that no poll records the leads again. Webhooks that received the leads are owed a lead.erased event, which a running leadsync delivers. Each erase also continues earlier ones that did not reach every place; without a person, it does only that.\nWorks while leadsync is running. Exit 0 if every place was searched and reached, else 1.',
  declare: (command) =>
    command
      .option('--source <name>', 'only leads of this source')
      .option('--yes', 'erase; without this option nothing is changed')
      .option('--dry-run', 'only say what would be erased')
      .option('--json', 'print the certificate as JSON'),
  run: async (options, surroundings, [given]) => {
    const subject = given === undefined ? undefined : await subjectOf(given, surroundings.stdin);
    const config = configOf(options, surroundings);
    const { clock, stdout, stderr } = surroundings;
    return withLedger(config, surroundings, async (ledger) => {
      requireName('source', options.source, sourceNames(config, await ledger.status()));
      // The search changes nothing, so a stop signal may end the process immediately.
      const looking = { ledger, clock, signal: new AbortController().signal };
      const person = await personToErase(config.sinks, subject, options.source, looking);
      if (person.leads.length + person.rejected.length === 0) throw noPersonFound(given, person);
      if (options.dryRun) {
        stdout.write(`Dry run: this would erase ${namesOf(person)}.${unaskedSinks(person.unasked)}\n`);
        return ExitCode.done;
      }
      if (!options.yes) throw unconfirmed(person);
      const stop = listenForStop(() => process.exit(ExitCode.notDone));
      await recordAction(config, surroundings, 'erase', { leads: namesOf(person) });
      const certificate = await withExportStates(config, surroundings, (states) =>
        eraseEverywhere(config, person, { ledger, clock, states, signal: stop.signal }),
      );
      stop.release();
      stdout.write(options.json ? printJson(certificateJson(certificate)) : certificateText(certificate));
      for (const sink of person.unasked) stderr.write(`${unsearched(sink)}\n`);
      const isDone = certificate.places.every(({ reached }) => reached) && person.unasked.length === 0;
      return isDone ? ExitCode.done : ExitCode.notDone;
    });
  },
});

function noPersonFound(given: string | undefined, { unasked }: PersonToErase): CommandFailure {
  return given === undefined
    ? new CommandFailure(
        ExitCode.usage,
        'No person was named: add a lead id, an email address or a phone number.',
        'No earlier erase is unfinished.',
      )
    : new CommandFailure(
        ExitCode.notDone,
        `The ledger holds no person with that id, address or number.${unaskedSinks(unasked)}`,
        "If the person was erased before, or `retention` removed the content, the ledger has only the lead id. Find the id in a place that still has the person's data, and erase by that id.",
      );
}

function unaskedSinks(sinks: readonly string[]): string {
  return sinks.map((sink) => ` Sink ${printable(sink)} could not be searched.`).join('');
}

function unsearched(sink: string): string {
  return `Sink ${printable(sink)} could not be searched, so it may have more leads of this person that the ledger does not know of. Run the same command again once the sink answers.`;
}

function namesOf({ leads, rejected }: PersonToErase): string {
  const names = leads.map(({ source, leadId }) => `${printable(source)} ${leadId}`);
  return [...names, ...(rejected.length > 0 ? [countOf(rejected.length, 'rejected lead')] : [])].join(', ');
}

function unconfirmed(person: PersonToErase): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `Nothing was erased. This command would erase: ${namesOf(person)}.${unaskedSinks(person.unasked)}`,
    'Erasing cannot be undone. To erase, run the same command with --yes.',
  );
}
