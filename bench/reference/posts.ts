// Floor, a lower bound: bare POSTs through an undici Pool. Their bodies are those that leadsync sends, prepared before the first POST.
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { leadJson } from '../world/rendered-listing.ts';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({
  options: {
    webhook: { type: 'string', default: '' },
    leads: { type: 'string', default: '0' },
    concurrency: { type: 'string', default: '50' },
  },
});
const { origin, pathname } = new URL(values.webhook);
const connections = Number(values.concurrency);
const pool = new Pool(origin, { connections });
const at = new Date().toISOString();
const bodies = Array.from(
  { length: Number(values.leads) },
  (_, index) =>
    `{"type":"lead.created","timestamp":"${at}","data":${leadJson(index + 1)},"source":"main","replay":false}`,
);

await eachLine(async () => {
  const rest = bodies.values();
  const sender = async () => {
    // All senders share one iterator.
    for (const body of rest) {
      const answer = await pool.request({
        method: 'POST',
        path: pathname,
        headers: { 'content-type': 'application/json' },
        body,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: connections }, sender));
  return { posts: bodies.length };
});
await pool.close();
