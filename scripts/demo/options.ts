import { parseArgs } from 'node:util';

export interface DemoOptions {
  /** How long leads keep arriving; undefined: until Ctrl-C. */
  readonly seconds: number | undefined;
  /** Leads shown from the start. */
  readonly leads: number;
  /** Leads that arrive per second. */
  readonly rate: number;
}

const USAGE = `npm run demo                    runs until Ctrl-C
npm run demo -- --seconds 20    stops by itself; exit code 0 if every lead arrived exactly once

  --leads N    leads that are there from the start (8)
  --rate N     leads that arrive per second (1.5)
`;

/** Reads the demo's flags; prints help or what is wrong, and exits with 0 or 2. */
export function readDemoOptions(args: readonly string[]): DemoOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seconds: { type: 'string' },
        leads: { type: 'string', default: '8' },
        rate: { type: 'string', default: '1.5' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    return {
      seconds: values.seconds === undefined ? undefined : number('seconds', values.seconds, /^\d+(\.\d+)?$/),
      leads: number('leads', values.leads, /^\d{1,7}$/),
      rate: number('rate', values.rate, /^\d{1,4}(\.\d+)?$/),
    };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

function number(name: string, text: string, form: RegExp): number {
  if (form.test(text)) return Number(text);
  throw new Error(`--${name} takes a number, and got ${JSON.stringify(text)}.`);
}
