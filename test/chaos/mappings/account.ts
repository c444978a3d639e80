import type { LedgerRecord } from '../ledgers/ledger-record.ts';
import { processesOf } from '../machine.ts';
import type { World } from '../world.ts';
import { type Arrival, arrivedByWebhook, arrivedInFiles, arrivedInTable, filesIn } from './arrival.ts';
import { readHistory } from './table-history.ts';
import { type Known, wrongMappings } from './wrong-mappings.ts';
import { leftOutLate, wronglyLeftOut } from './wrong-split.ts';

/** Returns what the sinks of a stopped leadsync hold in another form, or lack, than their mappings say. */
export async function wrongForms(world: World, { boundMs, slow, leftOut }: LedgerRecord): Promise<string[]> {
  const { inForce, parts } = world;
  const frozen = processesOf(parts.machines).flatMap((process) => process.frozen);
  const known: Known = { inForce, boundMs, slow, frozen, textsOf: textsIn(world) };
  const arrivals = await arrivalsIn(world);
  return [
    ...wrongMappings(arrivals, known),
    ...wronglyLeftOut(leftOut, known),
    ...leftOutLate(leftOut, arrivals),
  ];
}

async function arrivalsIn({ parts, scene }: World): Promise<Arrival[]> {
  const { even, odd } = parts['split receivers'];
  return [
    ...arrivedByWebhook('crm', parts.receiver.requests),
    ...arrivedByWebhook('even', even.requests),
    ...arrivedByWebhook('odd', odd.requests),
    ...arrivedInFiles('drop', filesIn(scene.drop)),
    ...arrivedInFiles('bucket', parts.bucket.stored),
    ...arrivedInTable('warehouse', await readHistory(scene)),
  ];
}

/** Returns a function that returns the texts that a service has shown for a lead. */
function textsIn({ scene: { services } }: World): Known['textsOf'] {
  const raw = Object.entries(services).flatMap(([source, { served }]) =>
    served.raw().map((text) => ({ key: `${source}:${/"id"\s*:\s*(\d+)/.exec(text)?.[1]}`, text })),
  );
  const besides = Map.groupBy(raw, ({ key }) => key);
  return (source, lead) => {
    const generated = services[source]?.served.shownTexts(Number(lead)) ?? [];
    return [...generated, ...(besides.get(`${source}:${lead}`) ?? []).map(({ text }) => text)];
  };
}
