import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { limitsOfPlans } from '../test/stub/hubspot/limits.ts';
import { stopProcess } from '../test/support/servers/server-process.ts';

/** An empty HubSpot account in a process of its own. */
export interface HubSpotAccount {
  readonly url: string;
  readonly token: string;
  /** Returns the requests since the start, and how many of them got a 429. */
  counts(): Promise<Counts>;
  close(): Promise<void>;
}

/** Requests in ten seconds, or the plan whose limits apply. */
export type AccountLimits = { readonly requests: number } | { readonly limits: keyof typeof limitsOfPlans };

const counts = z.strictObject({ requests: z.number(), refused: z.number() });
type Counts = z.output<typeof counts>;

const PROGRAM = fileURLToPath(new URL('../test/stub/hubspot/main.ts', import.meta.url));

/** Starts an account with the limits of a plan, or one that allows so many requests in ten seconds. */
export async function startHubSpotAccount(limits: AccountLimits): Promise<HubSpotAccount> {
  const args = Object.entries(limits).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const close = () => stopProcess(child, 'SIGTERM');
  for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    const [, url, token] = /HubSpot is at (\S+)\. Token: (\S+)/.exec(text) ?? [];
    if (url === undefined || token === undefined) continue;
    return {
      url,
      token,
      counts: async () => counts.parse(await (await fetch(`${url}/stub/counts`)).json()),
      close,
    };
  }
  throw new Error('the HubSpot account did not start');
}
