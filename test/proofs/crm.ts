// What a real account of a CRM does where its documents are silent, in twelve steps. `npm run proof:crm -- --hubspot TOKEN`.
import { systemClock } from '../../src/platform/time/clock.ts';
import { openHubSpot } from '../sinks/hubspot/open-hubspot.ts';
import { openPipedrive } from '../sinks/pipedrive/open-pipedrive.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { type Opened, runTool } from '../support/program/tool.ts';
import { readOptions, USAGE } from './crm-options.ts';
import { HubSpotAccount } from './hubspot-account.ts';
import { type Found, steps } from './hubspot-steps.ts';
import { PipedriveAccount } from './pipedrive-account.ts';
import { pipedriveSteps } from './pipedrive-steps.ts';

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  let left: readonly string[] = [];
  const account = await opened.add(
    () => (options.crm === 'hubspot' ? new HubSpotAccount(options) : new PipedriveAccount(options)),
    async (one) => {
      left = await one.cleanUp();
      process.stdout.write(
        left.length === 0
          ? 'Everything that was written is removed.\n'
          : `NOT REMOVED:\n${left.join('\n')}\n`,
      );
    },
  );
  const bound = await boundSteps(account, opened);
  process.stdout.write(`"${account.run}" begins the name of everything that is written to ${options.url}.\n`);
  const rows: (readonly [string, string, string])[] = [];
  for (const step of bound) {
    if (opened.stopped) break;
    const { holds, learned } = await outcomeOf(step);
    rows.push([step.name, holds === undefined ? 'asked' : holds ? 'holds' : 'FAILS', learned]);
    process.stdout.write(`${rows.length}/${bound.length} ${step.name}\n`);
  }
  await opened.closeAll();
  process.stdout.write(`\n${rows.map(rowOf).join('')}`);
  return left.length === 0 && rows.every(([, result]) => result !== 'FAILS') ? 0 : 1;
});

/** A step with all that it works on. */
interface BoundStep {
  readonly name: string;
  run(): Promise<Found>;
}

/** Opens the sinks of the steps. They are closed at the end. */
async function boundSteps(
  account: HubSpotAccount | PipedriveAccount,
  opened: Opened,
): Promise<readonly BoundStep[]> {
  if (account instanceof HubSpotAccount) {
    const open = (object: 'deal' | 'lead') =>
      opened.add(
        () => openHubSpot(options, { options: { object } }),
        (sink) => sink.close(),
      );
    const proof = { account, sink: await open('deal'), leadSink: await open('lead') };
    return steps.map(({ name, run }) => ({ name, run: () => run(proof) }));
  }
  const open = (object: 'lead' | 'deal') =>
    opened.add(
      () => openPipedrive(options, { options: { object }, parts: { clock: systemClock } }),
      (sink) => sink.close(),
    );
  const proof = { account, sink: await open('lead'), dealSink: await open('deal') };
  return pipedriveSteps.map(({ name, run }) => ({ name, run: () => run(proof) }));
}

/** Runs a step. A step that fails is a result, and the others run. */
async function outcomeOf(step: BoundStep): Promise<Found> {
  try {
    return await step.run();
  } catch (error) {
    const { message, hint = '' } = error as Error & { hint?: string };
    return { holds: false, learned: `${message} ${hint}`.trim() };
  }
}

/** Returns a row with each fact on a line of its own. */
function rowOf([name, result, learned]: readonly [string, string, string], at: number): string {
  const indent = ' '.repeat(38);
  const [first = '', ...others] = learned.split('; ');
  const head = `${String(at + 1).padStart(2)}  ${name.padEnd(26)}  ${result}  `;
  return [`${head.padEnd(38)}${first}`, ...others.map((fact) => `${indent}${fact}`)].join('\n').concat('\n');
}
