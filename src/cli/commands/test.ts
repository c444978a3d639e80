import { InvalidArgumentError } from 'commander';
import type { Config, SinkConfig } from '../../config/contract/config.ts';
import { loadConfig } from '../../config/load-config.ts';
import type { Delivery } from '../../leads/delivery.ts';
import type { LeadId } from '../../leads/lead.ts';
import { mappedJson } from '../../leads/mapped-fields.ts';
import { Mapping } from '../../mapping/mapping.ts';
import { runTests, type TestFailure } from '../../mapping/run-tests.ts';
import { outlineOf } from '../../mapping/value-outline.ts';
import { tryMapping } from '../../operations/try-mapping.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import { readLeadId } from '../arguments/filter.ts';
import { requireSink } from '../arguments/require-name.ts';
import { unknownLead } from '../arguments/unknown-lead.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, type GlobalOptions, type Surroundings, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { repeatOnSave } from '../shell/repeat-on-save.ts';
import { newestLeads } from '../shell/sample-leads.ts';
import { linesOfTrial } from '../views/trial-text.ts';

interface Options {
  readonly lead?: LeadId;
  readonly source?: string;
  readonly last?: number;
  readonly showData?: boolean;
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** The result of one test. */
interface TestResult {
  readonly test: string;
  readonly passed: boolean;
  readonly differences: readonly Pick<TestFailure, 'path' | 'expected' | 'actual'>[];
}

/** `leadsync test`: runs the tests of the mappings, or tries the mappings on recorded leads. Sends nothing. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync test',
    'leadsync test crm --last 50',
    'leadsync test crm --lead 42 --show-data',
    'leadsync test --watch',
    'leadsync test --json',
  ],
  notes:
    'Without --lead and --last, it runs the tests in the configuration and exits with 78 if one fails. With them, it applies `where` and `fields` to leads in the ledger, sends nothing, and exits with 1 if an expression fails for any of them. It shows their content only with --show-data. With --watch, it runs the tests again each time the configuration file is saved, until Ctrl-C.',
  declare: (command) =>
    command
      .option('--lead <id>', 'apply the mapping to this lead', readLeadId)
      .option('--source <name>', 'the source of that lead')
      .option('--last <number>', 'apply the mapping to the last leads, and count the results', readCount)
      .option('--show-data', "with --lead, show the fields' values, which are personal data")
      .option('--watch', 'run the tests again each time the file is saved')
      .option('--json', 'print the result as JSON'),
  run: async (options, surroundings, [sink]) => {
    refuseUseless(options);
    if (options.watch) return watchTests(sink, options, surroundings);
    const { config, chosen } = chosenSinks(sink, options, surroundings);
    if (options.lead !== undefined) return tryLead(options.lead, chosen, config, options, surroundings);
    if (options.last !== undefined) return tryLast(options.last, chosen, config, options, surroundings);
    return showTests(chosen, config, options, surroundings);
  },
});

/** Returns the configuration and the chosen sinks: the named sink, or else every sink with a mapping. @throws ConfigError, CommandFailure */
function chosenSinks(sink: string | undefined, options: GlobalOptions, { env }: Surroundings) {
  const config = loadConfig(options.config, { sinkTypes, env, ignoreTests: true });
  requireSink(sink, config);
  const chosen = config.sinks.filter(
    ({ name, mapping }) => name === sink || (sink === undefined && mapping !== undefined),
  );
  if (chosen.every(({ mapping }) => mapping === undefined)) throw noMapping(sink);
  return { config, chosen };
}

/** Runs the tests now and each time the file is saved, and shows the results. */
async function watchTests(
  sink: string | undefined,
  options: Options & GlobalOptions,
  surroundings: Surroundings,
): Promise<number> {
  await repeatOnSave(options, surroundings, () => {
    const { config, chosen } = chosenSinks(sink, options, surroundings);
    showTests(chosen, config, options, surroundings);
  });
  return ExitCode.done;
}

/** Refuses options that would have no effect. @throws CommandFailure */
function refuseUseless({ lead, source, showData, last, watch, json }: Options): void {
  if (watch && (lead !== undefined || last !== undefined || json))
    throw new CommandFailure(
      ExitCode.usage,
      '--watch shows tests as text: it excludes --lead, --last and --json.',
    );
  if (lead !== undefined && last === undefined) return;
  const given = [lead && '--lead', source && '--source', showData && '--show-data'].filter(Boolean);
  if (lead === undefined ? given.length === 0 : last === undefined) return;
  const message =
    lead === undefined ? `${given.join(' and ')} needs --lead.` : '--lead and --last exclude each other.';
  throw new CommandFailure(ExitCode.usage, message);
}

/** Maximum number of leads for `--last`. All of them are in memory at the same time. */
const MOST_LEADS = 10_000;

/** Parses the value of `--last`. @throws InvalidArgumentError */
function readCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > MOST_LEADS)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MOST_LEADS}.`);
  return count;
}

function noMapping(sink: string | undefined): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    sink === undefined
      ? 'No sink has a mapping.'
      : `${printable(sink)} has no mapping: it gets every lead as received.`,
    'Add `where` or `fields` to a sink; docs/mapping.md shows how.',
  );
}

function showTests(
  sinks: readonly SinkConfig[],
  { clientKey }: Config,
  { json }: Options,
  { stdout }: Surroundings,
): number {
  const results = sinks.map((sink) => ({ sink: sink.name, tests: resultsOf(sink, clientKey) }));
  const all = results.flatMap(({ tests }) => tests);
  const failed = all.filter(({ passed }) => !passed).length;
  if (json) stdout.write(printJson(results));
  else {
    const lines = results.flatMap(({ sink, tests }) => [
      `sink ${sink}${tests.length === 0 ? ': no tests' : ''}`,
      ...tests.flatMap(linesOf),
    ]);
    const total =
      failed === 0
        ? `${countOf(all.length, 'test')}, all passed.`
        : `${countOf(all.length, 'test')}, ${failed} failed.`;
    stdout.write(`${[...lines, total].map(printable).join('\n')}\n`);
  }
  return failed === 0 ? ExitCode.done : ExitCode.configuration;
}

function resultsOf(
  { mapping: definition, mappingTests }: SinkConfig,
  clientKey: Config['clientKey'],
): TestResult[] {
  const mapping = compiled(definition, clientKey);
  const failures = mapping ? runTests(mapping, mappingTests) : [];
  return mappingTests.map(({ name }, index) => {
    const differences = failures.filter(({ test }) => test === index);
    return {
      test: name,
      passed: differences.length === 0,
      differences: differences.map(({ path, expected, actual }) => ({ path, expected, actual })),
    };
  });
}

function linesOf({ test, passed, differences }: TestResult): string[] {
  return [
    `  ${passed ? 'ok    ' : 'FAILED'}  ${test}`,
    ...differences.flatMap(({ path, expected, actual }) => [
      `            ${path.at(-1) ?? 'the lead'}`,
      `              expected  ${expected}`,
      `              result    ${actual}`,
    ]),
  ];
}

async function tryLead(
  lead: LeadId,
  sinks: readonly SinkConfig[],
  config: Config,
  options: Options & GlobalOptions,
  surroundings: Surroundings,
): Promise<number> {
  const { source, showData = false, json } = options;
  const found = await withLedger(config, surroundings, async (ledger) => {
    const upcoming = await Promise.all(sinks.map(({ name }) => ledger.upcoming(name, lead, source)));
    return upcoming.flatMap((deliveries, index) =>
      deliveries
        .filter(({ delivery }) => delivery.event !== 'erased')
        .map(({ delivery }) => ({ sink: sinks[index] as SinkConfig, delivery })),
    );
  });
  if (found.length === 0) throw unknownLead(lead, source, commandFormatter(options, surroundings));
  if (showData)
    await recordAction(config, surroundings, 'reveal', {
      ...(source && { source }),
      lead: String(lead),
      as: 'mapping',
    });
  const shown = found.map(({ sink, delivery }) => ({
    sink: sink.name,
    source: delivery.source,
    lead: String(delivery.leadId),
    ...resultFor(sink, delivery, config.clientKey, showData),
  }));
  const text = json ? printJson(shown) : shown.map((one) => `${textOfResult(one)}\n`).join('');
  surroundings.stdout.write(text);
  return shown.some(({ result }) => result === 'refused') ? ExitCode.notDone : ExitCode.done;
}

interface LeadResult {
  readonly result: 'sent' | 'left out' | 'refused';
  readonly reason?: string;
  readonly fields?: Readonly<Record<string, string>>;
}

function resultFor(
  { mapping: definition }: SinkConfig,
  delivery: Delivery,
  clientKey: Config['clientKey'],
  showData: boolean,
): LeadResult {
  const mapping = compiled(definition, clientKey);
  const mapped = mapping?.map(delivery);
  if (mapped?.kind === 'left-out') return { result: 'left out' };
  if (mapped?.kind === 'failed') return { result: 'refused', reason: mapped.reason };
  const types = new Map(mapping?.columns?.map(({ name, type }) => [name, type]));
  const fields = [...(mapped?.perLead ?? []), ...(mapped?.fields ?? [])].map(
    ([name, value]) => [name, showData ? mappedJson(value) : outlineOf(value, types.get(name))] as const,
  );
  return { result: 'sent', fields: Object.fromEntries(fields) };
}

function textOfResult({
  lead,
  sink,
  source,
  result,
  reason,
  fields = {},
}: LeadResult & { sink: string; source: string; lead: string }): string {
  const width = Math.max(0, ...Object.keys(fields).map((name) => name.length));
  const lines = Object.entries(fields).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
  const words = { sent: 'would be sent', 'left out': 'would be left out', refused: 'would be refused' };
  const head = `sink ${sink}, lead ${lead} of ${source}: ${words[result]}${reason === undefined ? '' : `. ${reason}`}`;
  return [head, ...lines].map(printable).join('\n');
}

async function tryLast(
  limit: number,
  sinks: readonly SinkConfig[],
  config: Config,
  { json }: Options,
  surroundings: Surroundings,
): Promise<number> {
  const leads = await newestLeads(config, surroundings, limit);
  const trials = sinks.map(({ name, mapping }) => ({
    sink: name,
    ...tryMapping(mapping, leads, config.clientKey),
  }));
  const text = json
    ? printJson(
        trials.map(({ going: _, empty, reasons, ...rest }) => ({
          ...rest,
          empty: Object.fromEntries(empty),
          reasons: Object.fromEntries(reasons),
        })),
      )
    : `${trials.flatMap(linesOfTrial).map(printable).join('\n')}\n`;
  surroundings.stdout.write(text);
  return trials.some(({ failed }) => failed > 0) ? ExitCode.notDone : ExitCode.done;
}

function compiled(definition: SinkConfig['mapping'], clientKey: Config['clientKey']): Mapping | undefined {
  const mapping = definition && Mapping.compile(definition, clientKey);
  return mapping instanceof Mapping ? mapping : undefined;
}
