import { parseArgs } from 'node:util';

/** The options of `npm run demo`. */
export interface DemoOptions {
  /** Duration of the demo; undefined: until Ctrl-C. */
  readonly seconds: number | undefined;
  /** Leads that the stub lists from the start. */
  readonly leads: number;
  /** New leads per second. */
  readonly rate: number;
}

const USAGE = `npm run demo                    runs until Ctrl-C
npm run demo -- --seconds 20    stops after 20 s; exit code 0 if every lead arrived exactly once

  --leads N    leads that the service lists from the start (8)
  --rate N     new leads per second (1.5)
`;

/** Reads the options of the demo. Prints the usage and exits with 0 for `--help`; prints the fault too and exits with 2 if there is one. */
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
  throw new Error(`--${name} needs a number, not ${JSON.stringify(text)}.`);
}
