import type { MappingTrial } from '../../operations/try-mapping.ts';
import { countOf } from '../../platform/text/human-readable.ts';

/** Returns what a mapping does to the last leads, as lines: how many go to the sink, which fields are empty, and why expressions fail. */
export function linesOfTrial({
  sink,
  leads,
  sent,
  leftOut,
  failed,
  empty,
  reasons,
}: MappingTrial & { sink: string }): string[] {
  const often = [...empty].filter(([, count]) => count > 0).sort(([, one], [, other]) => other - one);
  return [
    `sink ${sink}: of the last ${countOf(leads, 'lead')}, ${sent} go to it, ${leftOut} are left out, and an expression fails for ${failed}`,
    ...often.map(([name, count]) => `  ${name} is empty for ${count} of ${sent}`),
    ...[...reasons].map(
      ([reason, { leads: count, example }]) => `  ${count} ×, such as ${example}: ${reason}`,
    ),
  ];
}
