import { countOf } from '../../platform/text/human-readable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { describeBackfill } from './describe-cost.ts';
import type {
  BackfillCost,
  Plan,
  PlannedExport,
  PlannedSink,
  PlannedSource,
  Routing,
} from './planned-changes.ts';

/** Returns one sentence for each part of a plan. */
export function describePlan({ sources, sinks, exports }: Plan): string[] {
  return [
    ...sources.map(describePlannedSource),
    ...sinks.map(describePlannedSink),
    ...exports.map(describePlannedExport),
  ];
}

function describePlannedSource(source: PlannedSource): string {
  switch (source.kind) {
    case 'added':
      return source.leads > 0
        ? `source ${source.name} is back, with ${countOf(source.leads, 'lead')} that leadsync knows`
        : `source ${source.name} is new`;
    case 'removed':
      return `source ${source.name} is gone: leadsync no longer polls it, and its ${countOf(source.leads, 'lead')} stay`;
    case 'elsewhere':
      return `source ${source.name} now points to ${source.origin}, but its leads come from ${source.leads_from}: it is not polled until \`leadsync moved ${source.name}\` confirms that the service has moved; another service needs another source name`;
    case 'altered':
      return `source ${source.name}: ${source.options.join(', ')}, from its next poll on`;
  }
}

function describePlannedSink(sink: PlannedSink): string {
  const { name } = sink;
  switch (sink.kind) {
    case 'added':
      return `sink ${name} is new: ${backfillPart(sink, 'listed before')}${unknownFormerPart(sink)}`;
    case 'back':
      return `sink ${name} is back: ${backfillPart(sink, 'listed in the meantime')}${pendingPart(sink.pending)}`;
    case 'name-taken':
      return `sink ${sink.formerly} cannot be renamed to ${name}: the ledger knows another sink ${name}. leadsync refuses this configuration; choose another new name, or keep ${sink.formerly}`;
    case 'renamed':
      return `sink ${name} was ${sink.formerly}: its deliveries continue${alteredPart(sink.options)}${pendingPart(sink.pending)}`;
    case 'removed':
      return `sink ${name} is ${sink.disabled ? 'disabled' : 'gone'}: ${keptPart(sink)}`;
    case 'altered':
      return `sink ${name}: ${sink.options.join(', ')}, from its next attempt on${pendingPart(sink.pending)}${keepingPart(sink.routing)}${routingPart(sink.routing)}${leftOutPart(sink)}`;
  }
}

function describePlannedExport(planned: PlannedExport): string {
  const { name, what } = planned;
  switch (planned.kind) {
    case 'added':
      return `${what} ${name} is new`;
    case 'removed':
      return `${what} ${name} is gone: leadsync no longer runs it, and its files stay`;
    case 'altered':
      return `${what} ${name}: ${planned.options.join(', ')}`;
  }
}

function keptPart({ name, pending, dead }: Extract<PlannedSink, { kind: 'removed' }>): string {
  const kept = dead === 0 ? '' : `${countOf(dead, 'dead delivery')} ${dead === 1 ? 'stays' : 'stay'}`;
  if (pending === 0) return kept === '' ? 'it is owed nothing' : `nothing is pending, and ${kept}`;
  const them = pending === 1 ? 'it' : 'them';
  const waiting = `${countOf(pending, 'pending delivery')} kept until it is back; \`leadsync forget ${name}\` skips ${them}`;
  return kept === '' ? waiting : `${waiting}; ${kept}`;
}

function backfillPart(
  { leads, backfill, cost }: { leads: number; backfill: boolean; cost?: BackfillCost },
  when: string,
): string {
  if (leads === 0) return `no leads ${when}`;
  const owed = `${countOf(leads, 'lead')} ${when} ${leads === 1 ? 'is' : 'are'} ${backfill ? 'owed to it' : 'skipped (backfill: false)'}`;
  return cost ? `${owed}, which ${leads === 1 ? 'costs' : 'cost'} ${describeBackfill(cost)}` : owed;
}

function unknownFormerPart({
  formerly,
  leaving = [],
}: {
  formerly?: string;
  leaving?: readonly string[];
}): string {
  if (formerly === undefined) return '';
  const suggestion = didYouMean(formerly, leaving) || `the change removes ${leaving.join(', ')}`;
  return `. It is not a rename, since no sink named ${formerly} (\`formerly\`) is known: ${suggestion}`;
}

function alteredPart(options: readonly string[]): string {
  return options.length > 0 ? `, with ${options.join(', ')} from its next attempt on` : '';
}

/** Says how many of the pending deliveries the changed mapping does not apply to. */
function keepingPart(routing: Routing | undefined): string {
  if (routing === undefined || routing.keeping === 0) return '';
  return `, of which ${routing.keeping} ${routing.keeping === 1 ? 'was' : 'were'} sent before and will be sent unchanged`;
}

function routingPart(routing: Routing | undefined): string {
  if (routing === undefined || routing.leads === 0) return '';
  const { leads, before, after, joining, leaving, failed } = routing;
  const of = `of the last ${countOf(leads, 'lead')}`;
  const refused =
    failed > 0
      ? `, and an expression fails for ${failed}, which would be refused: see \`leadsync test\``
      : '';
  const others = joining > 0 && leaving > 0 ? `: ${joining} newly, and ${leaving} no longer` : '';
  if (before !== after) return `; ${of}, ${after} go to it instead of ${before}${others}${refused}`;
  return `; ${of}, ${after} go to it, as ${others === '' ? '' : 'many as '}before${others}${refused}`;
}

/** Names the command for leads that the former `where` left out. A plan without routing does not show whether there are any. */
function leftOutPart({ name, options, routing }: Extract<PlannedSink, { kind: 'altered' }>): string {
  const mayJoin = routing ? routing.joining > 0 : options.includes('where');
  return mayJoin
    ? `; \`leadsync replay --sink ${name} --left-out\` then delivers leads that were left out and that \`where\` now lets through`
    : '';
}

function pendingPart(pending: number): string {
  return pending > 0 ? `; still pending: ${countOf(pending, 'delivery')}` : '';
}
