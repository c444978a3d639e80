import type { Opened } from '../support/program/tool.ts';

/** What a step found. */
export interface Found {
  /** Whether a promise of the sink holds; undefined if the step only asks. */
  readonly holds?: boolean;
  readonly learned: string;
}

/** A step of a proof. A later step may need what an earlier one made. */
export interface Step<Proof> {
  readonly name: string;
  run(proof: Proof): Promise<Found>;
}

/** An account at a CRM that a proof writes to. */
export interface Account {
  /** Begins the name of everything that this run writes. */
  readonly run: string;
  /** Removes everything that this run wrote. Returns what could not be removed. */
  cleanUp(): Promise<readonly string[]>;
}

/**
 * Runs the steps of a proof and prints what they found, also that of steps that failed. Then removes what was written. Returns the exit code: 0 if
 * every promise holds and nothing is left.
 */
export async function prove<Proof>(
  opened: Opened,
  account: Account,
  {
    url,
    steps,
    open,
  }: { readonly url: string; readonly steps: readonly Step<Proof>[]; readonly open: () => Promise<Proof> },
): Promise<number> {
  let left: readonly string[] = [];
  await opened.add(
    () => account,
    async () => {
      left = await account.cleanUp();
      process.stdout.write(
        left.length === 0
          ? 'Everything that was written is removed.\n'
          : `NOT REMOVED:\n${left.join('\n')}\n`,
      );
    },
  );
  const proof = await open();
  // What a request writes that is under way must be there when it is removed.
  let underWay: Promise<unknown> = Promise.resolve();
  await opened.add(
    () => undefined,
    () => underWay,
  );
  process.stdout.write(`"${account.run}" begins the name of everything that is written to ${url}.\n`);
  const rows: (readonly [string, string, string])[] = [];
  for (const step of steps) {
    if (opened.stopped) break;
    const running = outcomeOf(step, proof);
    underWay = running;
    const { holds, learned } = await running;
    rows.push([step.name, holds === undefined ? 'asked' : holds ? 'holds' : 'FAILS', learned]);
    process.stdout.write(`${rows.length}/${steps.length} ${step.name}\n`);
  }
  await opened.closeAll();
  process.stdout.write(`\n${rows.map(rowOf).join('')}`);
  return left.length === 0 && rows.every(([, result]) => result !== 'FAILS') ? 0 : 1;
}

/** Runs a step. A step that fails is a result, and the others run. */
async function outcomeOf<Proof>(step: Step<Proof>, proof: Proof): Promise<Found> {
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
