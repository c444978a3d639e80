import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret, size } from '../../platform/options/option-types.ts';
import { Secret } from '../../platform/options/secret.ts';
import type { OptionFault } from '../sink-type.ts';

const WRONG_COMMAND = 'must be a list of the program and its arguments, such as [psql, -f, load.sql]';

/** A word of a command. A process cannot get NUL in an argument. */
const word = z
  .string({ error: WRONG_COMMAND })
  .refine((text) => !text.includes('\0'), 'must not contain NUL');

const command = z.union(
  [
    word.regex(/^\S+$/, WRONG_COMMAND).transform((program) => [program]),
    z.array(word).refine(([program = '']) => program !== '', 'must begin with the program'),
  ],
  { error: WRONG_COMMAND },
);

/** A value in the configuration of a Singer target. Its text may be a secret. */
const configValue = z.union(
  [
    secret(),
    z.number(),
    z.boolean(),
    z.null(),
    z.array(z.unknown()),
    z.record(z.string(), z.unknown()).refine(isNoSecretFile, { abort: true }),
  ],
  { error: 'must be text, a number, true, false, a list or a map, or { file: /run/secrets/x }' },
);

/** Returns the schema of the options of an exec sink, without those common to every sink. */
export const execOptions = builtOnce(() =>
  z.strictObject({
    command: command.describe(
      'The program and its arguments: `[psql, -f, load.sql]`. A name without a slash is searched for on the `PATH`; a relative path is relative to `cwd`. No shell interprets the command. Other users of the machine can see arguments: put secrets into `env` or `config`.',
    ),
    speaks: z
      .enum(['jsonl', 'singer'])
      .default('jsonl')
      .describe(
        'What the program reads from its standard input: `jsonl`, one line with a JSON object for each lead; or `singer`, the messages SCHEMA, RECORD and STATE for a Singer target. With `singer`, the defaults are `batch: {max: 10000, wait: 5m}` and `timeout: 5m`.',
      ),
    config: z
      .record(z.string(), configValue)
      .transform((config) => new Secret(JSON.stringify(config, revealed)))
      .optional()
      .describe(
        'The configuration of a Singer target. leadsync writes it to a private file for each start, appends `--config FILE` to the command, and removes the file afterwards. Every string in it counts as a secret.',
      ),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w*$/, 'is not the name of an environment variable'), secret())
      .default({})
      .describe(
        'Environment variables of the program. Their values are secret. From its own environment, leadsync passes on only PATH, HOME, USER, LOGNAME, LANG, LC_ALL, TZ and TMPDIR.',
      ),
    cwd: z
      .string()
      .min(1, 'must not be empty')
      .refine((path) => !path.includes('\0'), 'must not contain NUL')
      .default('.')
      .describe('The folder in which the program runs. `.` is the folder of the configuration.'),
    ids: z
      .enum(['number', 'string'])
      .default('number')
      .describe(
        'How ids are written: as a `number` with every digit, or as a `string`, for programs that round whole numbers above 2^53. This does not apply to `fields` with `speaks: jsonl`.',
      ),
    max_lead_size: size()
      .prefault('1mb')
      .describe(
        'Maximum size of the JSON of a lead as received, or of its `fields`. leadsync refuses a larger lead and delivers the rest of the batch.',
      ),
  }),
);

/** The options of an exec sink, validated. */
export type ExecOptions = z.output<ReturnType<typeof execOptions>>;

/** Returns the faults in the combination of options. */
export function optionFaults({ config, speaks }: ExecOptions): readonly OptionFault[] {
  if (config === undefined || speaks === 'singer') return [];
  return [
    {
      option: 'config',
      message: '`config` is only for Singer targets',
      hint: 'add `speaks: singer`, or remove `config`',
    },
  ];
}

/** The name of a shell, with or without its folder. */
const SHELL = /(?:^|\/)(?:ba|da|z|k|mk|a)?sh$/;
const QUOTED = /'[^']*'|"(?:\\.|[^"\\])*"/gs;
/** A pipe, and not `||` or `>|`. */
const PIPE = /(?<![|>])\|(?!\|)/;

/** Returns a warning about a shell pipeline whose exit code does not show failures of its earlier programs. */
export function optionWarnings({ command }: ExecOptions): readonly string[] {
  const isPipeline =
    command.some((part) => SHELL.test(part)) &&
    command.some((part) => PIPE.test(part.replaceAll(QUOTED, ''))) &&
    !command.some((part) => part.includes('pipefail'));
  if (!isPipeline) return [];
  return [
    'The shell in `command` returns the exit code of the last program of a pipeline, so leads count as delivered even if an earlier program in it fails. Use `[bash, -o, pipefail, -c, "…"]`.',
  ];
}

/** Names of options and variables whose values are secret. */
const SECRET_NAME = /pass|pwd|secret|token|key|credential|auth|private/i;
/** Text that looks random: long, with letters and digits. If leadsync masked short text as well, it would make words unreadable. */
const RANDOM = /^(?=.*[A-Za-z])(?=.*\d)\S{16,}$/;
/** Minimum length of a secret to mask. A shorter one also occurs within other words. */
const SHORTEST_SECRET = 4;
/** Minimum length of a line of a secret to mask. A shorter line, such as `{` or `-----`, is not secret by itself. */
const SHORTEST_LINE = 16;

/**
 * Returns the secrets in the options, which must not be stored if the program writes them to standard error. Longest first, because one may
 * be the beginning of another.
 */
export function secretsOf({ config, env }: ExecOptions): readonly string[] {
  const texts = new Set<string>();
  const add = (text: string) => {
    if (text.trim().length < SHORTEST_SECRET) return;
    texts.add(text.trim());
    texts.add(JSON.stringify(text).slice(1, -1));
    for (const line of text.split(/[\r\n]+/)) if (line.trim().length >= SHORTEST_LINE) texts.add(line.trim());
  };
  // What is inside a value with a secret name is secret as well: `credentials: { user: …, value: … }`.
  const look = (value: unknown, isSecret: boolean): void => {
    if (typeof value === 'string') {
      if (isSecret || RANDOM.test(value)) add(value);
      for (const part of passwordsIn(value)) add(part);
    } else if (typeof value === 'object' && value !== null)
      for (const [name, inside] of Object.entries(value)) look(inside, isSecret || SECRET_NAME.test(name));
  };
  for (const [name, value] of Object.entries(env)) look(value.reveal(), SECRET_NAME.test(name));
  if (config) look(JSON.parse(config.reveal()), false);
  return [...texts].sort((a, b) => b.length - a.length);
}

/** Returns the passwords in a URL or a connection string, as written and decoded. */
function passwordsIn(text: string): readonly string[] {
  const inUrl = /^[a-z][a-z\d+.-]*:\/\/[^\s/:@]*:([^\s/@]+)@/i.exec(text);
  const named = /\b(?:password|pwd)=(?:'([^']+)'|([^\s;&']+))/i.exec(text);
  const written = [inUrl?.[1], named?.[1], named?.[2]].filter((found) => found !== undefined);
  return written.flatMap((found) => (/%[\da-f]{2}/i.test(found) ? [found, decoded(found)] : [found]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether a map does not have the form `{ file: … }`. Otherwise a map that names an unreadable secret file would pass as an ordinary map. */
function isNoSecretFile(map: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(map).join() !== 'file';
}

/** Reveals the secrets in a value, as a replacer for `JSON.stringify`, which has already called their `toJSON`. */
function revealed(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[key];
  return original instanceof Secret ? original.reveal() : value;
}
