// The mapping alone: applies a mapping, as JSON, to leads that are in memory. The CPU time is that of all threads.
import { parseArgs } from 'node:util';
import type { Delivery } from '../../src/leads/delivery.ts';
import { Mapping } from '../../src/mapping/mapping.ts';
import { leadJson } from '../world/rendered-listing.ts';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({
  options: { leads: { type: 'string', default: '0' }, mapping: { type: 'string', default: '{}' } },
});
const mapping = Mapping.compile(JSON.parse(values.mapping), undefined);
if (!(mapping instanceof Mapping)) throw new Error(JSON.stringify(mapping));
const now = new Date();
const deliveries = Array.from({ length: Number(values.leads) }, (_, index): Delivery => {
  const leadId = BigInt(index + 1);
  const about = { source: 'main', leadId, version: 1, event: 'created', replay: false } as const;
  return {
    ...about,
    id: String(leadId),
    firstSeenAt: now,
    changedAt: now,
    hash: '',
    raw: leadJson(index + 1),
  };
});

await eachLine(async () => {
  const before = process.cpuUsage();
  let mapped = 0;
  for (const delivery of deliveries) if (mapping.map(delivery).kind === 'mapped') mapped += 1;
  const { user, system } = process.cpuUsage(before);
  return { mapped, cpuMs: (user + system) / 1_000 };
});
