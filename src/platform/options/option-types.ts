import { z } from 'zod';
import { codeOf } from '../failures/error-code.ts';
import { readRegularFile, UnreadableFile } from '../files/read-regular-file.ts';
import { Secret } from './secret.ts';

const MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const BYTES = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

const MAX_SECRET_BYTES = 256 * 1024;

/** Returns the schema of a duration such as `500ms`, `30s`, `5m`, `2h` or `1d`. Its output is in ms. */
export function duration() {
  return z
    .string({ error: 'must be a duration such as 500ms, 30s, 5m, 2h or 1d' })
    .regex(/^\d+(\.\d+)?(ms|s|m|h|d)$/, 'must be a duration such as 500ms, 30s, 5m, 2h or 1d')
    .transform((text) => Math.round(scaled(text, MS)));
}

/** Returns the schema of a size such as `64kb`, `8mb` or `2gb`. Its output is in bytes. */
export function size() {
  return z
    .string({ error: 'must be a size such as 64kb, 8mb or 2gb' })
    .regex(/^\d+(\.\d+)?[kmgKMG]?[bB]$/, 'must be a size such as 64kb, 8mb or 2gb')
    .transform((text) => Math.round(scaled(text.toLowerCase(), BYTES)));
}

/** Returns the schema of a secret: the value itself, or `{ file: /run/secrets/x }` for a file that contains it. */
export function secret() {
  return z.union(
    [
      z
        .string()
        .min(1, 'must not be empty')
        .transform((value) => new Secret(value)),
      z
        .strictObject({
          file: z
            .string()
            .min(1)
            .describe('A file that contains the value. One line break at its end is ignored.'),
        })
        .transform(({ file }, context) => {
          try {
            const value = readRegularFile(file, MAX_SECRET_BYTES)
              .toString('utf8')
              .replace(/\r?\n$/, '');
            if (value !== '') return new Secret(value);
            context.issues.push(unreadable(file, `the file ${file} is empty`));
          } catch (error) {
            context.issues.push(unreadable(file, whyUnread(file, error)));
          }
          return z.NEVER;
        }),
    ],
    { error: 'must be text, or { file: /run/secrets/x }' },
  );
}

/** Whether an issue means that this process cannot read the file of a `secret()`. */
export function isUnreadableSecret(issue: z.core.$ZodIssue): boolean {
  return issue.code === 'custom' && issue.params?.['unreadableSecret'] === true;
}

const WHY_UNREAD: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
};

function whyUnread(file: string, error: unknown): string {
  if (error instanceof UnreadableFile) return `${error.message}: a secret must be in a small regular file`;
  const code = codeOf(error) ?? 'unknown error';
  const why = WHY_UNREAD[code];
  return `cannot read ${file}${why === undefined ? '' : `: ${why}`} (${code})`;
}

function unreadable(file: string, message: string) {
  const params = { unreadableSecret: true };
  return { code: 'custom' as const, message, input: file, path: ['file'], params };
}

function scaled<Unit extends string>(text: string, units: Record<Unit, number>): number {
  const [, number, unit] = /^([\d.]+)([a-z]+)$/.exec(text) as unknown as [string, string, Unit];
  return Number(number) * units[unit];
}
