import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { openPool } from '../../src/postgres/open-pool.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';

/** The kernel's timer that sends keep-alive probes, and its ticks per second in /proc (see proc_net_tcp.rst of Linux). */
const [KEEP_ALIVE, TICKS_PER_SECOND] = ['02', 100];

/** Returns the timer of an open connection from a port, and how long it still runs, in seconds. */
function timerOf(port: number): { readonly timer: string; readonly seconds: number } {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const fields = rows
    .map((row) => row.trim().split(/\s+/))
    .find(([, local]) => local?.endsWith(`:${hexPort}`));
  const [timer = '', ticks = ''] = fields?.[5]?.split(':') ?? [];
  return { timer, seconds: Number.parseInt(ticks, 16) / TICKS_PER_SECOND };
}

it('the system checks a silent connection to PostgreSQL after 10 seconds, because a peer that is gone closes nothing', async () => {
  const pool = await openPool({
    address: requireDatabaseUrl(),
    connections: 1,
    connectMs: 60_000,
    applicationName: 'keep-alive',
  });
  onTestFinished(() => pool.end());
  const { rows } = await pool.query<{ port: number }>('SELECT inet_client_port() AS port');
  // Until the server has acknowledged the last packet, the kernel shows another timer.
  await expect.poll(() => timerOf(rows[0]?.port ?? 0).timer, { timeout: 60_000 }).toBe(KEEP_ALIVE);
  const { seconds } = timerOf(rows[0]?.port ?? 0);
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(10);
});
