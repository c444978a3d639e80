import type { Config } from '../config/contract/config.ts';
import type { Delivery } from '../leads/delivery.ts';
import type { MappingDefinition } from '../mapping/mapping-definition.ts';
import type { LastConfiguration } from './planning/plan.ts';
import type { Plan, PlannedSink } from './planning/planned-changes.ts';
import { tryMapping } from './try-mapping.ts';

/** The options of a mapping. */
const MAPPING = ['where', 'fields', 'region', 'lookups'];

function changesMapping(sink: PlannedSink): sink is Extract<PlannedSink, { kind: 'altered' }> {
  return sink.kind === 'altered' && sink.options.some((option) => MAPPING.includes(option));
}

/** Reads from the ledger what a changed mapping applies to. */
interface MappingFacts {
  /** Returns the leads to which the plan applies the mapping as a trial. */
  leads(): Promise<readonly Delivery[]>;
  /** Returns the number of a sink's pending deliveries that keep the mapping of an earlier attempt. */
  sentPending(sink: string): Promise<number>;
}

/** For each sink whose mapping changes, adds how many of the leads the sink gets before and after the change. Reads the leads only if necessary. */
export async function withRouting(
  plan: Plan,
  last: LastConfiguration,
  { sinks, clientKey }: Pick<Config, 'sinks' | 'clientKey'>,
  read: MappingFacts,
): Promise<Plan> {
  if (!plan.sinks.some(changesMapping)) return plan;
  const leads = await read.leads();
  const trial = (mapping: MappingDefinition | undefined) => tryMapping(mapping, leads, clientKey);
  const withRoute = async (sink: PlannedSink): Promise<PlannedSink> => {
    if (!changesMapping(sink)) return sink;
    const former = last.sinks.find(({ name }) => name === sink.name)?.config;
    const { going: before } = trial(
      former === undefined ? undefined : (JSON.parse(former) as MappingDefinition),
    );
    const { going: after, failed } = trial(sinks.find(({ name }) => name === sink.name)?.mapping);
    const routing = {
      leads: leads.length,
      before: before.size,
      after: after.size,
      joining: after.difference(before).size,
      leaving: before.difference(after).size,
      failed,
      keeping: await read.sentPending(sink.name),
    };
    return { ...sink, routing };
  };
  return { ...plan, sinks: await Promise.all(plan.sinks.map(withRoute)) };
}
