// POSTs through an undici Pool. Each failure is retried after a fixed pause, without a limit: the rate that a receiver allows to a
// sender that never holds back.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { leadJson } from '../world/rendered-listing.ts';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({
  options: {
    webhook: { type: 'string', default: '' },
    leads: { type: 'string', default: '0' },
    concurrency: { type: 'string', default: '10' },
    'pause-ms': { type: 'string', default: '1000' },
  },
});
const { origin, pathname } = new URL(values.webhook);
const connections = Number(values.concurrency);
const pauseMs = Number(values['pause-ms']);
const pool = new Pool(origin, { connections });
const at = new Date().toISOString();

await eachLine(async () => {
  const fresh = Array.from({ length: Number(values.leads) }, (_, index) => index + 1).values();
  /** In order of time, because all pauses are equal. */
  const failed: { readonly id: number; readonly dueMs: number }[] = [];
  let [posts, open] = [0, Number(values.leads)];
  const sender = async () => {
    while (open > 0) {
      const isDue = (failed[0]?.dueMs ?? Number.POSITIVE_INFINITY) <= performance.now();
      const id = isDue ? failed.shift()?.id : fresh.next().value;
      if (id === undefined) await sleep(5);
      else if (await post(id)) open -= 1;
      else failed.push({ id, dueMs: performance.now() + pauseMs });
      if (id !== undefined) posts += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, sender));
  return { posts };
});
await pool.close();

async function post(id: number): Promise<boolean> {
  const body = `{"type":"lead.created","timestamp":"${at}","data":${leadJson(id)},"source":"main","replay":false}`;
  const headers = { 'content-type': 'application/json' };
  const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
  await answer.body.dump();
  return answer.statusCode < 300;
}
