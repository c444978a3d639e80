import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stopProcess } from '../test/support/servers/server-process.ts';

/** An empty HubSpot account in a process of its own. */
export interface HubSpotAccount {
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../test/stub/hubspot/main.ts', import.meta.url));

/** Starts an account that allows so many requests in ten seconds. */
export async function startHubSpotAccount(requests: number): Promise<HubSpotAccount> {
  const child = spawn(process.execPath, [PROGRAM, '--requests', String(requests)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const close = () => stopProcess(child, 'SIGTERM');
  for await (const text of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    const [, url, token] = /HubSpot is at (\S+)\. Token: (\S+)/.exec(text) ?? [];
    if (url !== undefined && token !== undefined) return { url, token, close };
  }
  throw new Error('the HubSpot account did not start');
}
