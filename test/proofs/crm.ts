// What a real HubSpot account does where HubSpot's documents are silent, in twelve steps. `npm run proof:crm -- --hubspot TOKEN`.
import { openHubSpot } from '../sinks/hubspot/open-hubspot.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { runTool } from '../support/program/tool.ts';
import { readOptions, USAGE } from './crm-options.ts';
import { HubSpotAccount } from './hubspot-account.ts';
import { type Found, type Proof, type Step, steps } from './hubspot-steps.ts';

const options = readOrExit(readOptions, USAGE);

await runTool(async (opened) => {
  let left: readonly string[] = [];
  const account = await opened.add(
    () => new HubSpotAccount(options),
    async (one) => {
      left = await one.cleanUp();
      process.stdout.write(
        left.length === 0
          ? 'Everything that was written is removed.\n'
          : `NOT REMOVED:\n${left.join('\n')}\n`,
      );
    },
  );
  const open = (object: 'deal' | 'lead') =>
    opened.add(
      () => openHubSpot(options, { options: { object } }),
      (sink) => sink.close(),
    );
  const proof: Proof = { account, sink: await open('deal'), leadSink: await open('lead') };
  process.stdout.write(`"${account.run}" begins the name of everything that is written to ${options.url}.\n`);
  const rows: (readonly [string, string, string])[] = [];
  for (const step of steps) {
    if (opened.stopped) break;
    const { holds, learned } = await outcomeOf(step, proof);
    rows.push([step.name, holds === undefined ? 'asked' : holds ? 'holds' : 'FAILS', learned]);
    process.stdout.write(`${rows.length}/${steps.length} ${step.name}\n`);
  }
  await opened.closeAll();
  process.stdout.write(`\n${rows.map(rowOf).join('')}`);
  return left.length === 0 && rows.every(([, result]) => result !== 'FAILS') ? 0 : 1;
});

/** Runs a step. A step that fails is a result, and the others run. */
async function outcomeOf(step: Step, proof: Proof): Promise<Found> {
  try {
    return await step.run(proof);
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
